//! Where in a JSON text its keys and values stand. The text may be broken: it is read as far as it is JSON.

use std::ops::Range;

use super::json::Step;

/// What stands in the text, by bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The key of the value that comes next, its quotes included.
    Key(Range<usize>),
    /// A value begins here.
    Begin(usize),
    /// A value that ends; what is inside it has been seen.
    Value(Range<usize>),
}

/// Passes over a text and shows each key and value with its path. Returns whether it begins with a whole JSON value.
pub fn scan(text: &str, see: &mut dyn FnMut(&[Step], Seen)) -> bool {
    Scanner { text, at: 0, path: Vec::new(), see }.value(0)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    path: Vec<Step>,
    see: &'a mut dyn FnMut(&[Step], Seen),
}

/// As deep as `serde_json` reads.
const DEEPEST: usize = 128;

impl Scanner<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Passes over a value; false where the text is no JSON any more.
    fn value(&mut self, depth: usize) -> bool {
        let first = self.peek();
        let begins = self.at;
        (self.see)(&self.path, Seen::Begin(begins));
        let whole = depth < DEEPEST
            && match first {
                Some(b'{') => self.inside(b'}', depth),
                Some(b'[') => self.inside(b']', depth),
                Some(b'"') => self.string().is_some(),
                Some(_) => self.word(),
                None => false,
            };
        if whole {
            (self.see)(&self.path, Seen::Value(begins..self.at));
        }
        whole
    }

    fn inside(&mut self, close: u8, depth: usize) -> bool {
        self.at += 1;
        for index in 0.. {
            if self.take(close) {
                return true;
            }
            if index > 0 && !self.take(b',') {
                return false;
            }
            if close == b']' {
                self.path.push(Step::Index(index));
            } else if !self.key() {
                return false;
            }
            let whole = self.value(depth + 1);
            self.path.pop();
            if !whole {
                return false;
            }
        }
        false
    }

    /// Passes over a key and its colon.
    fn key(&mut self) -> bool {
        self.peek();
        let begins = self.at;
        let Some(name) = self.string() else { return false };
        self.path.push(Step::Key(name));
        (self.see)(&self.path, Seen::Key(begins..self.at));
        self.take(b':')
    }

    fn string(&mut self) -> Option<String> {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.first() != Some(&b'"') {
            return None;
        }
        let mut escaped = false;
        let end = rest.iter().skip(1).position(|&byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        })?;
        let text = &self.text[self.at..self.at + end + 2];
        self.at += text.len();
        serde_json::from_str(text).ok()
    }

    fn word(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        self.at += length;
        length > 0
    }
}
