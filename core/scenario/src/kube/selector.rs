//! Label selectors as people write them (`apimachinery/pkg/labels/selector.go`, the syntax of `kubectl get -l`).
//!
//! ```text
//! tier=front,env!=test,zone in (a, b),disk notin (hdd),gpu,!spot
//! ```
//!
//! The parser's tokens and grammar are upstream's (`Lexer`, `Parser`), and so is what it takes for keys and values (`IsQualifiedName` and
//! `IsValidLabelValue` of `apimachinery/pkg/util/validation`): an empty value is one, and no value at all is the empty one. Two things differ
//! on purpose: an empty text is refused, because it would select everything in one field and nothing in another, and so are `>` and `<`
//! (`Gt`, `Lt`), because nothing compares labels as numbers here.

use std::iter::Peekable;

use super::labels::{Condition, Requirement, Symbol};

/// What is wrong with a text: which part, and what would be right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed<'a> {
    pub(crate) found: &'a str,
    pub(crate) expected: &'static str,
}

const SELECTOR: &str =
    "requirements with commas between them: tier=front, env!=test, zone in (a, b), disk notin (hdd), gpu, !spot";
const LABELS: &str = "labels with commas between them: tier=front,team=payments";
const KEY: &str = "a label's key: 1 to 63 letters, digits, `-`, `_` or `.`, the first and the last a letter or digit; it may follow a DNS subdomain of at most 253 characters and `/`";
const VALUE: &str =
    "a label's value: at most 63 letters, digits, `-`, `_` or `.`, the first and the last a letter or digit; or nothing";
const NO_COMPARISON: &str = "none of `>` and `<` (`Gt`, `Lt`): they are not supported";

/// The longest name and value (`LabelValueMaxLength`), in bytes.
const LONGEST: usize = 63;
/// The longest DNS subdomain (`DNS1123SubdomainMaxLength`), in bytes.
const LONGEST_PREFIX: usize = 253;

/// The requirements of a selector.
///
/// # Errors
/// The first part that upstream's `labels.Parse` would not take, or what is not supported.
pub(crate) fn parse<'a>(text: &'a str, symbol: &mut dyn FnMut(&str) -> Symbol) -> Result<Vec<Requirement>, Malformed<'a>> {
    let mut tokens = Tokens { rest: text }.peekable();
    let mut all = Vec::new();
    loop {
        all.push(requirement(text, &mut tokens, symbol)?);
        match tokens.next() {
            None => return Ok(all),
            Some(",") => {}
            Some(_) => return Err(Malformed { found: text, expected: SELECTOR }),
        }
    }
}

/// The keys and values of labels (`ConvertSelectorToLabelsMap`).
///
/// # Errors
/// The first part that is not a label.
pub(crate) fn labels<'a>(text: &'a str, symbol: &mut dyn FnMut(&str) -> Symbol) -> Result<Vec<(Symbol, Symbol)>, Malformed<'a>> {
    let pair = |label: &'a str| {
        let (key, value) = label.split_once('=').ok_or(Malformed { found: text, expected: LABELS })?;
        Ok((symbol(checked_key(key.trim())?), symbol(checked_value(value.trim())?)))
    };
    text.split(',').map(pair).collect()
}

/// Words and operators of a selector, without the space between them (`Lexer`).
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let ends_word = |letter: char| is_operator(letter) || is_space(letter);
        let text = self.rest.trim_start_matches(is_space);
        let length = match text.chars().next()? {
            first if !is_operator(first) => text.find(ends_word).unwrap_or(text.len()),
            _ if text.starts_with("==") || text.starts_with("!=") => 2,
            _ => 1,
        };
        let (token, rest) = text.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

const fn is_operator(letter: char) -> bool {
    matches!(letter, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

const fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

/// The next requirement; what follows it is left.
fn requirement<'a>(
    text: &'a str,
    tokens: &mut Peekable<Tokens<'a>>,
    symbol: &mut dyn FnMut(&str) -> Symbol,
) -> Result<Requirement, Malformed<'a>> {
    let is_negated = tokens.next_if_eq(&"!").is_some();
    let key = symbol(checked_key(word(text, tokens.next())?)?);
    if matches!(tokens.peek(), None | Some(&",")) {
        return Ok(Requirement { key, is: if is_negated { Condition::DoesNotExist } else { Condition::Exists } });
    }
    let is = match tokens.next() {
        Some("=" | "==") if !is_negated => Condition::In(vec![value(text, tokens, symbol)?]),
        Some("!=") if !is_negated => Condition::NotIn(vec![value(text, tokens, symbol)?]),
        Some("in") if !is_negated => Condition::In(values(text, tokens, symbol)?),
        Some("notin") if !is_negated => Condition::NotIn(values(text, tokens, symbol)?),
        Some(">" | "<") => return Err(Malformed { found: text, expected: NO_COMPARISON }),
        _ => return Err(Malformed { found: text, expected: SELECTOR }),
    };
    Ok(Requirement { key, is })
}

/// The one value after `=`, `==` or `!=`.
fn value<'a>(
    text: &'a str,
    tokens: &mut Peekable<Tokens<'a>>,
    symbol: &mut dyn FnMut(&str) -> Symbol,
) -> Result<Symbol, Malformed<'a>> {
    let found = tokens.next_if(|token| *token != ",").unwrap_or_default();
    let found = if found.is_empty() { found } else { word(text, Some(found))? };
    Ok(symbol(checked_value(found)?))
}

/// The values in brackets after `in` or `notin` (`parseValues`, `parseIdentifiersList`): between two commas, before the first and after the
/// last stands the empty one; a third comma in a row needs a value after it, as upstream.
fn values<'a>(
    text: &'a str,
    tokens: &mut Peekable<Tokens<'a>>,
    symbol: &mut dyn FnMut(&str) -> Symbol,
) -> Result<Vec<Symbol>, Malformed<'a>> {
    let malformed = || Malformed { found: text, expected: SELECTOR };
    let mut all: Vec<&str> = Vec::new();
    tokens.next_if_eq(&"(").ok_or_else(malformed)?;
    if tokens.peek() == Some(&")") {
        all.push("");
    }
    while tokens.next_if_eq(&")").is_none() {
        match tokens.next() {
            Some(",") => {
                let is_first = all.is_empty();
                if tokens.next_if_eq(&",").is_some() {
                    all.push("");
                    // What upstream looks for next is a value or a comma.
                    if tokens.peek() == Some(&")") {
                        return Err(malformed());
                    }
                } else if is_first || tokens.peek() == Some(&")") {
                    all.push("");
                }
            }
            token => {
                all.push(checked_value(word(text, token)?)?);
                if !matches!(tokens.peek(), Some(&("," | ")"))) {
                    return Err(malformed());
                }
            }
        }
    }
    let mut symbols = Vec::new();
    for value in all {
        let value = symbol(value);
        if !symbols.contains(&value) {
            symbols.push(value);
        }
    }
    Ok(symbols)
}

/// The token, if it is no operator.
fn word<'a>(text: &'a str, token: Option<&'a str>) -> Result<&'a str, Malformed<'a>> {
    token.filter(|token| !token.starts_with(is_operator)).ok_or(Malformed { found: text, expected: SELECTOR })
}

/// `IsQualifiedName`
pub(crate) fn checked_key(key: &str) -> Result<&str, Malformed<'_>> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_key = is_name(name) && prefix.is_none_or(is_subdomain);
    is_key.then_some(key).ok_or(Malformed { found: key, expected: KEY })
}

/// `IsValidLabelValue`
fn checked_value(value: &str) -> Result<&str, Malformed<'_>> {
    let is_value = value.is_empty() || is_name(value);
    is_value.then_some(value).ok_or(Malformed { found: value, expected: VALUE })
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`, at most 63 bytes.
fn is_name(text: &str) -> bool {
    text.len() <= LONGEST
        && has_ends(text, |letter| letter.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}

/// `IsDNS1123Subdomain`: `[a-z0-9]([-a-z0-9]*[a-z0-9])?` with dots between, at most 253 bytes.
fn is_subdomain(text: &str) -> bool {
    let is_lower = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_label = |label: &str| has_ends(label, is_lower) && label.chars().all(|letter| is_lower(letter) || letter == '-');
    text.len() <= LONGEST_PREFIX && text.split('.').all(is_label)
}

/// Whether a text has a first and a last letter and both are as they must be.
fn has_ends(text: &str, is: impl Fn(char) -> bool) -> bool {
    text.chars().next().is_some_and(&is) && text.chars().next_back().is_some_and(&is)
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
            // TestRequirementSelectorMatching
            ("x notin (),y", "y=", true),
            ("!x,y", "y=", true),
            ("x notin (),!y", "y=", false),
            ("x in ()", "y=baz", false),
            // What is given of the values is what must stand there: none is the empty one.
            ("x=", "x=", true),
            ("x=", "x=a", false),
            ("x=,y", "x=,y=", true),
            ("x!=", "x=", false),
            ("x in (,)", "x=", true),
            ("x in (abc,)", "x=", true),
            ("x in (abc,,def)", "x=def", true),
            ("x in (abc,,def)", "x=ghi", false),
        ] {
            let mut known = Vec::new();
            let requirements = parse(selector, &mut numbered(&mut known)).expect(selector);
            let own = Labels::from_iter(labels(of, &mut numbered(&mut known)).expect(of));
            assert_eq!(requirements.iter().all(|one| one.holds(&own)), is_selected, "{selector} of {of}");
        }
    }

    /// Whether `text` is a selector, as the parser finds it.
    fn is_selector(text: &str) -> bool {
        parse(text, &mut numbered(&mut Vec::new())).is_ok()
    }

    #[test]
    fn a_selector_is_what_upstream_takes_for_one() {
        // TestSelectorParse, TestRequirementConstructor and TestSetSelectorParser, but for the empty text, `>` and `<`.
        for text in [
            "x=a,y=b,z=c",
            "x!=a,y=b",
            "x=",
            "x= ",
            "x=,z= ",
            "x= ,z= ",
            "!x",
            "\rx",
            "this-is-a-dns.domain.com/key-with-dash",
            "this-is-another-dns.domain.com/key-with-dash in (so,what)",
            "0.1.2.domain/99 notin (10.10.100.1, tick.tack.clock)",
            "foo  in\t (abc)",
            "x notin\n (abc)",
            "x  notin\t\t\t(abc,def)",
            "x in (abc,)",
            "x in ()",
            "x in(a)",
            "x notin (abc,,def),bar,z in (),w",
            "x,y in (a)",
            "x=a,y!=b,z in (h,i,j)",
            "x notin ( )",
            "x notin (, a)",
            "x in (,)",
            "x in (a,,,b)",
            "a ",
            "a in (x,y,notin, z,in)",
            "in in (in)",
            "1foo in (bar)",
            "1234 in (bar)",
        ] {
            assert!(is_selector(text), "{text:?}");
        }
        for text in [
            "x=a||y=b",
            "x==a==b",
            "!x=a",
            "x<a",
            ",x,y",
            "x,,y",
            "x nott in (y)",
            "a in (xyz),",
            "a in (xyz)b notin ()",
            "a in (xyz abc)",
            "a notin(",
            "x in (a,,)",
            "x in (,,)",
            "a (",
            "(",
            "x=(",
            "x in a",
            "!!x",
            "!x in (a)",
            "in (a)",
            "",
        ] {
            assert!(!is_selector(text), "{text:?}");
        }
    }

    #[test]
    fn keys_and_values_are_what_upstream_takes_for_them() {
        let long = |count| "a".repeat(count);
        let prefix = [long(63), long(63), long(63), long(61)].join(".");
        // apimachinery/pkg/util/validation/validation_test.go, TestIsQualifiedName
        for (key, is_key) in [
            ("simple", true),
            ("now-with-dashes", true),
            ("1-starts-with-num", true),
            ("1234", true),
            ("simple/simple", true),
            ("now-with-dashes/now-with-dashes", true),
            ("now.with.dots/simple", true),
            ("1-num.2-num/3-num", true),
            ("1.2.3.4/5678", true),
            ("Uppercase_Is_OK_123", true),
            ("example.com/Uppercase_Is_OK_123", true),
            ("requests.storage-foo", true),
            (&long(63), true),
            (&format!("{prefix}/{}", long(63)), true),
            ("nospecialchars%^=@", false),
            ("cantendwithadash-", false),
            ("-cantstartwithadash-", false),
            ("only/one/slash", false),
            ("Example.com/abc", false),
            ("example_com/abc", false),
            ("example.com/", false),
            ("/simple", false),
            (&long(64), false),
            (&format!("{}/abc", long(254)), false),
        ] {
            assert_eq!(checked_key(key).is_ok(), is_key, "{key}");
        }
        // TestIsValidLabelValue
        for (value, is_value) in [
            ("simple", true),
            ("now-with-dashes", true),
            ("1-starts-with-num", true),
            ("end-with-num-1", true),
            ("1234", true),
            (&long(63), true),
            ("", true),
            ("nospecialchars%^=@", false),
            ("Tama-nui-te-rā.is.Māori.sun", false),
            ("\\backslashes\\are\\bad", false),
            ("-starts-with-dash", false),
            ("ends-with-dash-", false),
            (".starts.with.dot", false),
            ("ends.with.dot.", false),
            (&long(64), false),
        ] {
            assert_eq!(checked_value(value).is_ok(), is_value, "{value}");
            let selectors = [format!("x={value}"), format!("x!={value}"), format!("x notin (a,{value})")];
            assert!(selectors.iter().all(|text| is_selector(text) == is_value), "{value}");
        }
    }

    #[test]
    fn labels_are_what_upstream_takes_for_them() {
        // apimachinery/pkg/labels/labels_test.go, TestConvertSelectorToLabelsMap, but for the empty text
        for (text, are_labels) in [
            ("x=a", true),
            ("x=a,y=b,z=c", true),
            (" x = a , y = b , z = c ", true),
            ("color=green,env=test,service=front", true),
            ("color=green, env=test, service=front", true),
            ("x=", true),
            ("x==a", false),
            ("x!=a", false),
            ("x<a", false),
            ("x>a", false),
            ("x in (a)", false),
            ("x in (a,b)", false),
            ("x notin (a)", false),
            ("x,y", false),
            ("x=y=z", false),
            ("x=y,", false),
            ("=y", false),
            ("/x=y", false),
            ("x=-y", false),
            ("", false),
        ] {
            assert_eq!(labels(text, &mut numbered(&mut Vec::new())).is_ok(), are_labels, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, found, expected) in [
            ("a,b/c/d in (e)", "b/c/d", KEY),
            ("a in (b,c/d)", "c/d", VALUE),
            ("a=b,c>1", "a=b,c>1", NO_COMPARISON),
            ("a=b c", "a=b c", SELECTOR),
        ] {
            assert_eq!(parse(text, &mut numbered(&mut Vec::new())), Err(Malformed { found, expected }));
        }
    }
}
