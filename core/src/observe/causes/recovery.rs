//! What came back after an outage, and what had been down.

use super::{Causes, Incident, Outage, after};
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::record::Service;
use crate::scenario::units::Bandwidth;
use crate::scenario::{ActiveFault, Fault, LbThrottled};

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

    /// The end of a fault, in words; `None`: it mended nothing, for another of the same kind goes on where it was.
    fn end_of(&self, fault: &ActiveFault, end: Time) -> Option<String> {
        let others = self.going_on(fault, end);
        let Fault::LbThrottled(LbThrottled { balancer, bytes_per_s }) = fault.fault else {
            return others.is_empty().then(|| fault.fault.kind().ended(&self.scenario));
        };
        let left = others.into_iter().filter_map(|other| match other.fault {
            Fault::LbThrottled(LbThrottled { bytes_per_s, .. }) => Some(bytes_per_s),
            _ => None,
        });
        // The tightest throttle decides.
        match left.min() {
            None => Some(fault.fault.kind().ended(&self.scenario)),
            Some(left) if left > bytes_per_s => {
                let (name, [left, before]) =
                    (&self.scenario.load_balancers[balancer].name, [left, bytes_per_s].map(Bandwidth::from_bytes_per_s));
                Some(format!("load balancer {name} is throttled to {left}, no longer to {before}"))
            }
            Some(_) => None,
        }
    }

    /// Other faults of the same kind, where this one was, that are not over when it ends.
    fn going_on(&self, fault: &ActiveFault, end: Time) -> Vec<&ActiveFault> {
        let is_alike = |other: &ActiveFault| {
            std::mem::discriminant(&other.fault) == std::mem::discriminant(&fault.fault)
                && other.fault.kind().hits() == fault.fault.kind().hits()
        };
        let goes_on = |other: &ActiveFault, to: Option<Time>| {
            other.id != fault.id && is_alike(other) && other.from <= end && to.is_none_or(|to| to > end)
        };
        self.faults.iter().filter(|(other, to)| goes_on(other, *to)).map(|(other, _)| other).collect()
    }

    /// What came back, and who was elected.
    pub(super) fn mended(&self, outage: &Outage, lost: Option<MemberId>, clauses: &mut Vec<String>) {
        let end = outage.to.unwrap_or(Time::MAX);
        let during = || self.around(outage).rev().filter(|(at, _)| *at >= outage.from && *at <= end);
        let serves = during().find_map(|(at, h)| if let Incident::Serves(m) = h { Some((at, m)) } else { None });
        let over = self.faults.iter().filter_map(|(f, to)| {
            let to = to.filter(|to| *to > outage.from && *to <= end && self.matters(f, outage))?;
            Some((to, self.end_of(f, to)?))
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
