//! What runs costs: meters in exact integers, and what books of prices make of them when a report is asked for.
//!
//! ```text
//! Cloud (machines there) ----.
//! records (pods, volumes) ---+--> meters --> lines: kind, seed, shoot, component, zones, quantity --price--> rows, the bill
//! LinkTotals (IP bytes) -----+      '--> totals at the end of each window ----------------------------------------^
//! Traffic (what is written) -'
//! ```
//!
//! A line is a share of a meter. The lines of a kind add up to its meter exactly; dollars are the last step, and feed nothing.

mod bill;
mod owner;
mod price;
mod rows;
mod split;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bill::Totals;
use owner::{Owner, Owners};
use price::Quantity;
pub(super) use price::size;
use split::Split;

use super::Observer;
use crate::ids::{KubeClusterId, MachineDeploymentId, SeedId, WorkloadId, ZoneId};
use crate::kernel::integral::Integral;
use crate::kernel::time::{Duration, Time};
use crate::kube::name::PodName;
use crate::kube::record::{KubeRecord, PodFact};
use crate::kube::spec::KubeClusterSpec;
use crate::network::wire::Burst;
use crate::record::Record;
use crate::report::{BillReport, CostReport, PriceReport, ToleranceCostReport};
use crate::scenario::Scenario;
use crate::scenario::kube::{Role, Task, backup};
use crate::scenario::prices::{NodeCharge, Shape, VolumeCharge};
use crate::sim::{LinkTotals, Pairs};
use crate::traffic::plan::{self, Counts, Rate};

/// The component of room on machines that no pod asked for.
pub const UNUSED: &str = "unused";

/// Follows who uses machines and volumes.
#[derive(Clone, Debug)]
pub struct CostObserver {
    scenario: Arc<Scenario>,
    owners: Arc<Owners>,
    /// Shared with clones as long as neither changes it.
    split: Arc<Split>,
    /// How long volumes have been there, by workload.
    volumes: BTreeMap<(KubeClusterId, WorkloadId), Integral>,
    /// How long hosts have been removed that control planes had at the start.
    removed_hosts: BTreeMap<KubeClusterId, Integral>,
    /// Pods whose volume is there.
    claims: BTreeSet<(KubeClusterId, PodName)>,
    /// Of each shoot's cluster that is in use: bytes of its database, and how many requests upload its backups in a day.
    backups: BTreeMap<KubeClusterId, (u64, u64)>,
    /// The totals at the end of each window.
    windows: Vec<(Time, Arc<Totals>)>,
}

/// Meters that others keep: how long machines have been there by machine deployment, what was written, and bytes between endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Meters<'a> {
    /// The current time.
    pub now: Time,
    /// [`Cloud::machine_time`](crate::cloud::Cloud::machine_time).
    pub machines: &'a [(KubeClusterId, MachineDeploymentId, u128)],
    /// [`Simulation::written`](crate::sim::Simulation::written).
    pub written: &'a [(KubeClusterId, u64)],
    /// [`Simulation::links`](crate::sim::Simulation::links).
    pub links: &'a [LinkTotals],
}

/// What a report says of money.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What everything costs, by whom it is for.
    pub cost: Vec<CostReport>,
    /// The prices that this rests on.
    pub prices: Vec<PriceReport>,
    /// What it costs over time.
    pub bill: Option<BillReport>,
    /// What shoots cost, by what they survive.
    pub tolerance: Vec<ToleranceCostReport>,
}

/// A share of a meter, and whose it is.
#[derive(Clone, Debug)]
struct Line {
    /// The seed it is in; `None`: it is no seed's.
    seed: Option<SeedId>,
    /// The shoot it is for: a place in [`KubeModel::shoots`](crate::kube::spec::KubeModel::shoots); `None`: the seed's own.
    shoot: Option<u16>,
    /// A workload, an etcd cluster, or [`UNUSED`].
    component: Option<String>,
    zones: Option<(ZoneId, ZoneId)>,
    quantity: Quantity,
}

impl CostObserver {
    /// Nothing has happened yet.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let (volumes, removed_hosts, claims, windows) = Default::default();
        let owners = Arc::new(Owners::new(scenario));
        let backups = backups(scenario);
        let (scenario, split) = (Arc::clone(scenario), Arc::new(Split::new(scenario)));
        Self { scenario, owners, split, volumes, removed_hosts, claims, backups, windows }
    }

    /// Takes the totals at the end of a window; `balanced`: bytes through load balancers.
    pub fn sample(
        &mut self,
        now: Time,
        machines: &[(KubeClusterId, MachineDeploymentId, u128)],
        written: &[(KubeClusterId, u64)],
        pairs: &Pairs,
        balanced: u64,
    ) {
        let crossing = pairs.iter().filter(|(zones, _)| self.crosses(**zones)).map(|(_, pair)| pair.wire.ip_bytes()).sum();
        let totals = Totals { balanced, crossing, ..self.totals(now, machines, written) };
        self.windows.push((now, Arc::new(totals)));
    }

    /// All meters but those of bytes, of everybody together.
    fn totals(
        &self,
        now: Time,
        machines: &[(KubeClusterId, MachineDeploymentId, u128)],
        written: &[(KubeClusterId, u64)],
    ) -> Totals {
        let mut totals = Totals::default();
        for (cluster, deployment, ns) in machines {
            *totals.machines.entry(self.shape(*cluster, *deployment)).or_default() += ns;
        }
        for (_, shape, ns) in self.hosts(now) {
            *totals.machines.entry(shape).or_default() += ns;
        }
        for ((cluster, workload), volumes) in &self.volumes {
            *totals.volumes.entry(self.volume_bytes(*cluster, *workload)).or_default() += volumes.at(now);
        }
        for node in &self.scenario.prices.nodes {
            *totals.machines.entry(node.shape).or_default() += u128::from(now.as_nanos());
        }
        for volume in &self.scenario.prices.volumes {
            *totals.volumes.entry(volume.bytes).or_default() += age(volume, now);
        }
        let charged = self.scenario.load_balancers.iter().filter(|balancer| balancer.is_charged);
        totals.balancers = (self.scenario.kube.seeds.len() + charged.count()) as u128 * u128::from(now.as_nanos());
        for (cluster, bytes) in written {
            let (byte_ns, requests) = self.backup(*cluster, *bytes, now);
            totals.stored += byte_ns;
            totals.uploads += requests;
        }
        totals
    }

    /// What the bucket of a cluster's etcd has held, and requests in a day that upload to it times nanoseconds. Nothing of a cluster without
    /// Gardener: nobody there uploads backups, as the sidecars of etcd-druid do.
    fn backup(&self, cluster: KubeClusterId, written: u64, now: Time) -> (u128, u128) {
        let ns = now.as_nanos();
        self.backups.get(&cluster).map_or((0, 0), |(database_bytes, requests)| {
            (backup::byte_ns(*database_bytes, written, ns), u128::from(*requests) * u128::from(ns))
        })
    }

    /// How long hosts of control planes have been there that are charged, each as a machine of this shape. (Those that operations add are
    /// nodes of the topology, which are charged as such.)
    fn hosts(&self, now: Time) -> impl Iterator<Item = (KubeClusterId, Shape, u128)> {
        self.scenario.kube.clusters.iter_enumerated().filter_map(move |(id, cluster)| {
            let shape = self.scenario.prices.shape(cluster.control_plane_machine.as_ref()?);
            let removed = self.removed_hosts.get(&id).map_or(0, |removed| removed.at(now));
            Some((id, shape, cluster.hosts_at_start().len() as u128 * u128::from(now.as_nanos()) - removed))
        })
    }

    /// The same at a moment whose links are known.
    fn sums(&self, Meters { now, machines, written, links }: Meters<'_>) -> Totals {
        let crossing = self.crossing(links).map(|(_, bytes)| bytes).sum();
        let balanced = balanced(links).map(|(_, bytes)| bytes).sum();
        Totals { balanced, crossing, ..self.totals(now, machines, written) }
    }

    /// The same, by whom they are for.
    fn lines(&self, meters: Meters<'_>) -> Vec<Line> {
        let mut lines = self.machine_lines(meters);
        for ((cluster, workload), volumes) in &self.volumes {
            let quantity = Quantity::Volume { bytes: self.volume_bytes(*cluster, *workload), ns: volumes.at(meters.now) };
            lines.push(self.line(*cluster, *workload, quantity));
        }
        for volume in &self.scenario.prices.volumes {
            let quantity = Quantity::Volume { bytes: volume.bytes, ns: age(volume, meters.now) };
            lines.push(self.owners.of_etcd(volume.etcd).line(None, quantity));
        }
        for seed in self.scenario.kube.seeds.keys() {
            let quantity = Quantity::Balancer { ns: meters.now.as_nanos().into() };
            lines.push(Line { seed: Some(seed), shoot: None, component: None, zones: None, quantity });
        }
        for balancer in self.scenario.load_balancers.iter().filter(|balancer| balancer.is_charged) {
            let quantity = Quantity::Balancer { ns: meters.now.as_nanos().into() };
            lines.push(Line { seed: None, shoot: None, component: Some(balancer.name.clone()), zones: None, quantity });
        }
        let mut through: BTreeMap<Owner, u64> = BTreeMap::new();
        for (link, bytes) in balanced(meters.links) {
            *through.entry(self.owners.of_sender(link.from, &self.scenario)).or_default() += bytes;
        }
        lines.extend(through.into_iter().map(|(owner, bytes)| owner.line(None, Quantity::Balanced { bytes })));
        for (cluster, written) in meters.written {
            let owner = self.owners.of_cluster(self.scenario.kube.clusters[*cluster].etcd);
            let (byte_ns, requests) = self.backup(*cluster, *written, meters.now);
            lines.extend([Quantity::Stored { byte_ns }, Quantity::Uploads { requests }].map(|of| owner.clone().line(None, of)));
        }
        let mut crossing: BTreeMap<(Owner, (ZoneId, ZoneId)), u64> = BTreeMap::new();
        for (link, bytes) in self.crossing(meters.links) {
            *crossing.entry((self.owners.of_sender(link.from, &self.scenario), link.zones)).or_default() += bytes;
        }
        let line = |((owner, zones), bytes): ((Owner, _), u64)| owner.line(Some(zones), Quantity::Crossing { bytes });
        lines.extend(crossing.into_iter().map(line));
        lines
    }

    fn machine_lines(&self, Meters { now, machines, .. }: Meters<'_>) -> Vec<Line> {
        let mut unused: BTreeMap<(KubeClusterId, Shape), u128> = BTreeMap::new();
        for (cluster, deployment, ns) in machines {
            *unused.entry((*cluster, self.shape(*cluster, *deployment))).or_default() += ns;
        }
        let mut lines = Vec::new();
        for ((cluster, workload, shape), ns) in self.split.used(now) {
            lines.push(self.line(cluster, workload, Quantity::Machine { shape, ns }));
            let left = unused.get_mut(&(cluster, shape)).and_then(|left| left.checked_sub(ns).map(|less| *left = less));
            left.expect("pods are on machines that are there");
        }
        for ((cluster, shape), ns) in unused {
            let quantity = Quantity::Machine { shape, ns };
            let component = Some(UNUSED.to_owned());
            let seed = self.scenario.kube.seeds.position(|seed| seed.cluster == cluster);
            lines.push(Line { seed, shoot: None, component, zones: None, quantity });
        }
        for node in &self.scenario.prices.nodes {
            lines.extend(self.node_lines(node, now));
        }
        for (cluster, shape, ns) in self.hosts(now) {
            let owner = self.owners.of_control_plane(cluster, "control-plane", &self.scenario);
            lines.push(owner.line(None, Quantity::Machine { shape, ns }));
        }
        lines
    }

    /// Equal shares of those who have members there; what is left of a nanosecond is the first one's.
    fn node_lines(&self, node: &NodeCharge, now: Time) -> impl Iterator<Item = Line> {
        let (ns, bearers) = (u128::from(now.as_nanos()), node.etcd.len().max(1));
        (0..bearers).map(move |k| {
            let rest = if k == 0 { ns % bearers as u128 } else { 0 };
            let quantity = Quantity::Machine { shape: node.shape, ns: ns / bearers as u128 + rest };
            self.owners.of_etcd(node.etcd.get(k).copied()).line(None, quantity)
        })
    }

    /// A share of a workload.
    fn line(&self, cluster: KubeClusterId, workload: WorkloadId, quantity: Quantity) -> Line {
        self.owners.of(cluster, workload).clone().line(None, quantity)
    }

    fn shape(&self, cluster: KubeClusterId, deployment: MachineDeploymentId) -> Shape {
        let deployment = &self.scenario.kube.clusters[cluster].machine_deployments[deployment];
        self.scenario.prices.shape(&deployment.template.allocatable)
    }

    fn volume_bytes(&self, cluster: KubeClusterId, workload: WorkloadId) -> u64 {
        let workload = &self.scenario.kube.clusters[cluster].workloads[workload];
        workload.volume.map_or(0, |volume| volume.bytes)
    }

    /// Between zones of one region.
    fn crosses(&self, (from, to): (ZoneId, ZoneId)) -> bool {
        let region = |zone: ZoneId| self.scenario.zones[zone].region;
        from != to && region(from) == region(to)
    }

    /// The links between zones of one region, and their bytes as IP packets. (What one region sends to another has other prices.)
    fn crossing<'a>(&'a self, links: &'a [LinkTotals]) -> impl Iterator<Item = (&'a LinkTotals, u64)> {
        links.iter().filter(|link| self.crosses(link.zones)).map(|link| (link, ip_bytes(link)))
    }

    /// What a report says; `window`: how long those of the bill are.
    pub fn account(&self, meters: Meters<'_>, window: Duration) -> Account {
        let mut windows = self.windows.clone();
        windows.pop_if(|(at, _)| *at == meters.now);
        windows.push((meters.now, Arc::new(self.sums(meters))));
        let lines = self.lines(meters);
        Account {
            cost: rows::cost(&lines, meters.now, &self.scenario),
            prices: price::used(&self.scenario),
            bill: Some(bill::report(&windows, window, &self.scenario)),
            tolerance: rows::tolerance(&lines, meters.now, &self.scenario),
        }
    }
}

impl Owner {
    fn line(self, zones: Option<(ZoneId, ZoneId)>, quantity: Quantity) -> Line {
        let Self { seed, shoot, component } = self;
        Line { seed, shoot, component: Some(component), zones, quantity }
    }
}

/// How long a volume has been there.
fn age(volume: &VolumeCharge, now: Time) -> u128 {
    if now > volume.from { now.since(volume.from).as_nanos().into() } else { 0 }
}

fn ip_bytes(link: &LinkTotals) -> u64 {
    Burst { packets: link.packets, bytes: link.wire_bytes }.ip_bytes()
}

/// What comes through load balancers, there and back. (Within a zone and between zones alike: the latter is charged as such, too.)
fn balanced(links: &[LinkTotals]) -> impl Iterator<Item = (&LinkTotals, u64)> {
    links.iter().filter(|link| link.from.is_outside() || link.to.is_outside()).map(|link| (link, ip_bytes(link)))
}

/// What gets into the etcd-main of a shoot while all is there that is there at the start. (Its requests know how many nodes it has.)
fn written(scenario: &Scenario, id: KubeClusterId) -> Rate {
    let shoot = scenario.kube.shoots.iter().filter_map(|shoot| shoot.hosted.as_ref()).find(|hosted| hosted.cluster == id);
    let workloads = || {
        let hosted = shoot.into_iter();
        hosted.flat_map(|hosted| {
            let seed = scenario.kube.seeds[hosted.seed].cluster;
            hosted.workloads.iter().map(move |id| &scenario.kube.clusters[seed].workloads[*id])
        })
    };
    let pods = |name: &str| workloads().find(|workload| workload.name == name).map_or(0, |workload| workload.replicas as usize);
    let servers = workloads().find(|workload| workload.role == Role::ApiServer(id)).map_or(0, |own| own.replicas as usize);
    plan::written(&scenario.kube.clusters[id].requests, Counts { servers, nodes: 0 }, pods)
}

/// Of each shoot's cluster that is in use: bytes of its database, and how many requests upload its backups in a day.
fn backups(scenario: &Scenario) -> BTreeMap<KubeClusterId, (u64, u64)> {
    let in_use = |cluster: &KubeClusterSpec| cluster.is_hosted() && !cluster.requests.is_empty();
    let clusters = scenario.kube.clusters.iter_enumerated().filter(|(_, cluster)| in_use(cluster));
    let backup = |(id, cluster): (KubeClusterId, &KubeClusterSpec)| {
        let database_bytes = scenario.etcd[cluster.etcd].database_bytes;
        let written = written(scenario, id).over(backup::DELTA_PERIOD.as_nanos()).whole().1;
        (id, (database_bytes, backup::requests_per_day(database_bytes, written)))
    };
    clusters.map(backup).collect()
}

impl Observer for CostObserver {
    fn record(&mut self, at: Time, record: &Record) {
        let Record::Kube(cluster, fact) = record else { return };
        if let KubeRecord::Pod(..) | KubeRecord::Node(..) = fact {
            Arc::make_mut(&mut self.split).record(at, *cluster, fact);
        }
        let cluster_spec = &self.scenario.kube.clusters[*cluster];
        let was_there = |place: u32| (place as usize) < cluster_spec.hosts_at_start().len();
        match *fact {
            KubeRecord::Operation(Task::RemoveHost(place)) if was_there(place) => {
                self.removed_hosts.entry(*cluster).or_default().add(at);
            }
            KubeRecord::Operation(Task::AddHost(place)) if was_there(place) => {
                self.removed_hosts.entry(*cluster).or_default().remove(at);
            }
            _ => {}
        }
        let KubeRecord::Pod(pod, fact) = fact else { return };
        let has_volume = || cluster_spec.workloads[pod.workload].volume.is_some();
        match fact {
            PodFact::Bound(_) if has_volume() && self.claims.insert((*cluster, *pod)) => {
                self.volumes.entry((*cluster, pod.workload)).or_default().add(at);
            }
            PodFact::VolumeDiscarded if self.claims.remove(&(*cluster, *pod)) => {
                self.volumes.entry((*cluster, pod.workload)).or_default().remove(at);
            }
            _ => {}
        }
    }
}
