//! The end of a pod that somebody asked for, and who it was.

use super::Causes;
use crate::ids::KubeClusterId;
use crate::kernel::time::Duration;
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::Loss;
use crate::kube::spec::Task;
use crate::scenario::text;

/// The end of a pod of etcd or of an API server.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodEnd {
    pub(super) cluster: KubeClusterId,
    pub(super) pod: PodName,
    pub(super) how: Ending,
    /// What an operator had asked for.
    pub(super) task: Option<Task>,
    /// How long its budget had refused its eviction.
    pub(super) refused: Option<Duration>,
    /// Another pod of its workload that was lost with its node, and that its budget counted all the same.
    pub(super) counted: Option<(PodName, NodeName, Loss)>,
}

/// How a pod was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As its budget allows.
    Evicted,
    /// The same, for its node is to go, which no operator asked for.
    Drained(NodeName, Leaving),
    /// Whatever its budget says.
    Deleted,
    /// By force: the drain of its node had timed out.
    Forced(NodeName),
    /// It does not tolerate a `NoExecute` taint of its node.
    Tainted(NodeName),
    /// Its node no longer exists.
    Collected(NodeName),
}

/// Why a node is to go, which no operator asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// Its machine has failed.
    GivenUp,
    /// The autoscaler has no need of it.
    ScaledDown,
}

impl PodEnd {
    /// Whether it is of the same pod.
    pub(super) fn is_of(self, other: Self) -> bool {
        (self.cluster, self.pod) == (other.cluster, other.pod)
    }
}

impl Causes {
    /// `the drain of worker-c2 evicted etcd-main-1`.
    pub(super) fn describe_end(&self, end: PodEnd) -> String {
        let spec = &self.scenario.kube.clusters[end.cluster];
        let (pod, name) = (end.pod.text(spec), |node: NodeName| node_name(node, spec, &self.scenario));
        let told = match end.how {
            Ending::Evicted => self.describe_work(end, &pod, "evicted"),
            Ending::Deleted => self.describe_work(end, &pod, "deleted"),
            Ending::Drained(node, Leaving::GivenUp) => {
                format!("the drain of {}, whose machine had failed, evicted {pod}", name(node))
            }
            Ending::Drained(node, Leaving::ScaledDown) => format!("the scale-down of {} evicted {pod}", name(node)),
            Ending::Tainted(node) => format!("the NoExecute taint of {} evicted {pod}", name(node)),
            Ending::Collected(node) => {
                format!("the pod garbage collector deleted {pod}, whose node {} no longer existed", name(node))
            }
            Ending::Forced(node) => {
                let told = format!("{pod} was deleted by force, for the drain of node {} had timed out", name(node));
                return match end.refused {
                    Some(time) => format!("{told}: its budget had refused its eviction for {}", text::duration(time)),
                    None => told,
                };
            }
        };
        match (end.refused.filter(|_| end.how == Ending::Deleted), end.counted) {
            (Some(time), _) => format!("{told}, whose budget had refused its eviction for {}", text::duration(time)),
            (None, Some((other, node, loss))) => {
                let how = match loss {
                    Loss::Power => "down",
                    Loss::Network => "cut off",
                };
                let other = other.text(spec);
                format!("{told} while node {} was {how}: its budget still counted {other}, which ran there", name(node))
            }
            (None, None) => told,
        }
    }

    /// `the rollout of etcd-main deleted etcd-main-1`, by what an operator asked for.
    fn describe_work(&self, end: PodEnd, pod: &str, done: &str) -> String {
        let spec = &self.scenario.kube.clusters[end.cluster];
        match end.task {
            None
            | Some(Task::AddHost(_) | Task::RemoveHost(_) | Task::PauseRollout(_) | Task::AddNodes(_) | Task::ShiftZone(_)) => {
                format!("{pod} was {done}")
            }
            Some(Task::Deschedule(_)) => format!("the descheduler {done} {pod}"),
            Some(Task::RollComponent(workload) | Task::ResumeRollout(workload)) => {
                format!("the rollout of {} {done} {pod}", spec.workloads[workload].name)
            }
            Some(Task::RollBackComponent(workload)) => {
                format!("the rollback of {} {done} {pod}", spec.workloads[workload].name)
            }
            Some(Task::DrainNode(node)) => {
                format!("the drain of {} {done} {pod}", self.scenario.nodes[spec.nodes[node].node].name)
            }
            Some(Task::ScaleWorkload(scale)) => {
                format!("the scaling of {} {done} {pod}", spec.workloads[scale.workload].name)
            }
            Some(Task::RollMachines(of)) => format!("the roll of {} {done} {pod}", spec.machine_deployments[of].name),
        }
    }

    /// Whether this is the end of the pod of this name.
    pub(super) fn is_end_of(&self, end: PodEnd, name: &str) -> bool {
        end.pod.text(&self.scenario.kube.clusters[end.cluster]) == name
    }
}
