//! Connections of Services' clients, as the kube-proxy of each client's node spreads them over endpoints.
//!
//! ```text
//!  clients that serve x connections each --kube-proxy of the node: any of its endpoints alike--> load of each endpoint --> queues
//! ```
//!
//! Rates are constant between changes of clients, endpoints and the network, so that all of it is arithmetic. Connections are spread once
//! for all changes of a moment. The kube-proxy of a node that is cut off keeps the endpoints that it knew.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::rollouts::zone_of;
use super::serving::Serving;
use crate::ids::{FaultId, KubeClusterId, ServiceId, ZoneId};
use crate::kernel::time::Time;
use crate::kube::name::{NodeName, PodName};
use crate::kube::record::{KubeRecord, Loss, NodeFact};
use crate::kube::rule::proxy::{Conditions, Endpoint, ProxyNode, Service, TrafficPolicy, categorize};
use crate::kube::rule::traffic_distribution::{self, Hints};
use crate::kube::spec::KubeClusterSpec;
use crate::observe::cost::size;
use crate::record::Record;
use crate::report::{ServiceTrafficReport, ZoneFlowReport};
use crate::scenario::prices::PriceKind;
use crate::scenario::{Fault, FaultTarget, LinkDegraded, LinkPartition, NodePartition, Path, Place, Scenario, ZonePartition};

/// Seconds of a month of 730 hours.
const MONTH_S: f64 = 730.0 * 3_600.0;

/// Follows the Services of which the scenario says what their clients do.
#[derive(Clone, Debug)]
pub struct Flows {
    /// Shared with clones as long as neither changes them.
    flows: Arc<BTreeMap<(KubeClusterId, ServiceId), Flow>>,
    /// Faults that may block a path now, or slow it down.
    cuts: Vec<(FaultId, Fault)>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    listed: BTreeMap<PodName, Load>,
    /// Endpoints that nodes know which are cut off.
    known: BTreeMap<NodeName, Vec<PodName>>,
    since: Time,
    /// Clients, endpoints or the network have changed at `since`: the rates are of before.
    stale: bool,
    /// Connections per second that find no endpoint, that find one which does not answer, and by the zones of client and endpoint.
    refused_per_s: f64,
    failed_per_s: f64,
    zones_per_s: BTreeMap<(ZoneId, ZoneId), Served>,
    /// The same in all.
    refused: f64,
    failed: f64,
    zones: BTreeMap<(ZoneId, ZoneId), Served>,
    /// The greatest load of an endpoint, as a multiple of an even share: now, and ever.
    load: f64,
    greatest_load: f64,
    overloaded_s: f64,
    longest_queue: f64,
}

/// Connections that were served.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    connections: f64,
    /// Time that a packet takes to the endpoint and back, summed over them, in seconds.
    round_trips_s: f64,
}

impl Served {
    fn add(&mut self, more: Self, times: f64) {
        self.connections += more.connections * times;
        self.round_trips_s += more.round_trips_s * times;
    }

    fn round_trip_ms(self) -> Option<f64> {
        (self.connections > 0.0).then(|| 1e3 * self.round_trips_s / self.connections)
    }
}

/// An endpoint's connections.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    per_s: f64,
    queued: f64,
}

impl Flows {
    /// All of them, of which none has been looked at yet.
    pub fn new(scenario: &Scenario) -> Self {
        let mut flows = BTreeMap::new();
        for (cluster, spec) in scenario.kube.clusters.iter_enumerated() {
            let followed = spec.services.iter_enumerated().filter(|(_, service)| service.traffic.is_some());
            flows.extend(followed.map(|(service, _)| ((cluster, service), Flow::default())));
        }
        Self { flows: Arc::new(flows), cuts: Vec::new() }
    }

    /// Takes account of the time up to `at`, before `serving` learns what happens then.
    pub fn pass(&mut self, at: Time, serving: &Serving, scenario: &Scenario) {
        if self.flows.values().any(|flow| flow.since < at) {
            for ((cluster, id), flow) in Arc::make_mut(&mut self.flows) {
                flow.pass(at, *cluster, *id, &self.cuts, serving, scenario);
            }
        }
    }

    /// Takes note of a fault that begins or ends.
    pub fn fault(&mut self, record: &Record) {
        match record {
            Record::FaultStarted(active) => self.cuts.push((active.id, active.fault.clone())),
            Record::FaultEnded(ended) => self.cuts.retain(|(id, _)| id != ended),
            _ => return,
        }
        if !self.flows.is_empty() {
            for flow in Arc::make_mut(&mut self.flows).values_mut() {
                flow.stale = true;
            }
        }
    }

    /// Takes note of a record.
    pub fn record(&mut self, cluster: KubeClusterId, record: &KubeRecord, scenario: &Scenario) {
        if !self.flows.keys().any(|(of, _)| *of == cluster) {
            return;
        }
        let spec = &scenario.kube.clusters[cluster];
        let changes = |id: ServiceId, flow: &Flow| match record {
            KubeRecord::Pod(pod, _) => {
                let clients = spec.services[id].traffic.as_ref().map(|traffic| &traffic.clients);
                flow.listed.contains_key(pod) || clients.is_some_and(|clients| clients.selects(&spec.workloads[pod.workload]))
            }
            KubeRecord::Node(_, fact) => matches!(fact, NodeFact::Lost(_)),
            KubeRecord::Endpoint { service, .. } => *service == id,
            _ => false,
        };
        if !self.flows.iter().any(|((of, id), flow)| *of == cluster && changes(*id, flow)) {
            return;
        }
        for ((of, id), flow) in Arc::make_mut(&mut self.flows) {
            if *of != cluster || !changes(*id, flow) {
                continue;
            }
            flow.stale = true;
            match *record {
                KubeRecord::Endpoint { pod, listed: true, .. } => drop(flow.listed.insert(pod, Load::default())),
                KubeRecord::Endpoint { pod, listed: false, .. } => drop(flow.listed.remove(&pod)),
                KubeRecord::Node(node, NodeFact::Lost(Some(Loss::Network))) => {
                    flow.known.insert(node, flow.listed.keys().copied().collect());
                }
                KubeRecord::Node(node, NodeFact::Lost(_)) => drop(flow.known.remove(&node)),
                _ => {}
            }
        }
    }

    /// All of it as it stands `now`, in the order of the scenario.
    pub fn rows(&self, now: Time, serving: &Serving, scenario: &Scenario) -> Vec<ServiceTrafficReport> {
        let row = |((cluster, id), flow): (&(KubeClusterId, ServiceId), &Flow)| {
            let mut flow = flow.clone();
            flow.pass(now, *cluster, *id, &self.cuts, serving, scenario);
            flow.row(*cluster, *id, now, scenario)
        };
        self.flows.iter().map(row).collect()
    }
}

impl Flow {
    /// Takes account of the time up to `now`.
    fn pass(
        &mut self,
        now: Time,
        cluster: KubeClusterId,
        id: ServiceId,
        cuts: &[(FaultId, Fault)],
        serving: &Serving,
        scenario: &Scenario,
    ) {
        let passed_s = now.since(std::mem::replace(&mut self.since, now)).as_nanos() as f64 / 1e9;
        if passed_s <= 0.0 {
            return;
        }
        let traffic = scenario.kube.clusters[cluster].services[id].traffic.as_ref().expect("it is followed because it has some");
        if std::mem::take(&mut self.stale) {
            self.spread(cluster, id, cuts, serving, scenario);
        }
        self.greatest_load = self.greatest_load.max(self.load);
        self.refused += self.refused_per_s * passed_s;
        self.failed += self.failed_per_s * passed_s;
        for (zones, per_s) in &self.zones_per_s {
            self.zones.entry(*zones).or_default().add(*per_s, passed_s);
        }
        let Some(capacity) = traffic.capacity_per_s else { return };
        let mut overloaded = false;
        for load in self.listed.values_mut() {
            overloaded |= load.per_s > capacity;
            load.queued = (load.queued + (load.per_s - capacity) * passed_s).max(0.0);
            self.longest_queue = self.longest_queue.max(load.queued);
        }
        self.overloaded_s += if overloaded { passed_s } else { 0.0 };
    }

    /// Spreads the connections of each client over the endpoints that the kube-proxy of its node uses.
    fn spread(
        &mut self,
        cluster: KubeClusterId,
        id: ServiceId,
        cuts: &[(FaultId, Fault)],
        serving: &Serving,
        scenario: &Scenario,
    ) {
        let spec = &scenario.kube.clusters[cluster];
        let service = &spec.services[id];
        let traffic = service.traffic.as_ref().expect("it is followed because it has some");
        let zone = |node| zone_of(node, spec, scenario);
        let endpoint = |pod: PodName| {
            // An endpoint whose pod has no node any more is reached nowhere.
            let node = serving.node_of(cluster, pod)?;
            let hints = hints(service.distribution, node, zone(node));
            let conditions = Conditions { ready: true, serving: true, terminating: false };
            Some((pod, node, Endpoint { conditions, local: false, zone_hints: hints.zones, node_hints: hints.nodes }))
        };
        let places = |pods: &mut dyn Iterator<Item = PodName>| -> (Vec<_>, Vec<_>) {
            pods.filter_map(endpoint).map(|(pod, node, endpoint)| ((pod, node), endpoint)).unzip()
        };
        let mut listed = places(&mut self.listed.keys().copied());
        let clients = spec.workloads.iter_enumerated().filter(|(_, workload)| traffic.clients.selects(workload));
        let mut per_node: BTreeMap<NodeName, u32> = BTreeMap::new();
        for node in clients.flat_map(|(workload, _)| serving.nodes_of_running(cluster, workload)) {
            *per_node.entry(node).or_default() += 1;
        }
        self.listed.values_mut().for_each(|load| load.per_s = 0.0);
        (self.refused_per_s, self.failed_per_s, self.zones_per_s) = (0.0, 0.0, BTreeMap::new());
        let mut all = 0.0;
        for (node, count) in per_node {
            let opened = f64::from(count) * traffic.per_s;
            let mut known = self.known.get(&node).map(|pods| places(&mut pods.iter().copied()));
            let (places, endpoints) = known.as_mut().unwrap_or(&mut listed);
            endpoints.iter_mut().zip(&*places).for_each(|(endpoint, (_, own))| endpoint.local = *own == node);
            let proxy = ProxyNode { node, zone: Some(zone(node)), prefers_same_node: true };
            let used = categorize(&proxy, Service { internal: service.policy, external: None }, endpoints);
            let used = if service.policy == TrafficPolicy::Local { used.local } else { used.cluster }.unwrap_or_default();
            if used.is_empty() {
                self.refused_per_s += opened;
                continue;
            }
            all += opened;
            let share = opened / used.len() as f64;
            for place in used {
                let (pod, to) = places[place];
                let is_cut = |(_, fault): &(FaultId, Fault)| cuts_off(fault, node, to, spec, scenario);
                if !serving.runs(cluster, pod) || cuts.iter().any(is_cut) {
                    self.failed_per_s += share;
                    continue;
                }
                let served = Served { connections: 1.0, round_trips_s: round_trip_s(node, to, cuts, spec, scenario) };
                self.zones_per_s.entry((zone(node), zone(to))).or_default().add(served, share);
                if let Some(load) = self.listed.get_mut(&pod) {
                    load.per_s += share;
                }
            }
        }
        let even = all / listed.0.len().max(1) as f64;
        let greatest = self.listed.values().map(|load| load.per_s).fold(0.0, f64::max);
        self.load = if even > 0.0 { greatest / even } else { 0.0 };
    }

    fn row(self, cluster: KubeClusterId, id: ServiceId, now: Time, scenario: &Scenario) -> ServiceTrafficReport {
        let spec = &scenario.kube.clusters[cluster];
        let service = &spec.services[id];
        let traffic = service.traffic.as_ref().expect("it is followed because it has some");
        let mut all = Served::default();
        self.zones.values().for_each(|served| all.add(*served, 1.0));
        let found = all.connections;
        let crossing = self.zones.iter().filter(|((from, to), _)| from != to).fold(0.0, |sum, (_, own)| sum + own.connections);
        let seconds = now.as_nanos() as f64 / 1e9;
        let per_month = if seconds > 0.0 { MONTH_S / seconds } else { 0.0 };
        let bytes = crossing * traffic.bytes as f64 * per_month;
        let usd = scenario.prices.providers.iter().filter_map(|provider| {
            let out = provider.only(PriceKind::CrossZoneOut)?;
            let both = out.usd + provider.only(PriceKind::CrossZoneIn).map_or(0.0, |price| price.usd);
            Some((provider.name.clone(), bytes / size(out.unit) * both))
        });
        let zone = |zone: ZoneId| scenario.zones[zone].name.clone();
        let flow = |((from, to), served): (&(ZoneId, ZoneId), &Served)| ZoneFlowReport {
            from: zone(*from),
            to: zone(*to),
            connections: served.connections,
            round_trip_ms: served.round_trip_ms(),
        };
        ServiceTrafficReport {
            cluster: spec.name.clone(),
            service: service.name.clone(),
            connections: found + self.refused + self.failed,
            refused: self.refused,
            failed: self.failed,
            cross_zone_percent: if found > 0.0 { 100.0 * crossing / found } else { 0.0 },
            round_trip_ms: all.round_trip_ms(),
            zones: self.zones.iter().map(flow).collect(),
            cross_zone_gb_per_month: bytes / 1e9,
            usd_per_month: usd.collect::<IndexMap<_, _>>(),
            greatest_load: self.greatest_load,
            overloaded_s: self.overloaded_s,
            longest_queue: self.longest_queue,
        }
    }
}

/// Hints that an endpoint on a node has.
fn hints(
    distribution: Option<traffic_distribution::TrafficDistribution>,
    node: NodeName,
    zone: ZoneId,
) -> Hints<ZoneId, NodeName> {
    let none = Hints { zones: Vec::new(), nodes: Vec::new() };
    let endpoint = traffic_distribution::Endpoint { node: Some(node), zone: Some(zone), ready: true, hints: none };
    traffic_distribution::hints(distribution, &endpoint)
}

/// Typical time that a packet takes from a node to another and back, without those that are lost, in seconds.
fn round_trip_s(a: NodeName, b: NodeName, faults: &[(FaultId, Fault)], spec: &KubeClusterSpec, scenario: &Scenario) -> f64 {
    let [from, to] = [a, b].map(|node| zone_of(node, spec, scenario));
    let between = |from: ZoneId, to: ZoneId| usize::from(from.0) * scenario.zones.len() + usize::from(to.0);
    let network = &scenario.network;
    let path = |from, to| if a == b { &network.same_host } else { &network.paths[between(from, to)] };
    let slower = faults.iter().filter_map(|(_, fault)| match fault {
        Fault::LinkDegraded(link) if a != b && [(from, to), (to, from)].contains(&(link.a, link.b)) => Some(link.change.delay),
        _ => None,
    });
    let slower = slower.map(|delay| 2.0 * delay.as_secs_f64()).sum::<f64>();
    let one_way = |path: &Path| (path.delay + path.jitter.typical()).as_secs_f64();
    one_way(path(from, to)) + one_way(path(to, from)) + slower
}

/// Whether a fault keeps packets from passing between two nodes, there or back: a connection needs both.
fn cuts_off(fault: &Fault, a: NodeName, b: NodeName, spec: &KubeClusterSpec, scenario: &Scenario) -> bool {
    let zone = |node| zone_of(node, spec, scenario);
    let is_at = |node: NodeName, place: Place| match place {
        Place::Zone(of) => zone(node) == of,
        Place::Node(of) => matches!(node, NodeName::Given(key) if spec.nodes[key].node == of),
    };
    let joins = |one: Place, other: Place| is_at(a, one) && is_at(b, other) || is_at(a, other) && is_at(b, one);
    a != b
        && match *fault {
            Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(of), .. }) => (zone(a) == of) != (zone(b) == of),
            Fault::NodePartition(NodePartition { node: FaultTarget::Named(of), .. }) => {
                [a, b].iter().any(|node| is_at(*node, Place::Node(of)))
            }
            Fault::LinkPartition(LinkPartition { a: one, b: other }) => joins(one, other),
            Fault::LinkDegraded(LinkDegraded { a: one, b: other, change }) => {
                change.loss >= 1.0 && joins(Place::Zone(one), Place::Zone(other))
            }
            _ => false,
        }
}
