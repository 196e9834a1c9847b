//! Times in which replicated stores have no quorum: no majority of the pods that are wanted serves and replicates with each other. That pods
//! serve is meant in truth, as in the tables of components and Services; and who took the quorum away.

use std::collections::BTreeMap;

use super::super::serving::Serving;
use super::workload::{Loss, Workload};
use super::{EVICTION, MACHINE_DRAIN, Rollouts, SCALING, names, zone_of};
use crate::ids::{KubeClusterId, WorkloadId};
use crate::kernel::time::Time;
use crate::kube::describe::node_name;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{self, PodFact};
use crate::kube::spec::Task;
use crate::report::{StoreLossReport, length, seconds};
use crate::scenario::text;

/// A pod's node, if what runs there serves nobody, and why.
type LostNode = Option<(NodeName, record::Loss)>;

impl Rollouts {
    /// Whether a replicated store has lost its quorum now, and by what `cause`, or has it again. A store of which no pod is wanted loses none.
    pub(super) fn watch_quorum(&mut self, at: Time, cluster: KubeClusterId, id: WorkloadId, cause: impl FnOnce(&Self) -> String) {
        let update = &self.scenario.kube.clusters[cluster].workloads[id].update;
        if !update.quorum {
            return;
        }
        let workload = self.workloads.get_mut(&(cluster, id)).expect("it is followed");
        let is_wanted = workload.is_wanted();
        let answers = is_wanted && workload.ready().answer(update);
        let did = std::mem::replace(&mut workload.answers, answers);
        if answers || !is_wanted {
            workload.losses.iter_mut().for_each(|loss| loss.to = loss.to.or(Some(at)));
        } else if did {
            let loss = Loss { from: at, to: None, cause: cause(self) };
            self.workload(cluster, id).losses.push(loss);
        }
    }

    /// What runs on a node serves nobody, or does again.
    pub(super) fn node_changed(
        &mut self,
        at: Time,
        cluster: KubeClusterId,
        node: NodeName,
        lost: Option<record::Loss>,
        serving: &Serving,
    ) {
        let mut of: BTreeMap<WorkloadId, Vec<PodName>> = BTreeMap::new();
        for (pod, _) in serving.pods_on(cluster, node).filter(|(pod, _)| self.workloads.contains_key(&(cluster, pod.workload))) {
            of.entry(pod.workload).or_default().push(pod);
        }
        for (id, mut pods) in of {
            self.count(at, cluster, id);
            let workload = self.workload(cluster, id);
            pods.retain(|pod| {
                let served = workload.serves(*pod);
                workload.look(*pod, cluster, serving);
                served
            });
            let cause = |all: &Self| {
                let how = if lost == Some(record::Loss::Power) { "lost power" } else { "was cut off" };
                let what =
                    format!("{} {how} with {}", all.place(cluster, node), names(&pods, &all.scenario.kube.clusters[cluster]));
                all.while_others_are_down(what, cluster, id, &pods, serving)
            };
            self.watch_quorum(at, cluster, id, cause);
        }
    }

    /// A node with its zone: `za-1 in za`.
    fn place(&self, cluster: KubeClusterId, node: NodeName) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let zone = &self.scenario.zones[zone_of(node, spec, &self.scenario)].name;
        format!("{} in {zone}", node_name(node, spec, &self.scenario))
    }

    /// What a fact of a pod says of a quorum that is lost with it.
    pub(super) fn pod_cause(&self, at: Time, cluster: KubeClusterId, name: PodName, fact: PodFact, serving: &Serving) -> String {
        let (spec, workload) = (&self.scenario.kube.clusters[cluster], &self.workloads[&(cluster, name.workload)]);
        let end = workload.ends.last().filter(|batch| batch.at == at && fact == PodFact::Terminating);
        let gone = end.map_or_else(|| vec![name], |batch| batch.pods.iter().map(|(pod, _)| *pod).collect());
        let pods = names(&gone, spec);
        let what = match end.map(|batch| batch.by) {
            Some(EVICTION) => self.evictions(cluster, &gone, serving),
            Some(MACHINE_DRAIN) => format!("a drain that had timed out deleted {pods} by force"),
            Some(SCALING) => format!("the scaling to {} deleted {pods}", workload.wanted()),
            Some(by) => format!("{by} deleted {pods}"),
            None => format!("{pods} was not ready any more"),
        };
        self.while_others_are_down(what, cluster, name.workload, &gone, serving)
    }

    /// Which pods were evicted for what an operator had asked for: `the drain of za-1 evicted db-1 and db-2`.
    fn evictions(&self, cluster: KubeClusterId, pods: &[PodName], serving: &Serving) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let mut evicted: Vec<(Option<Task>, Vec<PodName>)> = Vec::new();
        for pod in pods {
            let task = serving.node_of(cluster, *pod).and_then(|node| self.task(cluster, node));
            match evicted.iter_mut().find(|(of, _)| *of == task) {
                Some((_, pods)) => pods.push(*pod),
                None => evicted.push((task, vec![*pod])),
            }
        }
        let words = evicted.iter().map(|(task, pods)| {
            let pods = names(pods, spec);
            match *task {
                Some(Task::DrainNode(key)) => {
                    format!("the drain of {} evicted {pods}", node_name(NodeName::Given(key), spec, &self.scenario))
                }
                Some(Task::RollMachines(of)) => format!("the roll of {} evicted {pods}", spec.machine_deployments[of].name),
                Some(Task::Deschedule(_)) => format!("the descheduler evicted {pods}"),
                _ => format!("eviction deleted {pods}"),
            }
        });
        text::list(&words.collect::<Vec<_>>())
    }

    /// The latest task that may have evicted a pod of a node.
    fn task(&self, cluster: KubeClusterId, node: NodeName) -> Option<Task> {
        let spec = &self.scenario.kube.clusters[cluster];
        let deployment = match node {
            NodeName::Given(key) => spec.nodes[key].machine.map(|machine| machine.deployment),
            NodeName::Machine(machine) => Some(machine.deployment),
        };
        let concerns = |task: &Task| match *task {
            Task::DrainNode(key) => node == NodeName::Given(key),
            Task::RollMachines(of) => deployment == Some(of),
            _ => true,
        };
        self.tasks.iter().rev().filter(|(of, _)| *of == cluster).map(|(_, task)| *task).find(concerns)
    }

    /// `what`, and which pods wanted did not serve besides these: ` while db-1 was not ready`.
    pub(super) fn while_others_are_down(
        &self,
        what: String,
        cluster: KubeClusterId,
        id: WorkloadId,
        gone: &[PodName],
        serving: &Serving,
    ) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let mut others: Vec<(LostNode, Vec<PodName>)> = Vec::new();
        for pod in self.workloads[&(cluster, id)].missed(id).into_iter().filter(|pod| !gone.contains(pod)) {
            let lost = serving.lost_node(cluster, pod);
            match others.iter_mut().find(|(of, _)| *of == lost) {
                Some((_, pods)) => pods.push(pod),
                None => others.push((lost, vec![pod])),
            }
        }
        let were = |(lost, pods): &(LostNode, Vec<PodName>)| {
            let (were, pods) = (if pods.len() == 1 { "was" } else { "were" }, names(pods, spec));
            match *lost {
                None => format!("{pods} {were} not ready"),
                Some((node, record::Loss::Power)) => format!("{pods} {were} without power on {}", self.place(cluster, node)),
                Some((node, record::Loss::Network)) => format!("{pods} {were} cut off on {}", self.place(cluster, node)),
            }
        };
        let others: Vec<String> = others.iter().map(were).collect();
        if others.is_empty() { what } else { format!("{what} while {}", text::list(&others)) }
    }

    /// Times without quorum of all replicated stores, in order, as they stand `now`.
    pub fn quorum_losses(&self, now: Time) -> Vec<StoreLossReport> {
        let of = |((cluster, id), workload): (&(KubeClusterId, WorkloadId), &Workload)| {
            let spec = &self.scenario.kube.clusters[*cluster];
            let row = |loss: &Loss| StoreLossReport {
                cluster: spec.name.clone(),
                workload: spec.workloads[*id].name.clone(),
                from_s: seconds(loss.from),
                duration_s: length(loss.to.unwrap_or(now).since(loss.from)),
                cause: loss.cause.clone(),
            };
            workload.losses.iter().map(|loss| (loss.from, row(loss))).collect::<Vec<_>>()
        };
        let mut all: Vec<(Time, StoreLossReport)> = self.workloads.iter().flat_map(of).collect();
        all.sort_by_key(|(from, _)| *from);
        all.into_iter().map(|(_, row)| row).collect()
    }
}
