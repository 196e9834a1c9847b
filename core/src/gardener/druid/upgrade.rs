//! A shoot that is to survive more (GEP-20, "Case #2: HA Shoot with Assigned Seed and Updated Failure Tolerance").
//!
//! ```text
//!  asked --admission--> etcd's one pod starts anew, with TLS between peers (no etcd meanwhile) --> three pods are wanted
//!    --> the new ones join as learners, one after the other, and get their votes --> the other components follow
//! ```

use super::{DruidFact, Shoot, ToleranceFact};
use crate::gardener::admission::admit;
use crate::kube::context::Cx;
use crate::kube::record::KubeRecord;
use crate::kube::spec::Kind;
use crate::kube::spec::gardener::ToleranceChange;
use crate::kube::store::Store;

/// How far a change is.
#[derive(Clone, Debug)]
pub(super) struct Upgrade {
    /// A place in [`KubeModel::changes`](crate::kube::spec::KubeModel::changes).
    change: u16,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Admitted,
    /// Its pod is replaced by one that talks TLS.
    Restarts,
    /// More pods are wanted, which join.
    Grows,
    /// All members are there.
    Grown,
    /// The other components change.
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
                !store.is_rolling(*set) && Self::pods(*set, store, cx).iter().all(ready)
            })
        };
        match step {
            Step::Admitted => {
                for set in &self.sets {
                    cx.record(KubeRecord::Druid(*set, DruidFact::Restarts));
                    store.roll(*set, cx);
                }
                *step = Step::Restarts;
            }
            Step::Restarts if serve(store, cx) => {
                for set in &self.sets {
                    let place = self.workloads.iter().position(|id| id == set).expect("etcd is one of its components");
                    cx.record(KubeRecord::Druid(*set, DruidFact::Grows(change.workloads[place].replicas)));
                    store.set_template(*set, change.workloads[place].clone());
                }
                *step = Step::Grows;
            }
            Step::Grows if serve(store, cx) => *step = Step::Grown,
            Step::Restarts | Step::Grows | Step::Grown | Step::Follows => {}
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
                    // Where they may run is part of what pods are made with: those that are there are replaced.
                    let now = store.template(*id, cx.spec);
                    let differs = (&now.spread, &now.prefers, &now.pod_affinity)
                        != (&template.spread, &template.prefers, &template.pod_affinity);
                    store.set_template(*id, template.clone());
                    if differs && template.kind != Kind::DaemonSet {
                        store.roll(*id, cx);
                    }
                }
                *step = Step::Follows;
            }
            Step::Follows if self.workloads.iter().all(|id| store.is_complete(*id) && !store.is_rolling(*id)) => {
                cx.record(KubeRecord::Tolerance(shoot as u16, ToleranceFact::Done(*to)));
                self.upgrade = None;
            }
            Step::Admitted | Step::Restarts | Step::Grows | Step::Follows => {}
        }
    }
}
