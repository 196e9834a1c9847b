//! Label selectors as people write them (`apimachinery/pkg/labels/selector.go`, the syntax of `kubectl get -l`).
//!
//! ```text
//! tier=front,env!=test,zone in (a, b),disk notin (hdd),gpu,!spot
//! ```

use super::labels::{Condition, Requirement, Symbol};

/// How a selector is written, for messages.
pub(crate) const FORM: &str =
    "requirements with commas between them: tier=front, env!=test, zone in (a, b), disk notin (hdd), gpu, !spot";

/// How labels are written, for messages.
pub(crate) const LABELS: &str = "labels with commas between them: tier=front,team=payments";

/// The requirements of a selector; `None`: it is not one.
pub(crate) fn parse(text: &str, symbol: &mut dyn FnMut(&str) -> Symbol) -> Option<Vec<Requirement>> {
    split(text)?.into_iter().map(|one| requirement(one, symbol)).collect()
}

/// The keys and values of labels; `None`: they are not that.
pub(crate) fn labels(text: &str, symbol: &mut dyn FnMut(&str) -> Symbol) -> Option<Vec<(Symbol, Symbol)>> {
    let mut pair = |(key, value): (&str, &str)| Some((symbol(word(key)?), symbol(word(value)?)));
    split(text)?.into_iter().map(|one| one.split_once('=').and_then(&mut pair)).collect()
}

/// Parts between commas that stand in no brackets; none of them is empty.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut in_brackets) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | ')' if in_brackets == (letter == '(') => return None,
            '(' | ')' => in_brackets = letter == '(',
            ',' if !in_brackets => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    (!in_brackets && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

fn requirement(text: &str, symbol: &mut dyn FnMut(&str) -> Symbol) -> Option<Requirement> {
    let mut made = |key: &str, is: Condition| Some(Requirement { key: symbol(word(key)?), is });
    if let Some(key) = text.strip_prefix('!') {
        return made(key, Condition::DoesNotExist);
    }
    if let Some(text) = text.strip_suffix(')') {
        let (head, values) = text.split_once('(')?;
        let (key, operator) = head.trim().rsplit_once(char::is_whitespace)?;
        let values: Vec<&str> = values.split(',').map(word).collect::<Option<_>>()?;
        let values: Vec<Symbol> = values.into_iter().map(&mut *symbol).collect();
        let is = match operator {
            "in" => Condition::In(values),
            "notin" => Condition::NotIn(values),
            _ => return None,
        };
        return Some(Requirement { key: symbol(word(key)?), is });
    }
    let Some((key, value)) = text.split_once('=') else { return made(text, Condition::Exists) };
    let value = symbol(word(value.strip_prefix('=').unwrap_or(value))?);
    match key.strip_suffix('!') {
        Some(key) => Some(Requirement { key: symbol(word(key)?), is: Condition::NotIn(vec![value]) }),
        None => Some(Requirement { key: symbol(word(key)?), is: Condition::In(vec![value]) }),
    }
}

/// A key or value: letters, digits, `-`, `_`, `.`, and `/` after the prefix of a key.
fn word(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (!text.is_empty() && text.len() <= 317 && text.chars().all(is_of_word)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::labels::Labels;
    use super::*;

    /// Words by their place in a list.
    fn numbered(known: &mut Vec<String>) -> impl FnMut(&str) -> Symbol + '_ {
        |word| {
            let place = known.iter().position(|own| own == word).unwrap_or(known.len());
            if place == known.len() {
                known.push(word.to_owned());
            }
            Symbol(place as u32)
        }
    }

    #[test]
    fn a_selector_selects_as_upstream_does() {
        // apimachinery/pkg/labels/selector_test.go, TestSelectorMatches
        for (selector, of, is_selected) in [
            ("x=y", "x=y", true),
            ("x=y,z=w", "x=y,z=w", true),
            ("x!=y,z!=w", "x=z,z=a", true),
            ("notin=in", "notin=in", true),
            ("x", "x=z", true),
            ("!x", "y=z", true),
            ("x in (z)", "z=w", false),
            ("x notin (z)", "z=w", true),
            ("x=z", "z=w", false),
            ("x=y,z=w", "x=w,z=w", false),
            ("x!=y,z!=w", "x=z,z=w", false),
            ("x", "y=z", false),
            ("!x", "x=z", false),
            ("x in (a, b),y notin (c,d), z", "x=b,y=e,z=1", true),
            ("x==a", "x=a", true),
        ] {
            let mut known = Vec::new();
            let requirements = parse(selector, &mut numbered(&mut known)).expect(selector);
            let own = Labels::from_iter(labels(of, &mut numbered(&mut known)).expect(of));
            assert_eq!(requirements.iter().all(|one| one.holds(&own)), is_selected, "{selector} of {of}");
        }
    }

    #[test]
    fn what_is_no_selector() {
        for text in
            ["", ",", "x=a||y=b", "x==a==b", "!x=a", "x<a", "x in a", "x in (a", "x within (a)", "x in ()", "in (a)", "x=a,"]
        {
            assert_eq!(parse(text, &mut numbered(&mut Vec::new())), None, "{text}");
        }
        for text in ["", "x", "x=", "=y", "x=y,", "x=y=z"] {
            assert_eq!(labels(text, &mut numbered(&mut Vec::new())), None, "{text}");
        }
    }
}
