//! Properties that hold at every moment of every run: one per file.

use crate::kernel::time::Time;
use crate::record::Record;
use crate::scenario::Scenario;
/// A broken property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it was noticed.
    pub at: Time,
    /// Which.
    pub property: &'static str,
    /// What was seen.
    pub text: String,
}
/// All.
#[derive(Clone, Debug)]
pub struct All {
    violations: Vec<Violation>,
}
impl All {
    /// New.
    pub fn new(_scenario: &Scenario) -> Self {
        Self { violations: Vec::new() }
    }
    /// Record.
    pub fn record(&mut self, _at: Time, _record: &Record) {}
    /// So far.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }
}
