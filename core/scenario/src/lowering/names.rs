//! Names and what they stand for.

use std::collections::BTreeMap;

use super::CheckCtx;
use crate::error::{did_you_mean, one_of, quote};

/// The names of one kind of thing, and the index of each.
pub(crate) struct Names {
    /// What they name, with its article: `a zone`.
    what: &'static str,
    index: BTreeMap<String, usize>,
    /// Some name could not be read: then nothing dangles for sure.
    incomplete: bool,
}

impl Names {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, index: BTreeMap::new(), incomplete: false }
    }

    /// Gives the next name to `index`; a name that is there already is reported at `path`.
    pub(crate) fn add(&mut self, ctx: &mut CheckCtx<'_>, path: &str, name: &str, index: usize) {
        if !ctx.trusts(path) {
            self.incomplete = true;
        } else if self.index.contains_key(name) {
            ctx.error(
                path,
                format!("{} again", quote(name)),
                format!("a name that no other has: it already names {}", self.what),
            );
        } else {
            self.index.insert(name.to_owned(), index);
        }
    }

    /// What `name` stands for; if there is no such thing it is reported at `path`.
    pub(crate) fn find(&self, ctx: &mut CheckCtx<'_>, path: &str, name: &str) -> Option<usize> {
        let found = self.get(name);
        if found.is_none() && !self.incomplete {
            let hint = if ctx.errors.suggests() { did_you_mean(name, self.iter()) } else { String::new() };
            ctx.error(path, quote(name), format!("the name of {}: {}{hint}", self.what, one_of(self.iter())));
        }
        found
    }

    /// What `name` stands for.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Whether some name could not be read.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// All names, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }
}
