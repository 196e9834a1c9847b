//! What a validation puts in, labelled: figures must come out of the model, not go in.

use std::fmt;

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Distance, speed of links and disks, layout of messages.
    Physical,
    /// Timers and limits of real components, and what they are known to do.
    Policy,
    /// A service time or a rate that was chosen so that some rows come out: those rows validate nothing.
    Fitted,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Physical => "physical",
            Self::Policy => "policy",
            Self::Fitted => "fitted",
        })
    }
}

/// One number that is put in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// What it is.
    pub what: &'static str,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What it rests on.
    pub label: Label,
    /// Where it comes from.
    pub source: &'static str,
    /// Rows it was fitted on, by their line or number; they validate nothing.
    pub rows: &'static [u32],
}

impl Input {
    /// Distance, speed, layout.
    pub const fn physical(what: &'static str, value: f64, unit: &'static str, source: &'static str) -> Self {
        Self { what, value, unit, label: Label::Physical, source, rows: &[] }
    }

    /// What real components are set to, or do.
    pub const fn policy(what: &'static str, value: f64, unit: &'static str, source: &'static str) -> Self {
        Self { what, value, unit, label: Label::Policy, source, rows: &[] }
    }

    /// Chosen so that `rows` come out.
    pub const fn fitted(what: &'static str, value: f64, unit: &'static str, rows: &'static [u32], source: &'static str) -> Self {
        Self { what, value, unit, label: Label::Fitted, source, rows }
    }

    /// A row of a table, in Markdown.
    pub fn markdown(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(u32::to_string).collect();
        let Self { what, value, unit, label, source, .. } = self;
        format!("| {what} | {value} {unit} | {label} | {source} | {} |", rows.join(", "))
    }
}
