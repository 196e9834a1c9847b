//! Labels and what selects by them, as files give them.

use crate::error::quote;
use crate::kube::PodSelector;
use crate::kube::labels::{Requirement, Selector, Symbol};
use crate::kube::selector::{self, Malformed};
use crate::lowering::{CheckCtx, SymbolTable};

/// The requirements of a selector that a file gives.
pub(super) fn requirements(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, text: &str) -> Vec<Requirement> {
    let parsed = selector::parse(text, &mut |word| symbols.symbol(word));
    parsed.unwrap_or_else(|wrong| malformed(ctx, path, &wrong))
}

/// Namespace of what clusters without Gardener run, and of their Services and budgets.
pub(super) const NAMESPACE: &str = "default";

/// The pods that the field at `path` selects.
pub(super) fn selected(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, text: &str) -> PodSelector {
    let selector = Selector::All(requirements(ctx, symbols, path, text));
    PodSelector { namespace: symbols.symbol(NAMESPACE), selector }
}

/// Reports labels that are set by whoever makes the object, not by its owner.
pub(super) fn reserved(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, given: &[(Symbol, Symbol)], keys: &[&str]) {
    for key in keys {
        let symbol = symbols.symbol(key);
        if given.iter().any(|(own, _)| *own == symbol) {
            ctx.error(path, quote(key), "other keys: the simulator sets this label itself");
        }
    }
    if given.iter().enumerate().any(|(k, (key, _))| given[..k].iter().any(|(other, _)| other == key)) {
        ctx.error(path, "a key twice", "each key once");
    }
}

/// Labels that a file gives.
pub(super) fn labels(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, text: &str) -> Vec<(Symbol, Symbol)> {
    let parsed = selector::labels(text, &mut |word| symbols.symbol(word));
    parsed.unwrap_or_else(|wrong| malformed(ctx, path, &wrong))
}

/// A key that a file gives.
pub(super) fn label_key(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, text: &str) -> Symbol {
    if let Err(wrong) = selector::checked_key(text) {
        malformed::<()>(ctx, path, &wrong);
    }
    symbols.symbol(text)
}

/// Reports what is wrong with a selector or with labels; nothing is made of them.
fn malformed<T>(ctx: &mut CheckCtx<'_>, path: &str, wrong: &Malformed<'_>) -> Vec<T> {
    ctx.error(path, quote(wrong.found), wrong.expected);
    Vec::new()
}
