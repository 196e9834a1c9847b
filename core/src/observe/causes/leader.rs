//! What became of the leader in an outage.

use super::compose::Clause;
use super::{Causes, Incident, Outage, after};
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::record::{StepDownReason, StopReason};
use crate::scenario::{Fault, FaultTarget, GracefulStop, Hit, Impact};

impl Causes {
    /// What became of the leader: said in the clause that tells what hit it, where there is one, or in one of its own.
    pub(super) fn fate(
        &self,
        at: Time,
        leader: MemberId,
        how: Incident,
        outage: &Outage,
        broken: &mut [Clause],
    ) -> Option<String> {
        let hit = broken.iter_mut().find(|clause| clause.about == Some(leader));
        let ended = |(_, incident)| matches!(incident, Incident::PodEnds(end) if self.is_end_of(end, self.name(leader)));
        let told_to_stop = || {
            let stop = Fault::GracefulStop(GracefulStop(FaultTarget::Named(leader)));
            self.faults.iter().any(|(f, _)| f.fault == stop) || self.around(outage).any(ended)
        };
        // What happened to it, and whether what hit it says so already.
        let (fate, implied) = match how {
            Incident::LeaderGone(_, StopReason::Removed) => {
                (format!("{} stopped{}", self.name(leader), after(at, outage)), false)
            }
            Incident::LeaderGone(..) => (format!("gone{}", after(at, outage)), true),
            Incident::SteppedDown(_, StepDownReason::QuorumInactive) => {
                (format!("stepped down{} (no majority answered)", after(at, outage)), false)
            }
            Incident::SteppedDown(_, StepDownReason::HigherTerm) if told_to_stop() => {
                ("transferred leadership".to_owned(), false)
            }
            Incident::SteppedDown(_, StepDownReason::HigherTerm) => {
                (format!("stepped down{} (it received a higher term)", after(at, outage)), false)
            }
            Incident::SteppedDown(_, StepDownReason::Removed) => (format!("stepped down{}", after(at, outage)), true),
            Incident::Deposed(_) => {
                let by = self.clusters[outage.cluster].leader;
                (format!("replaced by {}", by.map_or("another", |by| self.name(by))), false)
            }
            _ if self.cut_off(leader, outage) => ("unreachable".to_owned(), true),
            _ => ("sent no heartbeat in time".to_owned(), false),
        };
        let Some(hit) = hit else {
            let name = format!("{} ", self.name(leader));
            return Some(format!("leader {name}{}", fate.strip_prefix(&name).unwrap_or(&fate)));
        };
        hit.text.insert_str(0, "leader ");
        (!implied).then_some(fate)
    }

    /// Whether a member's node or zone was cut off while the outage lasted.
    fn cut_off(&self, member: MemberId, outage: &Outage) -> bool {
        let node = self.scenario.member(member).node;
        let zone = self.clusters[member.cluster].zones[member.index as usize];
        self.faults.iter().any(|(fault, to)| {
            let under_way = to.is_none_or(|to| to > outage.from) && outage.to.is_none_or(|end| fault.from <= end);
            let hits = |hit: &Hit| [Hit::Node(FaultTarget::Named(node)), Hit::Zone(FaultTarget::Named(zone))].contains(hit);
            let fault = fault.fault.kind();
            under_way && fault.impact() == Impact::Cuts && fault.hits().iter().any(hits)
        })
    }
}
