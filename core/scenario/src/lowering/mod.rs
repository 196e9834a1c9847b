//! The intermediate state while a file is lowered to a scenario: names, zones and nodes, members of etcd over time, clusters with what
//! is left of their nodes. The kinds of faults and operations ask it what their names mean, and report to it what is wrong with them;
//! the validation fills it, part by part.

mod clusters;
mod members;
mod names;
mod topology;

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::error::{Error, Errors, show};
use crate::units::Span;
pub(crate) use clusters::{ClusterDraft, ClusterDrafts, MAX_MACHINES, MAX_NODES, MAX_SHOOTS, POOL, SymbolTable};
pub(crate) use members::{MAX_MEMBERS, MAX_MEMBERS_EVER, MemberLifetime, Members, in_cluster};
pub(crate) use names::Names;
pub(crate) use topology::{Topology, add_machine, zone_names, zones_of};
use zonefall_kernel::time::{Duration, Time};

/// Where each part of the validation reports what is wrong, and which values of the file its author wrote.
pub(crate) struct CheckCtx<'a> {
    pub(crate) errors: &'a mut Errors,
    /// What is allowed and probably not meant, one for each path.
    pub(crate) warnings: Vec<Error>,
    pub(crate) replaced: &'a BTreeSet<String>,
    /// Quantiles of measurements copied so far.
    pub(crate) quantiles: usize,
    /// The end of the run; the end of time where the file does not say it well.
    pub(crate) end: Time,
}

impl<'a> CheckCtx<'a> {
    /// Nothing is wrong so far. `replaced` are paths where the form was wrong already.
    pub(crate) fn new(errors: &'a mut Errors, replaced: &'a BTreeSet<String>) -> Self {
        Self { errors, warnings: Vec::new(), replaced, quantiles: 0, end: Time::MAX }
    }

    /// Reports an error, unless the value there is one that the check of the form put there.
    pub(crate) fn error(&mut self, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        if self.trusts(path) {
            self.errors.push(path, found, expected);
        }
    }

    /// Reports an error that the copies of what a path stands for (`count`) have alike: once.
    pub(crate) fn error_of_copy(&mut self, path: &str, found: String, expected: String) {
        if self.trusts(path) {
            self.errors.push_anew(path, found, expected);
        }
    }

    /// Reports what is allowed and probably not meant; of what a path stands for several times (`count`), the first.
    pub(crate) fn warn(&mut self, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        if !self.warnings.iter().any(|warning| warning.path == path) {
            self.warnings.push(Error::new(path, found, expected));
        }
    }

    /// Whether what stands at `path` was written by the author of the file.
    pub(crate) fn trusts(&self, path: &str) -> bool {
        let inner = |end: &usize| matches!(path.as_bytes()[*end], b'.' | b'[');
        self.replaced.is_empty()
            || !(self.replaced.contains("$")
                || (0..path.len()).filter(inner).any(|end| self.replaced.contains(&path[..end]))
                || self.replaced.contains(path))
    }

    /// Reports where `span` is not between `min` and `max`.
    pub(crate) fn range(&mut self, path: &str, span: Span, min: Duration, max: Duration) {
        if span.0 < min || span.0 > max {
            self.error(path, quoted(span), format!("{} to {}", Span(min), Span(max)));
        }
    }
}

/// A quantity or other short value as the file has it.
pub(crate) fn quoted(value: impl Display) -> String {
    show(&serde_json::Value::String(value.to_string()))
}
