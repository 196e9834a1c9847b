//! What was asked for and refused.

use serde::{Deserialize, Serialize};

/// A change that was asked for and denied by admission, or refused by etcd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedReport {
    /// When it was refused, in seconds.
    pub at_s: f64,
    /// What was asked, in plain words: `set failure tolerance of shoot shop to zone`.
    pub operation: String,
    /// Why it was refused, in the words of whoever refused it.
    pub reason: String,
}
