//! Which change may help a pod that no node suited: others need not be looked at again (`pkg/scheduler/framework/plugins/*`,
//! `EventsToRegister` and its queueing hints).
//!
//! A hint may be wrong in one way only: what it keeps asleep would be refused again.

use crate::reasons::Reasons;
use crate::record::Reason;
use crate::rule::spread::Constraint;
use crate::spec::placement::Term;
use crate::spec::{KubeClusterSpec, Workload};
use crate::store::{Change, Store};
use zonefall_scenario::ids::WorkloadId;

/// Whether a change helps no pod, whatever it was refused for.
pub const fn helps_nobody(change: &Change) -> bool {
    matches!(
        change,
        Change::Created(_)
            | Change::Removed(_, _, None)
            | Change::Condition(_)
            | Change::Desired(_)
            | Change::Readiness(_)
            | Change::Volume(_)
            | Change::Unclaimed(_)
            | Change::Unschedulable(_)
            | Change::MachineDeployment(_)
            | Change::Budget
            | Change::Members(_)
            | Change::Network
            | Change::Access
    )
}

/// Whether a change may help a pod of a workload that was refused for these reasons.
pub fn may_help(change: &Change, refused: Reasons, workload: &Workload, spec: &KubeClusterSpec, store: &Store) -> bool {
    let other = |id: WorkloadId| store.template(id, spec);
    match *change {
        // Where there are the fewest of its kind there is one more; or one it must be near to.
        Change::Bound(id, _) => is_counted(refused, workload, other(id)) || is_company(refused, workload, other(id)),
        // Spreading counts those no more that are on their way out; all else waits until they are gone.
        Change::Terminating(_, id, _) => is_counted(refused, workload, other(id)),
        Change::Removed(_, name, Some(key)) => {
            let fits = || store.get_node(key).is_some_and(|node| node.requested.plus(&workload.requests).fits(&node.allocatable));
            let freed = other(name.workload).volume.is_some() && refused.has(Reason::VolumeLimit);
            freed || (refused.has(Reason::Resources) && fits()) || is_company(refused, workload, other(name.workload))
        }
        // A domain whose nodes it does not tolerate may count no more.
        Change::Taints(_) => {
            [Reason::Unschedulable, Reason::Taints, Reason::Spread].into_iter().any(|reason| refused.has(reason))
        }
        Change::Registered(_) | Change::Template(_) => true,
        // With their node its pods are where nobody counts them.
        Change::Unregistered(_) => [Reason::Spread, Reason::PodAffinity, Reason::PodAntiAffinity, Reason::ExistingAntiAffinity]
            .into_iter()
            .any(|reason| refused.has(reason)),
        ref other => !helps_nobody(other),
    }
}

/// Whether pods of the other workload are counted where these are spread.
fn is_counted(refused: Reasons, workload: &Workload, other: &Workload) -> bool {
    let counts = |constraint: &Constraint| constraint.selector.selects(&other.labels);
    refused.has(Reason::Spread) && workload.namespace == other.namespace && workload.spread.iter().any(counts)
}

/// Whether it matters to these pods, which were refused for their likes and dislikes or for others', where pods of the other workload
/// are. (The last that is gone makes the next the first of its kind.)
fn is_company(refused: Reasons, workload: &Workload, other: &Workload) -> bool {
    let means = |terms: &[Term], about: &Workload| terms.iter().any(|term| term.selector.selects(&about.labels));
    let (own, others) = (&workload.pod_affinity, &other.pod_affinity);
    workload.namespace == other.namespace
        && ((refused.has(Reason::PodAffinity) && means(&own.affinity.required, other))
            || (refused.has(Reason::PodAntiAffinity) && means(&own.anti_affinity.required, other))
            || (refused.has(Reason::ExistingAntiAffinity) && means(&others.anti_affinity.required, workload)))
}
