//! The byte form of what happened in a plane.

use super::Form;
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, NodeFact, PodFact, Ready, Reason};
use crate::kube::rule::taints::Effect;
use crate::kube::rule::zone_state::ZoneState;

impl Form {
    pub(super) fn kube(&mut self, record: &KubeRecord) {
        match *record {
            KubeRecord::Pod(name, fact) => {
                self.u8(0);
                self.pod_name(name);
                self.pod(fact);
            }
            KubeRecord::Node(node, fact) => {
                self.u8(1);
                self.u32(node.0);
                self.node(fact);
            }
            KubeRecord::Zone(zone, state) => {
                self.u8(2);
                self.u16(zone.0);
                self.u8(match state {
                    ZoneState::Normal => 0,
                    ZoneState::PartialDisruption => 1,
                    ZoneState::FullDisruption => 2,
                });
            }
            KubeRecord::EvictionPaused(on) => {
                self.u8(3);
                self.u8(u8::from(on));
            }
        }
    }

    fn pod_name(&mut self, name: PodName) {
        self.u32(name.workload.0);
        self.u32(name.template);
        self.u32(name.suffix);
    }

    fn pod(&mut self, fact: PodFact) {
        match fact {
            PodFact::Created => self.u8(0),
            PodFact::Bound(node) => {
                self.u8(1);
                self.u32(node.0);
            }
            PodFact::Refused(reason) => {
                self.u8(2);
                self.u8(match reason {
                    Reason::Taints => 0,
                    Reason::NodeAffinity => 1,
                    Reason::Resources => 2,
                    Reason::VolumeZone => 3,
                    Reason::Spread => 4,
                });
            }
            PodFact::Started { restarts } => {
                self.u8(3);
                self.u32(restarts);
            }
            PodFact::Ready(ready) => {
                self.u8(4);
                self.u8(u8::from(ready));
            }
            PodFact::Terminating => self.u8(5),
            PodFact::Removed => self.u8(6),
        }
    }

    fn node(&mut self, fact: NodeFact) {
        match fact {
            NodeFact::Ready(ready) => {
                self.u8(0);
                self.u8(match ready {
                    Ready::True => 0,
                    Ready::Unknown => 1,
                });
            }
            NodeFact::Unreachable(effect, on) => {
                self.u8(1);
                self.u8(match effect {
                    Effect::NoSchedule => 0,
                    Effect::PreferNoSchedule => 1,
                    Effect::NoExecute => 2,
                });
                self.u8(u8::from(on));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ids::{NodeKey, PlaneId, WorkloadId, ZoneId};
    use crate::record::Record;

    #[test]
    fn every_fact_has_a_form_of_its_own() {
        let name = |suffix| PodName { workload: WorkloadId(1), template: 2, suffix };
        let reasons = [Reason::Taints, Reason::NodeAffinity, Reason::Resources, Reason::VolumeZone, Reason::Spread];
        let mut pods = vec![PodFact::Created, PodFact::Bound(NodeKey(0)), PodFact::Bound(NodeKey(1))];
        pods.extend(reasons.map(PodFact::Refused));
        pods.extend([PodFact::Started { restarts: 0 }, PodFact::Started { restarts: 1 }]);
        pods.extend([PodFact::Ready(true), PodFact::Ready(false), PodFact::Terminating, PodFact::Removed]);
        let states = [ZoneState::Normal, ZoneState::PartialDisruption, ZoneState::FullDisruption];
        let effects = [Effect::NoSchedule, Effect::PreferNoSchedule, Effect::NoExecute];
        let mut facts: Vec<KubeRecord> = pods.into_iter().map(|fact| KubeRecord::Pod(name(3), fact)).collect();
        facts.push(KubeRecord::Pod(name(4), PodFact::Created));
        facts.extend([Ready::True, Ready::Unknown].map(|ready| KubeRecord::Node(NodeKey(0), NodeFact::Ready(ready))));
        for on in [true, false] {
            facts.extend(effects.map(|effect| KubeRecord::Node(NodeKey(0), NodeFact::Unreachable(effect, on))));
            facts.push(KubeRecord::EvictionPaused(on));
        }
        facts.extend(states.map(|state| KubeRecord::Zone(ZoneId(1), state)));
        let form = |plane: u16, fact: &KubeRecord| {
            let mut form = Form { bytes: smallvec::SmallVec::new() };
            form.record(&Record::Kube(PlaneId(plane), *fact));
            form.bytes.to_vec()
        };
        let forms: BTreeSet<Vec<u8>> = facts.iter().flat_map(|fact| [form(0, fact), form(1, fact)]).collect();
        assert_eq!(forms.len(), 2 * facts.len());
    }
}
