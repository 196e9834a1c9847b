//! What the load balancer in front of an API has to do with an outage of it: availability is what new clients get through it.

use std::collections::BTreeMap;

use super::{BEFORE, Causes, Outage};
use crate::access::balancer::health::Health;
use crate::ids::BalancerId;
use crate::kernel::time::Time;
use crate::scenario::{ActiveFault, Hit, text};

/// By load balancer, node of it and target: each interval in which the node found the target unhealthy. All are kept, because causes are
/// composed when an outage is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Unhealthy(BTreeMap<(BalancerId, u16, u32), Vec<Interval>>);

/// From when to when; `None`: until now.
type Interval = (Time, Option<Time>);

impl Unhealthy {
    /// A node has found a target in another state.
    pub(super) fn set(&mut self, at: Time, key: (BalancerId, u16, u32), health: Health) {
        if health == Health::Unhealthy {
            self.0.entry(key).or_default().push((at, None));
        } else if let Some((_, to)) = self.0.get_mut(&key).and_then(|spans| spans.last_mut()) {
            *to = to.or(Some(at));
        }
    }

    /// A target is new, or none any more.
    pub(super) fn forget(&mut self, at: Time, balancer: BalancerId, target: u32) {
        let of = self.0.iter_mut().filter(|((own, _, key), _)| (*own, *key) == (balancer, target));
        of.filter_map(|(_, spans)| spans.last_mut()).for_each(|(_, to)| *to = to.or(Some(at)));
    }

    /// Targets that some node of a load balancer found unhealthy at a time.
    fn at(&self, at: Time, balancer: BalancerId) -> Vec<u32> {
        let covers = |(from, to): &Interval| *from <= at && to.is_none_or(|to| at < to);
        let found = self.0.iter().filter(|((of, ..), spans)| *of == balancer && spans.iter().any(covers));
        let mut targets: Vec<u32> = found.map(|((.., target), _)| *target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

/// The part that a load balancer has in an outage.
#[derive(Debug)]
pub(super) struct BalancerPart {
    /// It, in words.
    pub(super) text: String,
    /// It explains the outage.
    pub(super) explains: bool,
}

impl Causes {
    /// The load balancer in front of an API.
    fn balancer_of(&self, outage: &Outage) -> Option<BalancerId> {
        Some(self.scenario.kube.clusters[outage.api?].access?.balancer)
    }

    /// Whether a fault is one of the load balancer in front of an API.
    pub(super) fn hits_balancer(&self, fault: &ActiveFault, outage: &Outage) -> bool {
        let hit = self.balancer_of(outage).map(Hit::Balancer);
        hit.is_some_and(|hit| fault.fault.kind().hits().contains(&hit))
    }

    /// What the load balancer in front of an API did, where no fault of its own is named; `lost`: servers did not serve.
    pub(super) fn balancer_part(&self, outage: &Outage, lost: bool) -> Option<BalancerPart> {
        let (cluster, id) = (outage.api?, self.balancer_of(outage)?);
        let is_near = |fault: &ActiveFault, to: Option<Time>| {
            fault.from <= outage.to.unwrap_or(Time::MAX) && to.is_none_or(|to| to + BEFORE >= outage.from)
        };
        if self.faults.iter().any(|(fault, to)| is_near(fault, *to) && self.hits_balancer(fault, outage)) {
            return None;
        }
        let (name, hosts) = (&self.scenario.load_balancers[id].name, &self.scenario.kube.clusters[cluster].control_plane);
        let unhealthy = self.unhealthy.at(outage.from, id).into_iter();
        let unhealthy: Vec<&str> = unhealthy.map(|key| &*self.scenario.nodes[hosts[key as usize]].name).collect();
        Some(match &unhealthy[..] {
            [] if lost => BalancerPart { text: format!("load balancer {name} sends new clients there"), explains: false },
            [] => BalancerPart { text: format!("new clients come through load balancer {name}"), explains: false },
            hosts => {
                let s = if hosts.len() == 1 { "" } else { "s" };
                let text = format!("load balancer {name} finds API server{s} {} unhealthy", text::list(hosts));
                BalancerPart { text, explains: true }
            }
        })
    }
}
