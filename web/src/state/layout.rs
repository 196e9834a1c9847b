//! JSON as text, and places in a text.
//!
//! [`layout`] writes a value as a person would: what fits on a line stands on one. [`locate`] finds the place of a JSON path, as far
//! as it goes, in a text that may be broken further on.

use serde_json::Value;
use zonefall_core::scenario::{Seen, Step, render, scan};

/// Longest line that an object or array is written on.
const WIDTH: usize = 120;

/// The value as text, with a line feed at its end.
pub fn layout(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// Writes a value that begins at `column`; what is inside it stands `indent` in.
fn write(value: &Value, indent: usize, column: usize, text: &mut String) {
    let one_line = one_line(value);
    // The document's own objects and arrays are always opened.
    if indent > 0 && column + one_line.chars().count() < WIDTH || !is_nested(value) {
        text.push_str(&one_line);
        return;
    }
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    text.push(open);
    let inner = indent + 2;
    for (k, (key, item)) in items(value).enumerate() {
        text.push_str(if k > 0 { ",\n" } else { "\n" });
        text.extend(std::iter::repeat_n(' ', inner));
        let key = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
        text.push_str(&key);
        write(item, inner, inner + key.chars().count(), text);
    }
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push(close);
}

fn is_nested(value: &Value) -> bool {
    items(value).next().is_some()
}

/// What is inside, with its key in an object.
fn items(value: &Value) -> Box<dyn Iterator<Item = (Option<&str>, &Value)> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.iter().map(|(key, value)| (Some(key.as_str()), value))),
        Value::Array(items) => Box::new(items.iter().map(|value| (None, value))),
        _ => Box::new(std::iter::empty()),
    }
}

/// The value on one line, with a space after each comma and colon.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let all: Vec<_> =
                fields.iter().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), one_line(value))).collect();
            format!("{{{}}}", all.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Byte range of the value at a JSON path as zonefall-core writes it; of the innermost value around it where it is not there.
pub fn locate(text: &str, path: &str) -> std::ops::Range<usize> {
    let mut found = 0..text.len();
    scan(text, &mut |here, seen| match seen {
        Seen::Begin(at) if is_on_the_way(here, path) => found = at..text.len(),
        Seen::Value(range) if found.start == range.start => found = range,
        Seen::Key(_) | Seen::Begin(_) | Seen::Value(_) => {}
    });
    found
}

/// Whether a value at `here` is the wanted one, or around it.
fn is_on_the_way(here: &[Step], wanted: &str) -> bool {
    let rest = || wanted.strip_prefix(&render(here));
    here.is_empty() || rest().is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Line and column (both from 0, the column in bytes) of a byte.
pub fn line_of(text: &str, at: usize) -> (usize, usize) {
    let (mut line, mut start) = (0, 0);
    for (k, _) in text.match_indices('\n').take_while(|(k, _)| *k < at) {
        (line, start) = (line + 1, k + 1);
    }
    (line, at.min(text.len()) - start)
}

/// The byte at a line and column as a syntax error tells them (from 1, the column in bytes).
pub fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::bundled;

    #[test]
    fn what_fits_on_a_line_stands_on_one_and_means_the_same() {
        for scenario in bundled() {
            let value: Value = serde_json::from_str(scenario.json).unwrap();
            let text = layout(&value);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{}", scenario.name);
            assert!(text.len() < 2 * scenario.json.len(), "{text}");
        }
        let value = serde_json::json!({"name": "a", "nodes": [{"name": "n", "zone": "z"}], "none": [], "empty": {}});
        let text =
            "{\n  \"name\": \"a\",\n  \"nodes\": [{\"name\": \"n\", \"zone\": \"z\"}],\n  \"none\": [],\n  \"empty\": {}\n}\n";
        assert_eq!(layout(&value), text);
    }

    #[test]
    fn places_are_found_also_in_a_text_that_is_broken_further_on() {
        let text = r#" {"a": [1, {"b": "x\"]", "odd key": true}], "c": {"d": 2}, "ab": [[3]], "c": 7, "e": [1 2"#;
        for (path, expected) in [
            ("a[0]", "1"),
            ("a[1].b", r#""x\"]""#),
            ("a[1].\"odd key\"", "true"),
            ("a[1]", r#"{"b": "x\"]", "odd key": true}"#),
            ("ab[0][0]", "3"),
            ("a[1].missing", r#"{"b": "x\"]", "odd key": true}"#),
            ("a[9]", r#"[1, {"b": "x\"]", "odd key": true}]"#),
            ("c", "7"),
            ("$", text.trim_start()),
            ("nowhere", text.trim_start()),
        ] {
            assert_eq!(&text[locate(text, path)], expected, "{path}");
        }
        for text in ["", "[", "{\"a", "[[[[", "{\"a\":}", "\"\\", "nul", "\u{fffd}{", &"[".repeat(100_000)] {
            assert!(text.get(locate(text, "a[0]")).is_some(), "{text:.20}");
        }
    }

    #[test]
    fn every_problem_of_a_broken_scenario_has_a_place() {
        let text = bundled()[0].json.replace("\"node\": \"node-b\"", "\"node\": \"node-x\"").replace("35m", "35");
        let errors = zonefall_core::scenario::Scenario::from_json(&text).unwrap_err();
        assert!(errors.len() >= 2);
        for error in &errors {
            assert!(locate(&text, &error.path).start > 2, "{error}");
        }
    }

    #[test]
    fn lines_and_columns_are_bytes_and_back() {
        let text = "{\n  \"é\": 1,\n";
        for (at, expected) in [(0, (0, 0)), (2, (1, 0)), (4, (1, 2)), (text.len(), (2, 0)), (999, (2, 0))] {
            assert_eq!(line_of(text, at), expected, "{at}");
        }
        for (line, column, expected) in [(1, 1, 0), (2, 3, 4), (2, 5, 5), (99, 1, text.len()), (0, 0, 0)] {
            assert_eq!(byte_at(text, line, column), expected, "{line} {column}");
        }
    }
}
