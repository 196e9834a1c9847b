//! Faults: what can break, planned or by the user's hand.
//!
//! A kind of fault is one file here, one line in [`kinds!`](self) below, and one arm in the effects (`sim::faults` of zonefall-core). Its
//! file holds all that is said of it: the fields of scenario files with their schema (from which the page makes its form), the fault that
//! is simulated, what it hits, how it reads, what it may explain, and what the page offers.
//!
//! ```text
//! RawFaultKind --lower()--> Fault --resolved() when it starts--> ActiveFault --> effect
//! ```

mod api_server;
mod api_server_kill;
mod api_server_stop;
mod cloud_api;
mod ctx;
mod disk_slow;
mod graceful_stop;
mod lb_down;
mod lb_partition;
mod lb_removed;
mod lb_stale_targets;
mod lb_tcp_health_only;
mod lb_throttled;
mod lb_wrong_target;
mod link_degraded;
mod link_partition;
mod node_crash;
mod node_partition;
mod process_kill;
mod process_pause;
mod stale_cache;
mod storage_degraded;
mod target;
mod volume_lost;
mod zone_partition;
mod zone_power;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zonefall_kernel::time::Duration;
use zonefall_kernel::traced;

pub use api_server_kill::ApiServerKill;
pub use api_server_stop::ApiServerStop;
pub use cloud_api::{CloudAnswer, CloudApi};
pub use disk_slow::DiskSlow;
pub use graceful_stop::GracefulStop;
pub use lb_down::LbDown;
pub use lb_partition::LbPartition;
pub use lb_removed::LbRemoved;
pub use lb_stale_targets::LbStaleTargets;
pub use lb_tcp_health_only::LbTcpHealthOnly;
pub use lb_throttled::LbThrottled;
pub use lb_wrong_target::LbWrongTarget;
pub use link_degraded::{LinkChange, LinkDegraded};
pub use link_partition::LinkPartition;
pub use node_crash::NodeCrash;
pub use node_partition::NodePartition;
pub use process_kill::ProcessKill;
pub use process_pause::ProcessPause;
pub use stale_cache::StaleCache;
pub use target::{Direction, FaultTarget, Hit, Leader, Place, RawFaultTarget};
pub use volume_lost::VolumeLost;
pub use zone_partition::ZonePartition;
pub use zone_power::ZonePower;

use crate::ids::EtcdId;
use crate::inventory::Inventory;
use crate::text;
pub(crate) use ctx::{FaultCtx, FaultResolver, UNCLAIMED};

/// What the file of a kind needs.
mod prelude {
    pub(super) use schemars::JsonSchema;
    pub(super) use serde::{Deserialize, Serialize};
    pub(super) use zonefall_kernel::traced;
    pub(super) use zonefall_kernel::traced::{Form, Traced};

    pub(super) use super::read_quantity;
    pub(super) use super::{Amount, Direction, Fault, FaultCtx, FaultKind, FaultTarget, Hit, Impact, Leader, Offer, Place};
    pub(super) use super::{RawFaultKind, RawFaultTarget};
    pub(super) use crate::ids::{BalancerId, EtcdId, MemberId, NodeId, VolumeId, ZoneId};
    pub(super) use crate::inventory::Inventory;
}

/// The table of all kinds: `kind(module) = tag in the trace hash`, and the kinds of files that stand for several others.
macro_rules! kinds {
    ($($kind:ident($module:ident) = $tag:literal,)+ ; $($group:ident($group_module:ident),)+) => {
        /// What breaks, as a scenario file says it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each kind says it in its own file, and the schema shows that")]
        pub enum RawFaultKind {
            $($kind($module::Raw),)+
            $($group($group_module::Raw),)+
        }

        impl RawFaultKind {
            /// What it means; errors are reported to `ctx`.
            pub(crate) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Vec<Fault> {
                match self {
                    $(Self::$kind(raw) => raw.lower(ctx).map(Fault::$kind).into_iter().collect(),)+
                    $(Self::$group(raw) => raw.lower(ctx),)+
                }
            }
        }

        /// A fault that can be simulated.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each kind says it in its own file")]
        pub enum Fault {
            $($kind($kind),)+
        }

        traced! { enum Fault { $($kind(fault) = $tag),+ } }

        impl Fault {
            /// What is said of it.
            pub fn kind(&self) -> &dyn FaultKind {
                match self {
                    $(Self::$kind(fault) => fault,)+
                }
            }

            fn kind_mut(&mut self) -> &mut dyn FaultKind {
                match self {
                    $(Self::$kind(fault) => fault,)+
                }
            }
        }

        $(impl From<$kind> for Fault {
            fn from(fault: $kind) -> Self {
                Self::$kind(fault)
            }
        })+

        /// What a user can break of something that is there, in the order of the table.
        pub fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
            [$($kind::offers(on, scenario)),+].concat()
        }
    };
}

kinds! {
    ZonePower(zone_power) = 3,
    ZonePartition(zone_partition) = 4,
    NodeCrash(node_crash) = 0,
    NodePartition(node_partition) = 5,
    ProcessKill(process_kill) = 1,
    GracefulStop(graceful_stop) = 2,
    ProcessPause(process_pause) = 11,
    LinkPartition(link_partition) = 10,
    LinkDegraded(link_degraded) = 6,
    DiskSlow(disk_slow) = 7,
    VolumeLost(volume_lost) = 8,
    CloudApi(cloud_api) = 9,
    LbDown(lb_down) = 12,
    LbPartition(lb_partition) = 13,
    LbTcpHealthOnly(lb_tcp_health_only) = 14,
    LbStaleTargets(lb_stale_targets) = 15,
    LbThrottled(lb_throttled) = 19,
    LbWrongTarget(lb_wrong_target) = 20,
    LbRemoved(lb_removed) = 16,
    ApiServerKill(api_server_kill) = 17,
    ApiServerStop(api_server_stop) = 18,
    StaleCache(stale_cache) = 21,
    ;
    StorageDegraded(storage_degraded),
}

/// What is said of one kind of fault.
pub trait FaultKind {
    /// Points each [`FaultTarget`] that follows a leader at what that leader has now.
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        let _ = leader;
    }

    /// What it hits.
    fn hits(&self) -> Vec<Hit>;

    /// The same as a scenario file says it.
    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind;

    /// Checks its numbers by the rules that a file's faults obey; what it hits is checked by [`Fault::check`].
    ///
    /// # Errors
    /// What is wrong, in plain words.
    fn limits(&self) -> Result<(), String> {
        Ok(())
    }

    /// Checks what it names beside what it hits.
    ///
    /// # Errors
    /// What the scenario does not have, in plain words.
    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        let _ = scenario;
        Ok(())
    }

    /// Which outages of etcd it may explain, where it hits something that the cluster needs.
    fn impact(&self) -> Impact;

    /// Says that it began: `zone eu-west-1a lost power`.
    fn began(&self, scenario: &dyn Inventory) -> String;

    /// Says that it began, and for how long (`None`: until it is repaired): `zone eu-west-1a lost power for 5 min`.
    fn began_for(&self, scenario: &dyn Inventory, lasts: Option<Duration>) -> String {
        lasts.map_or_else(|| self.began(scenario), |lasts| format!("{} for {}", self.began(scenario), text::duration(lasts)))
    }

    /// Says that it still holds: `zone eu-west-1a still without power`.
    fn ongoing(&self, scenario: &dyn Inventory) -> String;

    /// Says that it ended: `zone eu-west-1a has power again`.
    fn ended(&self, scenario: &dyn Inventory) -> String;

    /// What a user does to end it: `Repair: zone eu-west-1a still cut off`.
    fn repair(&self, scenario: &dyn Inventory) -> String {
        format!("Repair: {}", self.ongoing(scenario))
    }

    /// What the map writes at the link it hits: `+50 ms, 5 % loss`.
    fn mark(&self) -> String {
        String::new()
    }

    /// What of it is a matter of degree, for the user to choose.
    fn amount(&self) -> Option<Amount> {
        None
    }

    /// What a user can break of something that is there. What it hits has a name.
    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer>
    where
        Self: Sized;
}

/// How a fault takes a service of etcd away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// Processes stop, or lose what they need: any service.
    Stops,
    /// Packets do not pass: any service.
    Cuts,
    /// Packets come late or get lost: whatever waits for a peer or a client. Not the quorum, whose members run and are connected.
    SlowsNetwork,
    /// The disk takes longer: whatever waits for a disk. Neither the quorum nor a read of a member's own data.
    SlowsDisk,
    /// None: it hits nothing that etcd needs.
    Elsewhere,
}

/// A fault that a user can inject into something that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Its name among what is offered for one thing: `kill`, `power-off`.
    pub id: &'static str,
    /// What the button says.
    pub label: &'static str,
    /// What it does, in a phrase.
    pub about: &'static str,
    /// The fault, with the usual amount.
    pub fault: Fault,
}

/// What of a fault is a matter of degree.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// What the field is called.
    pub label: &'static str,
    /// What stands in the field at first.
    pub usual: &'static str,
    /// The fault with the amount that a text says.
    set: fn(&Fault, &str) -> Result<Fault, String>,
}

impl Offer {
    /// The name of a kill: its kubelet ends it, after [`ProcessKill::restarted_after`].
    pub const KILL: &'static str = "kill";
}

impl Amount {
    /// The fault with the amount that the user wrote.
    ///
    /// # Errors
    /// What is wrong with the text, in plain words.
    pub fn put_into(self, fault: &Fault, text: &str, scenario: &dyn Inventory) -> Result<Fault, String> {
        let fault = (self.set)(fault, text)?;
        fault.check(scenario).map(|()| fault)
    }
}

/// A quantity as scenario files have it; spaces in it do no harm.
///
/// # Errors
/// How to write it, after the `example`.
pub fn read_quantity<Q: std::str::FromStr<Err = String>>(text: &str, example: &str) -> Result<Q, String> {
    let text: String = text.split_whitespace().collect();
    text.parse().map_err(|why| format!("Write it as {example}: {why}"))
}

impl Fault {
    /// The fault with every target named; `leader` finds who leads a cluster. A cluster that nobody leads is hit at its first member.
    #[must_use]
    pub fn resolved(&self, leader: impl Fn(EtcdId) -> Leader) -> Self {
        let mut fault = self.clone();
        fault.kind_mut().resolve(&leader);
        fault
    }

    /// Checks the fault against a scenario by the rules that a file's faults obey.
    ///
    /// # Errors
    /// What is wrong, in plain words.
    pub fn check(&self, scenario: &dyn Inventory) -> Result<(), String> {
        self.kind().hits().into_iter().try_for_each(|hit| hit.check(scenario))?;
        self.kind().fits(scenario)?;
        self.kind().limits()
    }
}
