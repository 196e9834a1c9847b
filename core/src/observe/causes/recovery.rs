//! What came back after an outage, and what had been down.

use super::{Causes, Incident, Outage, after};
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::record::Service;
use crate::scenario::ActiveFault;

impl Causes {
    /// Whether a majority was gone, and how many voters.
    pub(super) fn quorum(&self, outage: &Outage, clauses: &mut Vec<String>) {
        let during = || self.around(outage).filter(|(at, _)| *at >= outage.from);
        let lost = during().any(|(_, h)| matches!(h, Incident::QuorumLost));
        let down = during().filter_map(|(_, h)| if let Incident::Down(n, of) = h { Some((n, of)) } else { None }).max();
        if matches!(outage.service, Service::Write | Service::ReadLinearizable) && lost {
            clauses.push("quorum lost".to_owned());
        }
        let counts = outage.service == Service::Quorum || lost;
        if let Some((n, of)) = down.filter(|(n, _)| counts && *n > 0) {
            clauses.push(format!("{n} of {of} voters down"));
        }
    }

    /// Whether another fault of the same kind, where this one was, is not over when it ends.
    fn goes_on(&self, fault: &ActiveFault, end: Time) -> bool {
        let is_alike = |other: &ActiveFault| {
            std::mem::discriminant(&other.fault) == std::mem::discriminant(&fault.fault)
                && other.fault.kind().hits() == fault.fault.kind().hits()
        };
        self.faults
            .iter()
            .any(|(other, to)| other.id != fault.id && is_alike(other) && other.from <= end && to.is_none_or(|to| to > end))
    }

    /// What came back, and who was elected.
    pub(super) fn mended(&self, outage: &Outage, lost: Option<MemberId>, clauses: &mut Vec<String>) {
        let end = outage.to.unwrap_or(Time::MAX);
        let during = || self.around(outage).rev().filter(|(at, _)| *at >= outage.from && *at <= end);
        let serves = during().find_map(|(at, h)| if let Incident::Serves(m) = h { Some((at, m)) } else { None });
        let over = self.faults.iter().filter_map(|(f, to)| {
            let to = to.filter(|to| *to > outage.from && *to <= end && !self.goes_on(f, *to))?;
            self.matters(f, outage).then(|| (to, f.fault.kind().ended(&self.scenario)))
        });
        let takes_over =
            |member: MemberId| during().any(|(_, incident)| matches!(incident, Incident::TakesOver(_, to, _) if to == member));
        match (serves, over.max_by_key(|(to, _)| *to)) {
            // What was full is full still.
            _ if self.begins_full(outage) && lost.is_none() => {}
            (Some((at, member)), _) => {
                let how = if takes_over(member) { "was restarted as the only member" } else { "is running again" };
                clauses.push(format!("{} {how}{}", self.name(member), after(at, outage)));
            }
            (None, Some((at, over))) => clauses.push(format!("{over}{}", after(at, outage))),
            (None, None) => {}
        }
        clauses.extend(self.disarmed(outage).map(|at| format!("alarm disarmed{}", after(at, outage))));
        // Who leads from the start was not elected.
        let elected = during().find_map(|(at, h)| match h {
            Incident::Elected(member, _) if at > Time::ZERO => Some((at, member)),
            _ => None,
        });
        if let Some((at, member)) = elected.filter(|_| !matches!(outage.service, Service::ReadSerializable | Service::Quorum)) {
            let again = if lost == Some(member) { " again" } else { "" };
            clauses.push(format!("{} elected{again}{}", self.name(member), after(at, outage)));
        }
    }
}
