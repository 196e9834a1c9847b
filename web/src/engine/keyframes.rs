//! Keyframes: clones of a run on its way, from which any moment is a short simulation away.
//!
//! Nothing is ever simulated backwards. To look at an earlier moment, the last keyframe before it is cloned and runs on. Keyframes
//! are spaced by events, which is what a look costs, not by time: an hour at rest needs none.
//!
//! ```text
//!   head  ----k---------k---------k---------k------>     one keyframe per `spacing` events
//!                            |
//!   fork                     `------k---------k---->     shares those before it left
//! ```

use std::rc::Rc;

use zonefall_core::kernel::time::Time;

use super::branch_run::BranchRun;

/// How much memory and patience a session has.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events between two keyframes, to begin with. 50,000 are about 10 ms natively and 15 ms in a browser.
    pub spacing: u64,
    /// Above this, every second keyframe goes and the spacing doubles, in bytes of the worker's memory.
    pub keyframe_bytes: usize,
    /// Above this, the branch that is simulated is given up, in bytes of the worker's memory.
    pub most_bytes: usize,
    /// A branch that handles so many events while its time stands still is given up.
    pub most_events_at_once: u64,
    /// Events handled before the clock is looked at again.
    pub slice: u64,
    /// Branches of one scenario.
    pub most_branches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            spacing: 50_000,
            keyframe_bytes: 256 << 20,
            most_bytes: 1 << 30,
            most_events_at_once: 5_000_000,
            slice: 2_000,
            most_branches: 500,
        }
    }
}

/// The keyframes of one branch, in order of time; those before it left its parent are shared.
#[derive(Clone, Debug, Default)]
pub struct Keyframes {
    kept: Vec<Rc<BranchRun>>,
}

impl Keyframes {
    /// Keeps a clone, if the last is `spacing` events ago or there is none.
    pub fn offer(&mut self, branch_run: &BranchRun, spacing: u64) {
        let due = self.kept.last().is_none_or(|last| branch_run.events() >= last.events() + spacing);
        if due {
            self.kept.push(Rc::new(branch_run.clone()));
        }
    }

    /// The last at or before `at`.
    pub fn at(&self, at: Time) -> Option<&BranchRun> {
        let after = self.kept.partition_point(|kept| kept.now() <= at);
        self.kept[..after].last().map(Rc::as_ref)
    }

    /// Those at or before `at`.
    #[must_use]
    pub fn up_to(&self, at: Time) -> Self {
        let after = self.kept.partition_point(|kept| kept.now() <= at);
        Self { kept: self.kept[..after].to_vec() }
    }

    /// Drops every second one; the first stays.
    pub fn thin(&mut self) {
        let mut keep = false;
        self.kept.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// Identities, to count what several branches share once.
    pub fn identities(&self) -> impl Iterator<Item = *const BranchRun> {
        self.kept.iter().map(Rc::as_ptr)
    }
}

/// Decides when memory that only ever grows has grown too far.
///
/// Wasm memory is used again but never given back: after something was dropped it stays as large as it was. So what was above the limit
/// once is above it for ever, and only further growth says that dropping was not enough. (A sixteenth of the limit: what was freed is
/// in pieces, and new things do not fit into all of them.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Watermark {
    dropped_at: usize,
}

impl Watermark {
    /// Whether to drop something now.
    pub fn is_passed(&mut self, memory_bytes: usize, limit: usize) -> bool {
        let passed = memory_bytes > limit && memory_bytes >= self.dropped_at.saturating_add(limit / 16);
        if passed {
            self.dropped_at = memory_bytes;
        }
        passed
    }
}
