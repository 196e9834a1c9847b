//! What page and worker say to each other: plain data, sent as bytes (`postcard`): both ends are built
//! together, so that nothing needs a name on the way.
//!
//! ```text
//!   page --Ask--> worker (Session: branches, keyframes, one cursor)
//!        <-Tell--
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zonefall_core::ids::{FaultId, KubeClusterId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::{CloseUp, Report};
use zonefall_core::scenario::kube::Task;
use zonefall_core::scenario::{Fault, Scenario};
use zonefall_core::sim::view::SimulationView;

/// What the program is made of: page and worker must be the same. (A host that is being updated may serve one of each.)
pub const BUILD: &str = concat!("build ", env!("ZONEFALL_BUILD"));

/// An [`WorkerRequest`] or a [`WorkerResponse`] as it is sent.
///
/// # Panics
/// Never: messages are plain data.
pub fn write(message: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(message).expect("a message is plain data")
}

/// An [`WorkerRequest`] or a [`WorkerResponse`] as it was sent; `None` if that is something else.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

/// One loaded scenario; answers to an earlier one are void.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadId(pub u32);

/// A branch of a loaded scenario, numbered by the page; 0 is the scenario as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BranchId(pub u32);

zonefall_core::scenario::index_vectors!(BranchId(u32));

/// From page to worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkerRequest {
    /// Start over with this scenario (its branch 0 is shown); all that was loaded before is forgotten.
    Load {
        /// Its number.
        load: LoadId,
        /// The scenario's text.
        text: String,
        /// Instead of the scenario's own seed.
        seed: Option<u64>,
    },
    /// A new branch, equal to `parent` up to `at`, where `intervention` is done; it is shown.
    Fork {
        /// Which scenario.
        load: LoadId,
        /// Its number.
        branch: BranchId,
        /// The branch it leaves.
        parent: BranchId,
        /// Time that is asked for.
        at: Time,
        /// What is done.
        intervention: Intervention,
    },
    /// Shows another branch: it is simulated first, and looks are at it.
    Show {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
    },
    /// A picture of the shown branch at this time, or as far as it is simulated or goes. Of several looks and steps that wait, only the
    /// last is answered; showing another branch voids them.
    View {
        /// Which scenario.
        load: LoadId,
        /// Time of the intervention.
        at: Time,
        /// Message by message, so that every message under way is in the picture.
        messages: bool,
    },
    /// A picture at the next (or previous) engine event of the shown branch, message by message, seen from `at`. What happens at one
    /// instant is one step; an intervention is one too.
    Step {
        /// Which scenario.
        load: LoadId,
        /// From here.
        at: Time,
        /// To the next; otherwise to the one before.
        forward: bool,
    },
    /// Latency and traffic of a part of the shown branch in finer windows than its report has: not answered where there are none. Of
    /// several that wait only the last is answered; showing another branch voids them.
    CloseUp {
        /// Which scenario.
        load: LoadId,
        /// Where the part begins.
        from: Time,
        /// Where it ends: simulated up to there.
        to: Time,
    },
    /// Stops simulating a branch, or goes on with it: what is simulated can be looked at either way.
    Halt {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
        /// Stop; else go on.
        halted: bool,
    },
    /// Are you alive? Answered at once.
    Ping(u32),
}

/// What a user does to a running world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Intervention {
    /// Breaks something.
    Inject {
        /// Fault that is injected.
        fault: Fault,
        /// For how long; `None`: to the end, or until it is mended.
        lasts: Option<Duration>,
    },
    /// Ends a fault before its time.
    Repair {
        /// Fault that is repaired.
        fault: FaultId,
    },
    /// Rolls a workload out or back, or pauses or resumes its rollout.
    Roll {
        /// The cluster it runs in.
        cluster: KubeClusterId,
        /// What an operator asks for.
        task: Task,
    },
}

impl Intervention {
    /// Whether a scenario has what it names.
    ///
    /// # Errors
    /// What it has not, in plain words.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        match self {
            Self::Inject { fault, .. } => fault.check(scenario),
            Self::Repair { .. } => Ok(()),
            Self::Roll { cluster, task } => task.check_rollout(scenario.kube.clusters.get(*cluster)),
        }
    }
}

/// What an operator asks a cluster for, in plain words: `an operator restarts the pods of db`.
pub fn asked(cluster: KubeClusterId, task: Task, scenario: &Scenario) -> String {
    let spec = &scenario.kube.clusters[cluster];
    format!("an operator {}", task.describe(spec, scenario))
}

/// From worker to page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkerResponse {
    /// The worker has started and listens.
    Ready {
        /// Its [`BUILD`].
        build: String,
    },
    /// The text is no scenario. (The page checks texts itself before it sends them; this answers what slips through.)
    Invalid {
        /// Which load.
        load: LoadId,
        /// All errors, each with its JSON path.
        errors: Vec<(String, String)>,
    },
    /// How far a branch is simulated, and its report so far.
    Progress {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
        /// Simulated up to here.
        now: Time,
        /// To the end: the report is final and judged.
        done: bool,
        /// The report so far. Sent a few times a second at most; `None`: only `now` has moved.
        report: Option<Box<Report>>,
        /// Keyframes kept for this scenario, and the bytes of memory the worker uses.
        keyframes: u32,
        /// Bytes of memory of the worker.
        memory_bytes: u64,
        /// Real time spent on simulating this branch so far, in milliseconds: for benchmarks.
        wall_ms: f64,
    },
    /// Answers [`WorkerRequest::View`] and [`WorkerRequest::Step`].
    Viewed {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
        /// The world then.
        view: SimulationView,
        /// The event stepped to, in plain words; empty after a look.
        event: String,
    },
    /// Answers [`WorkerRequest::CloseUp`].
    CloseUp {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
        /// The part that was asked for, and a window's length around it.
        close_up: Box<CloseUp>,
    },
    /// The worker gave a branch up: too much memory, time that does not move, or an intervention that cannot be done. Why, in plain words.
    GaveUp {
        /// Which scenario.
        load: LoadId,
        /// Which branch.
        branch: BranchId,
        /// Why it failed.
        why: String,
    },
    /// Answers [`WorkerRequest::Ping`].
    Pong(u32),
}
