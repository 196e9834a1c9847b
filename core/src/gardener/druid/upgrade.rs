//! A shoot that is to survive more (GEP-20, "Case #2: HA Shoot with Assigned Seed and Updated Failure Tolerance").
//!
//! ```text
//!  asked --admission--> etcd's one pod starts anew, with TLS between peers (no etcd meanwhile) --> three pods are wanted
//!    --> the new ones join as learners, one after the other, and get their votes --> the other components follow
//! ```

use super::{DruidFact, Shoot, ToleranceFact};
use crate::gardener::admission::admit;
use crate::ids::PodId;
use crate::kube::context::Cx;
use crate::kube::record::KubeRecord;
use crate::kube::spec::gardener::ToleranceChange;
use crate::kube::store::Store;

/// How far a change is.
#[derive(Clone, Debug)]
pub(super) struct Upgrade {
    /// A place in [`KubeModel::changes`](crate::kube::spec::KubeModel::changes).
    change: u16,
    step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Admitted,
    /// These pods were told to go; others come in their place.
    Restarts(Vec<PodId>),
    Grows,
    /// All members are there.
    Grown,
    Follows,
}

impl Shoot {
    /// Admission; what follows is other programs' work. (While one change is under way no other is admitted: it is an upgrade from none.)
    pub(super) fn ask(&mut self, change: u16, cx: &mut Cx<'_>) {
        let ToleranceChange { shoot, to, .. } = cx.scenario.kube.changes[change as usize];
        if let Err(denial) = admit(self.tolerance, to, self.multi_zonal) {
            return cx.record(KubeRecord::Tolerance(shoot, ToleranceFact::Denied(to, denial)));
        }
        cx.record(KubeRecord::Tolerance(shoot, ToleranceFact::Admitted(to)));
        if self.tolerance != to {
            self.upgrade = Some(Upgrade { change, step: Step::Admitted });
        }
        self.tolerance = to;
    }

    /// What druid does about it; whether gardenlet is to go on.
    pub(super) fn upgrade_etcd(&mut self, store: &mut Store, cx: &mut Cx<'_>) -> bool {
        let Some(Upgrade { change, step }) = self.upgrade.as_mut() else { return false };
        let change = &cx.scenario.kube.changes[*change as usize];
        let serve = |store: &Store, cx: &Cx<'_>| {
            self.sets.iter().all(|set| {
                let ready = |pod: &super::Seen| pod.settled && store.named(pod.name).is_some_and(|pod| pod.ready);
                Self::pods(*set, store, cx).iter().all(ready)
            })
        };
        match step {
            Step::Admitted => {
                let mut old = Vec::new();
                for set in &self.sets {
                    cx.record(KubeRecord::Druid(*set, DruidFact::Restarts));
                    let pods: Vec<PodId> = store.pods_of(*set).map(|(id, _)| id).collect();
                    for id in pods {
                        store.terminate(id, cx);
                        old.push(id);
                    }
                }
                *step = Step::Restarts(old);
            }
            Step::Restarts(old) if old.iter().all(|id| store.pod(*id).is_none()) && serve(store, cx) => {
                for set in &self.sets {
                    let place = self.workloads.iter().position(|id| id == set).expect("etcd is one of its components");
                    cx.record(KubeRecord::Druid(*set, DruidFact::Grows(change.workloads[place].replicas)));
                    store.set_template(*set, change.workloads[place].clone());
                }
                *step = Step::Grows;
            }
            Step::Grows if serve(store, cx) => *step = Step::Grown,
            Step::Restarts(_) | Step::Grows | Step::Grown | Step::Follows => {}
        }
        *step == Step::Grown
    }

    /// What gardenlet does about it: the other components, when etcd is there.
    pub(super) fn follow(&mut self, shoot: u32, store: &mut Store, cx: &mut Cx<'_>) {
        let Some(Upgrade { change, step }) = self.upgrade.as_mut() else { return };
        let ToleranceChange { to, workloads, .. } = &cx.scenario.kube.changes[*change as usize];
        match step {
            Step::Grown => {
                cx.record(KubeRecord::Tolerance(shoot as u16, ToleranceFact::Follows(*to)));
                for (id, template) in self.workloads.iter().zip(workloads).filter(|(id, _)| !self.sets.contains(id)) {
                    store.set_template(*id, template.clone());
                }
                *step = Step::Follows;
            }
            Step::Follows if self.workloads.iter().all(|id| store.is_complete(*id)) => {
                cx.record(KubeRecord::Tolerance(shoot as u16, ToleranceFact::Done(*to)));
                self.upgrade = None;
            }
            Step::Admitted | Step::Restarts(_) | Step::Grows | Step::Follows => {}
        }
    }
}
