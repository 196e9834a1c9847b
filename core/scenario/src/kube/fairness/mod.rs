//! API Priority and Fairness as API servers are configured with it: which requests a flow schema matches, and what a priority level
//! allows them (API group `flowcontrol.apiserver.k8s.io/v1`; kubernetes/kubernetes `pkg/apis/flowcontrol/{types.go,validation}`).
//!
//! ```text
//!  request --first schema that matches--> flow (schema, distinguisher) --level of the schema--> seats, queues
//! ```
//!
//! What servers do with it: `rule/fairness` of the package `kube`. A scenario file says which configuration a cluster has
//! ([`FairnessChoice`]).

pub mod bootstrap;
pub mod flow_control;
pub mod request;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use flow_control::{FlowControl, Invalid};

/// A priority level: an index into [`FlowControl::levels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelId(pub u16);

/// A flow schema: an index into [`FlowControl::schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(pub u16);

crate::index_vectors! { LevelId(u16), SchemaId(u16) }

/// Whether API servers have Priority and Fairness, and which flow schemas and priority levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FairnessChoice {
    /// `--enable-priority-and-fairness=false`.
    #[default]
    Off,
    /// Those of a new cluster (Kubernetes 1.34 and newer).
    On,
    /// The same, and the schema `kubernetes-endpoints` with a level of its own: reads of the endpoints of API servers (Resilient Control
    /// Plane Networking).
    KubernetesEndpoints,
}

/// Which requests are alike, and at which level they are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSchema {
    /// Its name; equal precedences are ordered by it.
    pub name: String,
    /// The name of its priority level.
    pub level: String,
    /// Schemas are tried in increasing order of this, from 1 to 10,000 (`matchingPrecedence`).
    pub precedence: u32,
    /// What divides its requests into flows; `None`: all are one flow.
    pub distinguisher: Option<Distinguisher>,
    /// A request matches if one of these rules does.
    pub rules: Vec<PolicyRule>,
}

/// What two requests of one flow schema must have in common to be of one flow (`distinguisherMethod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinguisher {
    /// The user who makes the request.
    ByUser,
    /// The namespace of its object; none for objects without one.
    ByNamespace,
}

/// Requests of some subjects to some resources or paths (`PolicyRulesWithSubjects`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRule {
    /// Who makes the request: one of these.
    pub subjects: Vec<Subject>,
    /// A request to a resource must match one of these.
    pub resources: Vec<ResourceRule>,
    /// Any other request must match one of these.
    pub paths: Vec<NonResourceRule>,
}

/// Who makes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The user of a name, or every user (`*`).
    User(Names),
    /// Users of a group, or every user (`*`).
    Group(Names),
    /// A service account, or all of a namespace (`*`).
    ServiceAccount {
        /// The namespace of the account.
        namespace: String,
        /// The name of the account.
        name: Names,
    },
}

/// Requests to resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs in lower case: `get`, `list`, `watch`, `create` ...
    pub verbs: Names,
    /// Groups of the API; the core group is the empty word.
    pub api_groups: Names,
    /// Resources in the plural, with a subresource as `nodes/status`.
    pub resources: Names,
    /// Namespaces of the object.
    pub namespaces: Names,
    /// Whether objects without a namespace, and lists over all namespaces, match, too.
    pub cluster_scope: bool,
}

/// Requests to paths that are no resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonResourceRule {
    /// Verbs in lower case.
    pub verbs: Names,
    /// Paths, each with all paths below it; a last `*` changes nothing.
    pub paths: Names,
}

/// A list of names, in which `*` alone stands for every name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Every name.
    All,
    /// One of these.
    OneOf(Vec<String>),
}

/// A share of a server's seats, and what becomes of requests that find none free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityLevel {
    /// Its name.
    pub name: String,
    /// Its share of the server's seats, relative to the shares of the other levels (`nominalConcurrencyShares`).
    pub shares: u32,
    /// How much of its seats other levels may borrow, in percent, at most 100 (`lendablePercent`).
    pub lendable_percent: u32,
    /// How much it may borrow, in percent of its own seats; `None`: as much as others lend (`borrowingLimitPercent`).
    pub borrowing_limit_percent: Option<u32>,
    /// What becomes of requests that find no free seat.
    pub excess: Excess,
}

/// What becomes of requests beyond the seats of their level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// They execute: the level has no limit (`type: Exempt`). Only the level [`EXEMPT`] is of this kind.
    Executes,
    /// They are rejected (`limitResponse: Reject`).
    IsRejected,
    /// They wait in queues (`limitResponse: Queue`).
    Waits(Queuing),
}

/// Queues of a priority level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queuing {
    /// Number of queues, at least 1. The requests of a flow wait in a few of them, whatever other flows do.
    pub queues: u32,
    /// How many queues a flow is dealt; its requests wait in the shortest of them.
    pub hand_size: u32,
    /// How many requests wait in a queue at most, at least 1.
    pub queue_length_limit: u32,
}

impl Default for Queuing {
    /// As the API fills in what is not given (defaults of `QueuingConfiguration`).
    fn default() -> Self {
        Self { queues: 64, hand_size: 8, queue_length_limit: 50 }
    }
}

/// The level, and the schema, of requests that nothing limits.
pub const EXEMPT: &str = "exempt";
/// The level, and the schema, of requests that no other schema matches.
pub const CATCH_ALL: &str = "catch-all";

/// Why queues cannot be configured like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidQueuing {
    /// There are none, or more than [`Queuing::MOST_QUEUES`].
    Queues,
    /// A hand has no queue.
    HandSize,
    /// A hand has more queues than there are.
    HandTooLarge,
    /// More hands are possible than the bits of a hash can tell apart ([`Queuing::MOST_HASH_BITS`]).
    Entropy,
    /// No request fits into a queue.
    QueueLengthLimit,
}

impl FairnessChoice {
    /// The configuration; `None`: there is none.
    pub fn flow_control(self) -> Option<FlowControl> {
        match self {
            Self::Off => None,
            Self::On => Some(FlowControl::of_new_cluster(bootstrap::Release::Current)),
            Self::KubernetesEndpoints => Some(FlowControl::with_kubernetes_endpoints(bootstrap::Release::Current)),
        }
    }
}

impl Names {
    /// The names of a list, as the API has it.
    pub fn of(names: &[&str]) -> Self {
        match names {
            ["*"] => Self::All,
            names => Self::OneOf(names.iter().map(|name| (*name).to_owned()).collect()),
        }
    }

    /// Whether a name is one of them.
    pub fn contain(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::OneOf(names) => names.iter().any(|other| other == name),
        }
    }
}

impl FlowSchema {
    /// The schema that is tried last has this precedence (`FlowSchemaMaxMatchingPrecedence`).
    pub const LAST_PRECEDENCE: u32 = 10_000;
}

impl Queuing {
    /// No level has more queues (validation of `QueuingConfiguration`).
    pub const MOST_QUEUES: u32 = 10_000_000;
    /// Bits of a hash that choose a hand. With all 64, hands would be less even: 2:3 instead of 32:33 at worst (apiserver
    /// `shufflesharding.go`, `MaxHashBits`).
    pub const MOST_HASH_BITS: u32 = 60;

    /// Bits of a hash that tell all hands apart, hands in another order included (`RequiredEntropyBits`).
    pub fn required_entropy_bits(&self) -> u32 {
        let hands = u128::from(self.queues).checked_pow(self.hand_size);
        hands.map_or(u32::MAX, |hands| u128::BITS - hands.saturating_sub(1).leading_zeros())
    }

    /// Whether there can be such queues.
    ///
    /// # Errors
    /// The first reason, in the order of [`InvalidQueuing`].
    pub fn check(&self) -> Result<(), InvalidQueuing> {
        let rules = [
            ((1..=Self::MOST_QUEUES).contains(&self.queues), InvalidQueuing::Queues),
            (self.hand_size > 0, InvalidQueuing::HandSize),
            (self.hand_size <= self.queues, InvalidQueuing::HandTooLarge),
            (self.required_entropy_bits() <= Self::MOST_HASH_BITS, InvalidQueuing::Entropy),
            (self.queue_length_limit > 0, InvalidQueuing::QueueLengthLimit),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }
}
