//! Operations: what operators ask for, at a time that a scenario file says.
//!
//! A kind of operation is one file here and one line in [`operations!`](self) below; one of a cluster is also a [`Task`] and one arm in the
//! effects (`KubeCluster::operate` of zonefall-kube). Its file holds the fields of scenario files with their schema (from which the page
//! makes its form), what is checked, what it becomes, and how it reads.
//!
//! ```text
//!                         Members    an etcd cluster gets, loses or promotes a member       --> MemberChange
//!                         Databases  its databases are compacted, defragmented, disarmed    --> Maintenance
//! RawOperationKind ------ Shoot      Gardener changes a shoot                               --> ShootChange
//!                         Cluster    a Kubernetes cluster rolls or drains                   --> Task
//! ```

mod add_control_plane_node;
mod add_member;
mod add_zone;
mod compact;
mod ctx;
mod defragment;
mod deschedule;
mod disarm_alarm;
mod drain_node;
mod migrate_shoot;
mod owner;
mod pause_rollout;
mod promote_member;
mod remove_control_plane_node;
mod remove_member;
mod resume_rollout;
mod roll_back_component;
mod roll_component;
mod roll_pool;
mod scale_workload;
mod set_failure_tolerance;
mod shift_zone;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::etcd::{Maintenance, MemberChange};
use crate::inventory::Inventory;
use crate::kube::gardener::FailureTolerance;
use crate::kube::{KubeClusterSpec, Task};
pub(crate) use ctx::{MembersCtx, OperationCtx, Owner};
pub use owner::{RawClusterName, RawOwner};

/// What the file of a kind needs.
mod prelude {
    pub(super) use schemars::JsonSchema;
    pub(super) use serde::{Deserialize, Serialize};

    pub(super) use super::{
        ClusterOperation, DatabaseOperation, MemberOperation, OperationCtx, ShootChange, ShootOperation, TaskSubject,
    };
    pub(super) use crate::inventory::Inventory;
    pub(super) use crate::kube::{KubeClusterSpec, Task};
}

/// The table of all kinds, by what they are asked of: their description, their name in the form, `kind(module)`; of those of a cluster also
/// the [`Task`] that they become.
macro_rules! operations {
    (
        Members { $($(#[$member_doc:meta])* $member_title:literal $member:ident($member_module:ident),)+ }
        Databases { $($(#[$data_doc:meta])* $data_title:literal $data:ident($data_module:ident),)+ }
        Shoot { $($(#[$shoot_doc:meta])* $shoot_title:literal $shoot:ident($shoot_module:ident),)+ }
        Cluster { $($(#[$doc:meta])* $title:literal $kind:ident($module:ident) -> $task:ident,)+ }
    ) => {
        /// A membership change, a rolling update, a drain, or a change of a shoot.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum RawOperationKind {
            $($(#[$member_doc])* #[schemars(title = $member_title)] $member($member_module::Raw),)+
            $($(#[$data_doc])* #[schemars(title = $data_title)] $data($data_module::Raw),)+
            $($(#[$doc])* #[schemars(title = $title)] $kind($module::Raw),)+
            $($(#[$shoot_doc])* #[schemars(title = $shoot_title)] $shoot($shoot_module::Raw),)+
        }

        impl RawOperationKind {
            /// Its word in scenario files.
            pub(crate) const fn word(&self) -> &'static str {
                match self {
                    $(Self::$member(_) => stringify!($member_module),)+
                    $(Self::$data(_) => stringify!($data_module),)+
                    $(Self::$shoot(_) => stringify!($shoot_module),)+
                    $(Self::$kind(_) => stringify!($module),)+
                }
            }

            /// What it is asked of.
            pub(crate) fn of(&self) -> Of<'_> {
                match self {
                    $(Self::$member(raw) => Of::Members(raw),)+
                    $(Self::$data(raw) => Of::Databases(raw),)+
                    $(Self::$shoot(raw) => Of::Shoot(raw),)+
                    $(Self::$kind(raw) => Of::Cluster(raw),)+
                }
            }
        }

        impl Task {
            /// What the operator does: `drains worker-c2`.
            pub fn describe(self, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> String {
                match self {
                    $(Self::$task(id) => $module::describe(id, cluster, scenario),)+
                }
            }

            /// What it is about.
            pub fn subject(self, cluster: &KubeClusterSpec, scenario: &dyn Inventory) -> TaskSubject {
                match self {
                    $(Self::$task(id) => $module::subject(id, cluster, scenario),)+
                }
            }
        }
    };
}

operations! {
    Members {
        /// Add a member and start it. It may have the name of a member that was removed before.
        "add a member of etcd" AddMember(add_member),
        /// Remove a member.
        "remove a member of etcd" RemoveMember(remove_member),
        /// Promote a learner to a voter.
        "promote a learner of etcd" PromoteMember(promote_member),
    }
    Databases {
        /// Drop all superseded revisions of an etcd cluster (`etcdctl compact`): their pages are free, and the files stay as large as they
        /// are.
        "compact the revisions of etcd" Compact(compact),
        /// Rewrite the database of a member without its free pages (`etcdctl defrag`). Meanwhile the member applies and reads nothing.
        "defragment a member of etcd" Defragment(defragment),
        /// Disarm the NOSPACE alarm (`etcdctl alarm disarm`). A member whose file is still too large raises it again.
        "disarm the alarm of etcd" DisarmAlarm(disarm_alarm),
    }
    Shoot {
        /// Change the failure tolerance of a shoot's control plane. Gardener denies changes that GEP-20 does not allow.
        "change a shoot's failure tolerance" SetFailureTolerance(set_failure_tolerance),
        /// Migrate a shoot's control plane to another seed (change its binding). Gardener denies a seed that does not suit.
        "migrate a shoot to another seed" MigrateShoot(migrate_shoot),
    }
    Cluster {
        /// Replace the pods of a component (`kubectl rollout restart`), within the limits of its `rollout`.
        "roll a component" RollComponent(roll_component) -> RollComponent,
        /// Replace the pods of a component by pods of the revision before (`kubectl rollout undo`).
        "roll a component back" RollBackComponent(roll_back_component) -> RollBackComponent,
        /// Pause the rollout of a Deployment (`kubectl rollout pause`): no pod is replaced until it is resumed.
        "pause a rollout" PauseRollout(pause_rollout) -> PauseRollout,
        /// Let a rollout that was paused go on (`kubectl rollout resume`).
        "resume a rollout" ResumeRollout(resume_rollout) -> ResumeRollout,
        /// Cordon a node and evict its pods (`kubectl drain`).
        "drain a node" DrainNode(drain_node) -> DrainNode,
        /// Replace the machines of a pool, within the limits of its `rollout`.
        "roll a pool" RollPool(roll_pool) -> RollMachines,
        /// Change the number of pods of a workload (`kubectl scale`).
        "scale a workload" ScaleWorkload(scale_workload) -> ScaleWorkload,
        /// Add nodes in a new zone to a cluster without Gardener (`kube-up` with `KUBE_USE_EXISTING_MASTER=true`). The machines are like those of
        /// one of its pools, and join the existing control plane. Running pods do not move.
        "add a zone" AddZone(add_zone) -> AddNodes,
        /// Run the descheduler once. Where a topology spread constraint is violated, it evicts pods of the domains with too many, if the
        /// scheduler would place them elsewhere. A PodDisruptionBudget may block an eviction.
        "run the descheduler" Deschedule(deschedule) -> Deschedule,
        /// Shift the traffic of a cluster without Gardener away from a zone (zonal shift of EKS). The zone's nodes are cordoned, Services do not
        /// list its pods, and the cluster autoscaler adds no node there. Pods go on running. All of it is taken back when the shift expires.
        /// One shift at a time: another one is refused.
        "shift traffic away from a zone" ShiftZone(shift_zone) -> ShiftZone,
        /// Add a host to the control plane of a cluster without Gardener: `timers.control_plane_start` later it runs an API server and the
        /// components of the others. Load balancers take it for a new target at once. Its member of etcd is another operation's
        /// (`add_member`): with `api_to_etcd` of `local` the API server serves nothing without one. The host becomes no node of the cluster.
        "add a control-plane node" AddControlPlaneNode(add_control_plane_node) -> AddHost,
        /// Remove a host from the control plane of a cluster without Gardener. Its API server gets SIGTERM, and its components release their
        /// leases. Once the API server has exited, the host is no target of load balancers any more. Its member of etcd is another
        /// operation's (`remove_member`). A host that is a node of the cluster stays one.
        "remove a control-plane node" RemoveControlPlaneNode(remove_control_plane_node) -> RemoveHost,
    }
}

/// What an operation is asked of.
pub(crate) enum Of<'a> {
    /// The members of an etcd cluster.
    Members(&'a dyn MemberOperation),
    /// The databases of an etcd cluster.
    Databases(&'a dyn DatabaseOperation),
    /// A shoot of Gardener.
    Shoot(&'a dyn ShootOperation),
    /// A Kubernetes cluster.
    Cluster(&'a dyn ClusterOperation),
}

/// An operation on the members of an etcd cluster.
pub(crate) trait MemberOperation {
    /// The change, if it can be made then; errors are reported to `ctx`.
    fn change(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<MemberChange>;
}

/// An operation on the databases of an etcd cluster.
pub(crate) trait DatabaseOperation {
    /// The work, if it can be asked for then; errors are reported to `ctx`.
    fn task(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<Maintenance>;
}

/// An operation on a shoot.
pub(crate) trait ShootOperation {
    /// The name of the shoot.
    fn shoot(&self) -> &str;

    /// What becomes of it; `None`: the seed that is named is not there.
    fn change(&self, seed: &dyn Fn(&str) -> Option<usize>) -> Option<ShootChange>;

    /// Reports what is wrong with names other than that of the shoot.
    fn check(&self, ctx: &mut OperationCtx<'_, '_>) {
        let _ = ctx;
    }
}

/// An operation on a Kubernetes cluster.
pub(crate) trait ClusterOperation {
    /// What is asked of which clusters, by their place among all; errors are reported to `ctx`.
    fn tasks(&self, ctx: &mut OperationCtx<'_, '_>) -> Vec<(usize, Task)>;
}

/// What a shoot is asked for.
#[derive(Clone, Copy)]
pub(crate) enum ShootChange {
    /// To survive that.
    SetTolerance(FailureTolerance),
    /// To move to the seed at that place.
    Migrate(usize),
}

/// What a task is about, by name.
pub enum TaskSubject {
    /// The pods of a workload.
    Pods(String),
    /// A node.
    Node(String),
    /// The machines of a machine deployment.
    Machines(String),
    /// A zone.
    Zone(String),
}
