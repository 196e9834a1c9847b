//! Words of the files as symbols, as whoever reads a scenario gives them out.

use std::collections::BTreeMap;

use zonefall_core::kube::rule::labels::{Symbol, WELL_KNOWN};

/// Gives every word its symbol.
pub(super) struct SymbolTable(BTreeMap<String, Symbol>);

impl SymbolTable {
    pub(super) fn new() -> Self {
        Self(WELL_KNOWN.iter().enumerate().map(|(k, word)| ((*word).to_owned(), Symbol(k as u32))).collect())
    }

    pub(super) fn symbol(&mut self, word: &str) -> Symbol {
        let next = Symbol(self.0.len() as u32);
        *self.0.entry(word.to_owned()).or_insert(next)
    }
}
