//! What the load balancer in front of an API has to do with an outage of it: availability is what new clients get through it.

use std::collections::BTreeMap;

use super::{BEFORE, Causes, Outage, after};
use crate::access::balancer::health::Health;
use crate::ids::{BalancerId, KubeClusterId};
use crate::kernel::time::{Duration, Time};
use crate::kube::spec::balancers::has_clients;
use crate::scenario::access::LoadBalancer;
use crate::scenario::units::Bandwidth;
use crate::scenario::{ActiveFault, Fault, Hit, LbDown, LbPartition, LbRemoved, Place, Scenario, text};

/// What waits at a load balancer after it was throttled is gone after this time at most, as far as causes are told.
pub(super) const BACKLOG: Duration = Duration::from_secs(600);

/// By load balancer, node of it and target: each interval in which the node did not find the target healthy. All are kept, because causes are
/// composed when an outage is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Unhealthy(BTreeMap<(BalancerId, u16, u32), Vec<Interval>>);

/// From when to when; `None`: until now.
type Interval = (Time, Option<Time>, Why);

/// Why a node does not send clients to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Its checks failed.
    Unhealthy,
    /// It is new, and its first checks are not over.
    New,
}

impl Unhealthy {
    /// A node has found a target in another state.
    pub(super) fn set(&mut self, at: Time, key: (BalancerId, u16, u32), health: Health) {
        if health == Health::Unhealthy {
            self.end(at, key);
            self.0.entry(key).or_default().push((at, None, Why::Unhealthy));
        } else {
            self.end(at, key);
        }
    }

    fn end(&mut self, at: Time, key: (BalancerId, u16, u32)) {
        if let Some((_, to, _)) = self.0.get_mut(&key).and_then(|spans| spans.last_mut()) {
            *to = to.or(Some(at));
        }
    }

    /// A target is new to all nodes of a load balancer, or none any more.
    pub(super) fn registered(&mut self, at: Time, (balancer, nodes): (BalancerId, u16), target: u32, is_target: bool) {
        for key in (0..nodes).map(|node| (balancer, node, target)) {
            self.end(at, key);
            if is_target {
                self.0.entry(key).or_default().push((at, None, Why::New));
            }
        }
    }

    /// Targets that some node of a load balancer found healthy again at a time.
    fn recovered(&self, at: Time, balancer: BalancerId) -> Vec<u32> {
        self.targets(balancer, None, |(_, to, why)| *to == Some(at) && *why == Why::Unhealthy)
    }

    /// Targets to which a node of a load balancer, or some node, sent no clients at a time, for this reason.
    fn at(&self, at: Time, balancer: BalancerId, why: Why, node: Option<u16>) -> Vec<u32> {
        self.targets(balancer, node, |(from, to, own)| *own == why && *from <= at && to.is_none_or(|to| at < to))
    }

    /// Targets of a load balancer with such an interval, at a node or at any.
    fn targets(&self, balancer: BalancerId, node: Option<u16>, is_such: impl Fn(&Interval) -> bool) -> Vec<u32> {
        let is_of = |of: BalancerId, own: u16| of == balancer && node.is_none_or(|node| node == own);
        let found = self.0.iter().filter(|((of, own, _), spans)| is_of(*of, *own) && spans.iter().any(&is_such));
        let mut targets: Vec<u32> = found.map(|((.., target), _)| *target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }
}

/// When a node reached its connection limit, and when it accepted connections again, if it did.
type Reached = (Time, Option<Time>);

/// By load balancer and node of it: each interval in which the node had reached its connection limit.
#[derive(Clone, Debug, Default)]
pub(super) struct AtLimit(BTreeMap<(BalancerId, u16), Vec<Reached>>);

impl AtLimit {
    /// A node has reached its limit, or accepts connections again.
    pub(super) fn set(&mut self, at: Time, key: (BalancerId, u16), is_reached: bool) {
        let spans = self.0.entry(key).or_default();
        if is_reached {
            spans.push((at, None));
        } else if let Some((_, to)) = spans.last_mut() {
            *to = to.or(Some(at));
        }
    }

    /// Nodes of a load balancer that have such an interval.
    fn nodes(&self, balancer: BalancerId, is_such: impl Fn(&Reached) -> bool) -> Vec<u16> {
        let of = self.0.iter().filter(|((own, _), spans)| *own == balancer && spans.iter().any(&is_such));
        of.map(|((_, node), _)| *node).collect()
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
    /// The load balancer in front of an API; `None` also where requests were late: those are measured at the API servers, behind it.
    fn balancer_of(&self, outage: &Outage) -> Option<BalancerId> {
        if outage.late {
            return None;
        }
        Some(self.scenario.kube.clusters[outage.api?].access?.balancer)
    }

    /// Whether a fault is one of the load balancer in front of an API.
    pub(super) fn hits_balancer(&self, fault: &ActiveFault, outage: &Outage) -> bool {
        let hit = self.balancer_of(outage).map(Hit::Balancer);
        hit.is_some_and(|hit| fault.fault.kind().hits().contains(&hit)) && !self.cuts_off_others(&fault.fault, outage)
    }

    /// Whether a load balancer is cut off from single hosts only, none of which is of the control plane: new clients elsewhere do not notice.
    fn cuts_off_others(&self, fault: &Fault, outage: &Outage) -> bool {
        let Fault::LbPartition(LbPartition { from, .. }) = fault else { return false };
        let Some(spec) = outage.api.map(|api| &self.scenario.kube.clusters[api]) else { return false };
        let is_other = |place: &Place| matches!(place, Place::Node(host) if !spec.control_plane.contains(host));
        !from.is_empty() && from.iter().all(is_other)
    }

    /// What the load balancer in front of an API did, where no fault of its own is named; `lost`: servers did not serve.
    pub(super) fn balancer_part(&self, outage: &Outage, lost: bool) -> Option<BalancerPart> {
        let (cluster, id) = (outage.api?, self.balancer_of(outage)?);
        let hits_until = |until: Time| {
            let is_near =
                |fault: &ActiveFault, to: Option<Time>| fault.from <= until && to.is_none_or(|to| to + BEFORE >= outage.from);
            self.faults.iter().any(|(fault, to)| is_near(fault, *to) && self.hits_balancer(fault, outage))
        };
        let at_limit = self.limit_reached(outage, id);
        if at_limit.is_none() && hits_until(self.begins(outage)) {
            return None;
        }
        // A fault that began during the outage is named, but does not explain its start.
        let only_if_explains = hits_until(outage.to.unwrap_or(Time::MAX));
        let (name, hosts) = (&self.scenario.load_balancers[id].name, &self.scenario.kube.clusters[cluster].control_plane);
        let names = |targets: Vec<u32>| -> Vec<&str> {
            targets.into_iter().map(|key| &*self.scenario.nodes[hosts[key as usize]].name).collect()
        };
        let servers = |names: &[&str]| format!("API server{} {}", if names.len() == 1 { "" } else { "s" }, text::list(names));
        let again = outage.to.and_then(|to| {
            let recovered = names(self.unhealthy.recovered(to, id));
            let what = || format!("load balancer {name} finds {} healthy again{}", servers(&recovered), after(to, outage));
            (!recovered.is_empty()).then(what)
        });
        let new = names(self.unhealthy.at(outage.from, id, Why::New, None));
        let find = |(places, targets): (Vec<u16>, Vec<u32>)| {
            let places: Vec<String> =
                places.into_iter().map(|place| text::node_of_balancer(&*self.scenario, id, place)).collect();
            format!(
                "{} unhealthy{}",
                servers(&names(targets)),
                if places.is_empty() { String::new() } else { format!(" {}", text::list(&places)) }
            )
        };
        let unhealthy: Vec<String> = self.unhealthy_by_node(outage.from, id).into_iter().map(find).collect();
        if let Some(limit) = at_limit {
            let found = if unhealthy.is_empty() { String::new() } else { format!(" (it finds {})", text::list(&unhealthy)) };
            return Some(BalancerPart { text: format!("{limit}{found}"), explains: true });
        }
        let part = match (&unhealthy[..], again) {
            ([], _) if !new.is_empty() => {
                BalancerPart { text: format!("load balancer {name} has not found {} healthy yet", servers(&new)), explains: true }
            }
            ([], Some(text)) => BalancerPart { text, explains: false },
            ([], None) if lost => BalancerPart { text: format!("load balancer {name} sends new clients there"), explains: false },
            ([], None) if targets_nobody(&self.scenario, id, cluster) => {
                BalancerPart { text: format!("load balancer {name} {NO_TARGET}"), explains: true }
            }
            ([], None) => match self.throttled(outage, id).or_else(|| self.queues(cluster, id)) {
                Some(text) => BalancerPart { text, explains: true },
                None => BalancerPart { text: format!("new clients come through load balancer {name}"), explains: false },
            },
            (found, _) => BalancerPart { text: format!("load balancer {name} finds {}", text::list(found)), explains: true },
        };
        Some(part).filter(|part| part.explains || !only_if_explains)
    }

    /// Nodes of a load balancer accept no further connections when an outage begins without a fault of the balancer, or once such faults are
    /// over.
    fn limit_reached(&self, outage: &Outage, id: BalancerId) -> Option<String> {
        let spec = &self.scenario.load_balancers[id];
        let text = at_limit(spec)?;
        let until = outage.to.unwrap_or(Time::MAX);
        let hits = || self.faults.iter().filter(|(fault, _)| fault.from < until && self.hits_balancer(fault, outage));
        let ends = |to: &Option<Time>| to.unwrap_or(Time::MAX);
        let since = hits().map(|(_, to)| ends(to)).max().unwrap_or(Time::ZERO).max(outage.from);
        let is_hit_at_first = hits().any(|(fault, to)| fault.from <= outage.from && outage.from < ends(to));
        let nodes = self.at_limit.nodes(id, |(from, to)| {
            let at_first = !is_hit_at_first && *from <= outage.from && outage.from < ends(to);
            at_first || since < until && *from < until && since < ends(to)
        });
        let places = nodes.iter().map(|place| text::node_of_balancer(&*self.scenario, id, *place));
        match nodes.len() {
            0 => None,
            all if all == spec.nodes() => Some(text),
            _ => Some(format!("{text} {}", text::list(&places.collect::<Vec<_>>()))),
        }
    }

    /// Hosts that had left the control plane before an outage, to which a load balancer still sends clients: it does not update its targets.
    pub(super) fn stale_targets(&self, outage: &Outage) -> Option<String> {
        let (cluster, id) = (outage.api?, self.balancer_of(outage)?);
        let is_under_way =
            |(fault, to): &&(ActiveFault, Option<Time>)| fault.from <= outage.from && to.is_none_or(|to| to > outage.from);
        let under_way = || self.faults.iter().filter(is_under_way).map(|(fault, _)| fault);
        let is_stale = |fault: &&ActiveFault| matches!(&fault.fault, Fault::LbStaleTargets(fault) if fault.0 == id);
        let since = under_way().filter(is_stale).map(|fault| fault.from).min()?;
        if under_way()
            .any(|fault| matches!(fault.fault, Fault::LbDown(LbDown(own)) | Fault::LbRemoved(LbRemoved(own)) if own == id))
        {
            return None;
        }
        // Of those that have left just now is told without that.
        let left = self.work.left(cluster, since, outage.from - BEFORE);
        let names: Vec<&str> = left.map(|host| &*self.scenario.nodes[host].name).collect();
        let name = &self.scenario.load_balancers[id].name;
        let had = || format!("{} had left the control plane, and load balancer {name} sends clients there", text::list(&names));
        (!names.is_empty()).then(had)
    }

    /// Which targets the nodes of a load balancer find unhealthy at a time: nodes that find the same together, and no nodes where all do.
    fn unhealthy_by_node(&self, at: Time, id: BalancerId) -> Vec<(Vec<u16>, Vec<u32>)> {
        let mut found: Vec<(Vec<u16>, Vec<u32>)> = Vec::new();
        for node in 0..self.scenario.load_balancers[id].nodes() as u16 {
            let targets = self.unhealthy.at(at, id, Why::Unhealthy, Some(node));
            match found.iter_mut().find(|(_, known)| *known == targets) {
                Some((nodes, _)) => nodes.push(node),
                None => found.push((vec![node], targets)),
            }
        }
        if let [(nodes, _)] = &mut found[..] {
            nodes.clear();
        }
        found.retain(|(_, targets)| !targets.is_empty());
        found
    }

    /// Responses wait for the bandwidth that a load balancer has without a fault: that of kubelets and components is too little to fill it.
    fn queues(&self, cluster: KubeClusterId, id: BalancerId) -> Option<String> {
        let is_filled = has_clients(&self.scenario.kube.clusters[cluster], id);
        is_filled.then(|| queue(&self.scenario.load_balancers[id])).flatten()
    }

    /// A load balancer was throttled not long before an outage: responses may still wait there.
    fn throttled(&self, outage: &Outage, id: BalancerId) -> Option<String> {
        let is_throttle = |fault: &ActiveFault| matches!(&fault.fault, Fault::LbThrottled(fault) if fault.balancer == id);
        let ended = self.faults.iter().filter(|(fault, _)| is_throttle(fault)).filter_map(|(_, to)| *to);
        let last = ended.filter(|to| *to <= outage.from && outage.from.since(*to) <= BACKLOG).max()?;
        let (name, since) = (&self.scenario.load_balancers[id].name, text::duration(outage.from.since(last)));
        Some(format!("responses wait at load balancer {name}, which was throttled until {since} before"))
    }
}

/// Said of a load balancer that [`targets_nobody`].
pub const NO_TARGET: &str = "has no API server in its zones, and no `cross_zone`";

/// Whether none of a load balancer's nodes has an API server of a cluster to send clients to.
pub fn targets_nobody(scenario: &Scenario, balancer: BalancerId, cluster: KubeClusterId) -> bool {
    let hosts = scenario.kube.clusters[cluster].control_plane.iter();
    scenario.load_balancers[balancer].has_no_target(hosts.map(|host| scenario.nodes[*host].zone))
}

/// Why a load balancer does not accept a client.
pub fn at_limit(balancer: &LoadBalancer) -> Option<String> {
    let limit = balancer.connection_limit?;
    Some(format!("load balancer {} accepts no further connections (its limit is {limit})", balancer.name))
}

/// Why responses wait at a load balancer without a fault.
pub fn queue(balancer: &LoadBalancer) -> Option<String> {
    let bandwidth = Bandwidth::from_bytes_per_s(balancer.bandwidth?);
    Some(format!("responses wait in the queue of load balancer {} ({bandwidth})", balancer.name))
}
