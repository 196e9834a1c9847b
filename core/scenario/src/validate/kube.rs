//! Seeds: their control planes, worker pools and nodes.

use super::etcd::{DRUID_QUOTA, EtcdPlacement, ManagedEtcd};
use super::labels::{labels, reserved};
use super::rollout;
use super::usage::behind_cluster;
use super::void_fields;
use crate::error::quote;
use crate::ids::{EtcdId, KubeClusterId, MachineDeploymentId, NodeId, TiVec, ZoneId};
use crate::kube::gardener::{Pool, Seed, ZoneTolerance};
use crate::kube::labels::{Symbol, WELL_KNOWN};
use crate::kube::leader_election::Timings;
use crate::kube::name::MachineName;
use crate::kube::routing::{ApiToEtcd, Routing};
use crate::kube::seed::{self, is_odd, over_zones};
use crate::kube::taints::Taint;
use crate::kube::usage::InFlight;
use crate::kube::volume::Disks;
use crate::kube::zone_aware::ZoneAware;
use crate::kube::{Component, KubeClusterSpec, MachineDeployment, NodeSpec, NodeTemplate, PoolShare, Resources, Timers};
use crate::lowering::{
    CheckCtx, ClusterDraft, ClusterDrafts, MAX_MACHINES, MAX_NODES, Members, Names, POOL, SymbolTable, Topology, add_machine,
    quoted, zone_names, zones_of,
};
use crate::network_card;
use crate::operation::RawOperationKind;
use crate::raw::{RawCluster, RawMachine, RawPool, RawScenario, RawSeed, RawSeedNode};
use crate::topology::Node;
use crate::units::{Bandwidth, Name, Span};

/// What a seed must have to be multi-zonal.
pub(super) const MULTI_ZONAL: &str = "a pool without taints that has at least 3 nodes in an odd number of at least 3 zones (GEP-20, Hosting an HA Shoot Control Plane with zone Failure Tolerance)";

/// What a seed must have for active-passive etcd clusters that survive a zone.
pub(super) const TWO_ZONES: &str =
    "a pool without taints that has at least 2 nodes in at least 2 zones (GEP-20, etcd Active-Passive Options)";

/// Labels that each kubelet gives its node (kubernetes.io, "Well-Known Labels, Annotations and Taints"), with the values that nodes have
/// unless the labels of their pool say otherwise.
const USUAL_PLATFORM: [(&str, &str); 4] = [
    ("kubernetes.io/os", "linux"),
    ("kubernetes.io/arch", "amd64"),
    ("beta.kubernetes.io/os", "linux"),
    ("beta.kubernetes.io/arch", "amd64"),
];

/// All seeds, as far as they could be made out, and what their names stand for.
pub(super) fn seeds(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &mut Topology,
    members: &mut Members,
    etcd_names: &mut Names,
    lowering: &mut ClusterDrafts,
) -> Names {
    let mut names = Names::new("a seed");
    let list = if raw.seeds.is_empty() { "clusters" } else { "seeds" };
    let pools = raw.seeds.iter().flat_map(|seed| &seed.pools).chain(raw.clusters.iter().flat_map(|cluster| &cluster.pools));
    let added = raw.operations.iter().map(|operation| match &operation.change {
        RawOperationKind::AddZone(add) => u64::from(add.nodes),
        _ => 0,
    });
    let machines: u64 = pools.map(|pool| u64::from(pool.maximum)).chain(added).sum();
    if machines > u64::from(MAX_MACHINES) {
        let expected = format!("at most {MAX_MACHINES}: pools with a smaller `maximum`");
        ctx.error(list, format!("{machines} machines at most, in all pools"), expected);
    }
    let of_cluster = |cluster: &RawCluster| {
        let hosts = if cluster.control_plane_nodes { u64::from(cluster.control_plane.replicas) } else { 0 };
        nodes_at_start(&cluster.site()) + hosts
    };
    let nodes = raw.seeds.iter().map(nodes_at_start).chain(raw.clusters.iter().map(of_cluster));
    let nodes: u64 = nodes.sum();
    if nodes > MAX_NODES as u64 {
        ctx.error(list, format!("{nodes} nodes at the start"), format!("at most {MAX_NODES}: pools with a smaller `minimum`"));
        return names;
    }
    for (s, seed) in raw.seeds.iter().enumerate() {
        let (path, errors) = (format!("seeds[{s}]"), ctx.errors.len());
        names.add(ctx, &format!("{path}.name"), seed.name.as_str(), lowering.clusters.len());
        // Whatever a second one of the name has is there already.
        if ctx.errors.len() > errors {
            continue;
        }
        lowering.mark(ctx, &path, &seed.mark);
        void_fields::pools(ctx, &path, &seed.pools, None);
        if let Some(delay) = seed.api_servers.shutdown_delay {
            let expected = "no delay: its API servers run on hosts, where nothing asks them to stop";
            ctx.error(&format!("{path}.api_servers.shutdown_delay"), quoted(delay), expected);
        }
        let mut site = Builder { ctx, raw: seed, path, topology, lowering, has_machines: true, quota: DRUID_QUOTA }
            .build(s, members, etcd_names);
        site.valid = ctx.errors.len() == errors;
        lowering.clusters.push(site);
    }
    names
}

/// Machines that the cloud has left, of types that pools have.
pub(super) fn stock(ctx: &mut CheckCtx<'_>, raw: &RawScenario, topology: &Topology, lowering: &mut ClusterDrafts) -> Vec<u32> {
    let mut types = Names::new("a type of machine");
    let pools = raw.seeds.iter().flat_map(|seed| &seed.pools).chain(raw.clusters.iter().flat_map(|cluster| &cluster.pools));
    for kind in pools.filter_map(|pool| pool.machine.kind.as_ref()) {
        if types.get(kind.as_str()).is_none() {
            types.add(ctx, "seeds", kind.as_str(), types.len());
        }
    }
    let mut counts = Vec::new();
    for (k, stock) in raw.cloud.stock.iter().enumerate() {
        let path = format!("cloud.stock[{k}]");
        types.find(ctx, &format!("{path}.machine"), &stock.machine);
        let Some(zone) = topology.zone_names.find(ctx, &format!("{path}.zone"), &stock.zone) else { continue };
        if lowering.stocks.insert((stock.machine.clone(), ZoneId(zone as u16)), k as u16).is_some() {
            ctx.error(&path, format!("{} in zone {} again", quote(&stock.machine), stock.zone), "each type once in each zone");
        }
        counts.push(stock.count);
    }
    counts
}

/// Nodes that the seed has at the start: those given, and `minimum` of pools of which none is.
pub(super) fn nodes_at_start(seed: &RawSeed) -> u64 {
    let made = seed.pools.iter().filter(|pool| !is_given(seed, pool)).map(|pool| u64::from(pool.minimum));
    made.sum::<u64>() + seed.nodes.len() as u64
}

fn is_given(seed: &RawSeed, pool: &RawPool) -> bool {
    seed.nodes.iter().any(|node| node.pool == pool.name.as_str())
}

/// Where its Services send their clients.
fn routing(ctx: &mut CheckCtx<'_>, raw: &RawSeed, path: &str) -> Routing {
    let routing = Routing { hints: raw.topology_aware_routing, api_to_etcd: raw.api_to_etcd };
    let path = format!("{path}.topology_aware_routing");
    if routing.hints && raw.zones.len() < 2 {
        ctx.error(&path, "true, in one zone", "false, or at least two zones");
    } else if routing.hints && routing.api_to_etcd != ApiToEtcd::Any {
        ctx.error(&path, "true, and `api_to_etcd`", "only one of the two: hints have no effect with `api_to_etcd`");
    }
    routing
}

pub(super) struct Builder<'a, 'b> {
    pub(super) ctx: &'a mut CheckCtx<'b>,
    pub(super) raw: &'a RawSeed,
    pub(super) path: String,
    pub(super) topology: &'a mut Topology,
    pub(super) lowering: &'a mut ClusterDrafts,
    /// Machine objects stand behind its nodes.
    pub(super) has_machines: bool,
    /// Quota of its etcd, unless the file says otherwise.
    pub(super) quota: u64,
}

impl Builder<'_, '_> {
    pub(super) fn build(mut self, s: usize, members: &mut Members, etcd_names: &mut Names) -> ClusterDraft {
        let (ctx, raw, path) = (&mut *self.ctx, self.raw, &self.path);
        let zones = zones_of(ctx, &format!("{path}.zones"), &raw.zones, None, self.topology);
        if !is_odd(zones.len() as u32) && zones.len() == raw.zones.len() && !raw.allow_even_zones {
            let expected = "an odd number, so that losing one leaves a majority of them (GEP-20); or \"allow_even_zones\": true";
            ctx.error(&format!("{path}.zones"), format!("{} zones", zones.len()), expected);
        }
        let routing = routing(ctx, raw, path);
        let timers = raw.timers.timers();
        leases(ctx, &format!("{path}.timers"), &timers);
        let hosts = self.hosts(&zones);
        let etcd = self.etcd(&hosts, members, etcd_names);
        let name = raw.name.to_string();
        let seed = Seed {
            name: name.clone(),
            cluster: KubeClusterId(self.lowering.clusters.len() as u16),
            zones,
            zone_tolerance: ZoneTolerance::None,
            allocatable_shoots: raw.allocatable_shoots,
            addresses: 0,
            pools: Vec::new(),
        };
        let cluster = KubeClusterSpec {
            name,
            etcd,
            control_plane: hosts,
            added_hosts: 0,
            control_plane_machine: raw.control_plane.machine.as_ref().map(resources),
            nodes: TiVec::new(),
            machine_deployments: TiVec::new(),
            workloads: TiVec::new(),
            control_plane_namespaces: Vec::new(),
            routing,
            resources: raw.api_servers.resources(),
            shutdown_delay: raw.api_servers.shutdown_delay.map(|span| span.0),
            access: None,
            not_advertising: Vec::new(),
            api_clients: TiVec::new(),
            timers,
            requests: Vec::new(),
            in_flight: InFlight::default(),
            fairness: None,
            background: behind_cluster(&Component::ALL),
            controllers: raw.controllers.clone(),
            components: Component::ALL.to_vec(),
            services: TiVec::new(),
            budgets: Vec::new(),
            zone_aware: ZoneAware::default(),
            disks: Disks::default(),
        };
        let (pools, nodes) = (Names::new("a pool of this cluster"), Names::new("a node of this cluster"));
        let mut hosts = Names::new("a host of this control plane");
        for (place, host) in cluster.control_plane.iter().enumerate() {
            hosts.add(self.ctx, &format!("{}.name", self.path), &self.topology.nodes[*host].name, place);
        }
        let (zones, used, volumes) = Default::default();
        let mut site = ClusterDraft {
            entry: s,
            hosts_shoots: true,
            valid: true,
            cluster,
            seed,
            pools,
            hosts,
            nodes,
            zones,
            used,
            volumes,
            shoots: 0,
        };
        let pools = self.pools(&mut site);
        self.given(&pools, &mut site);
        self.made(&pools, &mut site);
        site.seed.addresses = self.addresses(&site);
        site.seed.zone_tolerance = self.zone_tolerance(&pools);
        site
    }

    /// The hosts of the seed's own control plane.
    fn hosts(&mut self, zones: &[ZoneId]) -> Vec<NodeId> {
        let path = format!("{}.control_plane", self.path);
        let raw = &self.raw.control_plane;
        self.lowering.mark(self.ctx, &path, &raw.mark);
        let own = zones_of(self.ctx, &format!("{path}.zones"), &raw.zones, None, self.topology);
        let zones = if own.is_empty() { zones } else { &own };
        let zone = |k: usize| if zones.is_empty() { ZoneId(0) } else { zones[k % zones.len()] };
        let name = |k| format!("{}-control-plane-{k}", self.raw.name);
        let place = format!("{}.name", self.path);
        let card_bytes_per_s = card(&raw.machine.clone().unwrap_or_default());
        let node = |k| Node { name: name(k), zone: zone(k), card_bytes_per_s };
        (0..usize::from(raw.replicas)).map(|k| add_machine(self.ctx, &place, node(k), self.topology)).collect()
    }

    /// The etcd cluster of the seed itself.
    fn etcd(&mut self, hosts: &[NodeId], members: &mut Members, etcd_names: &mut Names) -> EtcdId {
        let raw = &self.raw.control_plane;
        let path = format!("{}.control_plane", self.path);
        let managed = ManagedEtcd::new(self.ctx, &path, (&raw.options, self.quota), &raw.initial, &raw.disk);
        managed.check_leader(self.ctx, "etcd", hosts.len());
        let placed = EtcdPlacement { home: self.raw.name.as_str(), set: "etcd", nodes: hosts, pods: false, later: 0, turns: 1 };
        members.manage(self.ctx, &managed, &placed, self.topology, etcd_names)
    }

    /// The machine deployments of each pool: its first, and the zones they are in.
    fn pools(&mut self, site: &mut ClusterDraft) -> Vec<(usize, Vec<ZoneId>)> {
        let mut all = Vec::new();
        for (p, pool) in self.raw.pools.iter().enumerate() {
            let path = format!("{}.pools[{p}]", self.path);
            site.pools.add(self.ctx, &format!("{path}.name"), pool.name.as_str(), p);
            self.lowering.mark(self.ctx, &path, &pool.mark);
            for (t, taint) in pool.taints.iter().enumerate() {
                self.lowering.mark(self.ctx, &format!("{path}.taints[{t}]"), &taint.mark);
            }
            rollout::of_pool(self.ctx, &format!("{path}.rollout.max_unavailable"), pool.rollout);
            if pool.minimum > pool.maximum {
                let expected = format!("at most `maximum`, {}", pool.maximum);
                self.ctx.error(&format!("{path}.minimum"), pool.minimum.to_string(), expected);
            }
            if let Some(start) = pool.start
                && start > pool.maximum
            {
                let expected = format!("at most `maximum`, {}", pool.maximum);
                self.ctx.error(&format!("{path}.start"), start.to_string(), expected);
            }
            let own = zones_of(self.ctx, &format!("{path}.zones"), &pool.zones, Some(&site.seed.zones), self.topology);
            let zones = if pool.zones.is_empty() { site.seed.zones.clone() } else { own };
            let first = site.cluster.machine_deployments.len();
            let path = format!("{path}.labels");
            let given = pool.labels.as_ref().map(|text| labels(self.ctx, &mut self.lowering.symbols, &path, text));
            let keys = [WELL_KNOWN[0], WELL_KNOWN[1], WELL_KNOWN[2], POOL];
            reserved(self.ctx, &mut self.lowering.symbols, &path, given.as_deref().unwrap_or_default(), &keys);
            for (k, zone) in zones.iter().enumerate() {
                site.cluster.machine_deployments.push(MachineDeployment {
                    name: format!("{}-{}-z{}", self.raw.name, pool.name, k + 1),
                    zone: *zone,
                    template: template(&mut self.lowering.symbols, *zone, pool, given.iter().flatten(), self.topology),
                    minimum: over_zones(k as u32, pool.minimum, zones.len() as u32),
                    maximum: over_zones(k as u32, pool.maximum, zones.len() as u32),
                    pool: PoolShare {
                        zone: (k as u32, zones.len() as u32),
                        minimum: pool.minimum,
                        maximum: pool.maximum,
                        rollout: pool.rollout.rollout(),
                    },
                    stock: pool.machine.kind.as_ref().and_then(|kind| self.lowering.stock(kind.as_str(), *zone)),
                    added: false,
                    scale_down_disabled: pool.scale_down_disabled,
                });
            }
            let (maximum, max_surge) = (pool.maximum, pool.rollout.max_surge);
            site.seed.pools.push(Pool { first: first.into(), zones: zones.len() as u32, maximum, max_surge });
            all.push((first, zones));
        }
        all
    }

    /// The nodes that the file gives.
    fn given(&mut self, pools: &[(usize, Vec<ZoneId>)], site: &mut ClusterDraft) {
        let mut machines = Names::new("a machine of this cluster");
        let mut counts: TiVec<_, u32> = vec![0; site.cluster.machine_deployments.len()].into();
        for (n, node) in self.raw.nodes.iter().enumerate() {
            let path = format!("{}.nodes[{n}]", self.path);
            self.lowering.mark(self.ctx, &path, &node.mark);
            let Some(deployment) = self.deployment(&path, node, pools, site) else { continue };
            let spec = &site.cluster.machine_deployments[deployment];
            let found = node.machine.as_ref().map(|name| (name, MachineName::parse(deployment, &spec.name, name.as_str())));
            if let Some((name, parsed)) = found {
                let path = format!("{path}.machine");
                machines.add(self.ctx, &path, name.as_str(), n);
                if parsed.is_none() {
                    let expected = format!(
                        "{}-<5 letters>-<5 letters>, as the machine controller names a machine of this pool and zone; letters that Kubernetes draws: bcdfghjklmnpqrstvwxz2456789",
                        spec.name
                    );
                    self.ctx.error(&path, quote(name.as_str()), expected);
                }
            }
            let count = &mut counts[deployment];
            let machine = found.and_then(|(_, parsed)| parsed).unwrap_or_else(|| MachineName::made(deployment, *count));
            *count += 1;
            if *count == spec.maximum + 1 && self.has_machines {
                let expected = format!("at most {} here, its share of the pool's `maximum`", spec.maximum);
                self.ctx.error(&path, format!("a node more in {}", spec.name), expected);
            }
            self.node(&format!("{path}.name"), node.name.to_string(), machine, site);
        }
    }

    /// The machine deployment of a node that is given.
    fn deployment(
        &mut self,
        path: &str,
        node: &RawSeedNode,
        pools: &[(usize, Vec<ZoneId>)],
        site: &ClusterDraft,
    ) -> Option<MachineDeploymentId> {
        let pool = site.pools.find(self.ctx, &format!("{path}.pool"), &node.pool);
        let place = format!("{path}.zone");
        let zone = self.topology.zone_names.find(self.ctx, &place, &node.zone).map(ZoneId::from)?;
        let (first, zones) = &pools[pool?];
        let found = zones.iter().position(|own| *own == zone);
        if found.is_none() {
            let expected = format!("one of the zones of its pool: {}", zone_names(zones, self.topology));
            self.ctx.error(&place, quote(&node.zone), expected);
        }
        found.map(|k| MachineDeploymentId::from(first + k))
    }

    /// The nodes of pools of which none is given.
    fn made(&mut self, pools: &[(usize, Vec<ZoneId>)], site: &mut ClusterDraft) {
        let place = format!("{}.name", self.path);
        for (pool, (first, zones)) in self.raw.pools.iter().zip(pools) {
            let start = if is_given(self.raw, pool) { 0 } else { pool.start.unwrap_or(pool.minimum) };
            for (z, deployment) in (0..).zip((*first..first + zones.len()).map(MachineDeploymentId::from)) {
                for k in 0..over_zones(z, start, zones.len() as u32) {
                    let machine = MachineName::made(deployment, k);
                    self.node(&place, machine.text(&site.cluster), machine, site);
                }
            }
        }
    }

    fn node(&mut self, path: &str, name: String, machine: MachineName, site: &mut ClusterDraft) {
        let MachineDeployment { zone, template, .. } = site.cluster.machine_deployments[machine.deployment].clone();
        let mut template = template;
        template.labels.set(Symbol::HOSTNAME, self.lowering.symbols.symbol(&name));
        let errors = self.ctx.errors.len();
        let card_bytes_per_s = template.card_bytes_per_s;
        let node = add_machine(self.ctx, path, Node { name: name.clone(), zone, card_bytes_per_s }, self.topology);
        if self.ctx.errors.len() == errors {
            site.nodes.add(self.ctx, path, &name, site.zones.len());
        }
        site.add_node(NodeSpec { node, template, machine: Some(machine) }, zone);
    }

    /// How many nodes the seed's range of addresses holds: as many as it has at least.
    fn addresses(&mut self, site: &ClusterDraft) -> u64 {
        let path = format!("{}.node_cidr", self.path);
        let expected = "a range of IPv4 addresses such as \"10.242.0.0/16\"";
        let address = |text: &str| text.split('.').count() == 4 && text.split('.').all(|part| part.parse::<u8>().is_ok());
        let range = self.raw.node_cidr.split_once('/').filter(|(start, _)| address(start));
        let parsed = range.and_then(|(_, bits)| bits.parse::<u8>().ok()).filter(|bits| *bits <= 32);
        let Some(bits) = parsed else {
            self.ctx.error(&path, quote(&self.raw.node_cidr), expected);
            return 0;
        };
        let Some(free) = self.raw.node_prefix.checked_sub(bits) else {
            let expected = format!("at least the {bits} bits of `node_cidr`");
            self.ctx.error(&format!("{}.node_prefix", self.path), self.raw.node_prefix.to_string(), expected);
            return 0;
        };
        let (nodes, holds) = (site.zones.len(), 1_u64 << free);
        if nodes as u64 > holds {
            let expected = format!("a range for its {nodes} nodes: this one holds {holds} of /{}", self.raw.node_prefix);
            self.ctx.error(&path, quote(&self.raw.node_cidr), expected);
        }
        holds
    }

    fn zone_tolerance(&mut self, pools: &[(usize, Vec<ZoneId>)]) -> ZoneTolerance {
        let pool = |(raw, (_, zones)): (&RawPool, &(usize, Vec<ZoneId>))| seed::Pool {
            zones: zones.len() as u32,
            minimum: raw.minimum,
            tainted: !raw.taints.is_empty(),
        };
        let of_pools = seed::zone_tolerance(&self.raw.pools.iter().zip(pools).map(pool).collect::<Vec<_>>());
        if self.raw.multi_zonal == Some(true) && of_pools < ZoneTolerance::Quorum {
            self.ctx.error(&format!("{}.multi_zonal", self.path), "true", MULTI_ZONAL);
        }
        if self.raw.multi_zonal == Some(false) { ZoneTolerance::None } else { of_pools }
    }
}

/// What nodes of a pool in a zone are like.
fn template<'a>(
    symbols: &mut SymbolTable,
    zone: ZoneId,
    pool: &RawPool,
    given: impl Iterator<Item = &'a (Symbol, Symbol)>,
    topology: &Topology,
) -> NodeTemplate {
    let pool_key = symbols.symbol(POOL);
    let labels = usual_labels(symbols, zone, &pool.machine, topology);
    let of_pool = (pool_key, symbols.symbol(pool.name.as_str()));
    let taint = |taint: &crate::raw::RawTaint| {
        let key = symbols.symbol(taint.key.as_str());
        Taint { key, value: None, effect: taint.effect.effect() }
    };
    let taints = pool.taints.iter().map(taint).collect();
    NodeTemplate {
        labels: labels.into_iter().chain([of_pool]).chain(given.copied()).collect(),
        taints,
        allocatable: resources(&pool.machine),
        volumes: pool.machine.volumes,
        card_bytes_per_s: card(&pool.machine),
    }
}

/// Labels of a node in a zone, but for its host's name.
pub(super) fn usual_labels(
    symbols: &mut SymbolTable,
    zone: ZoneId,
    machine: &RawMachine,
    topology: &Topology,
) -> Vec<(Symbol, Symbol)> {
    let zone = &topology.zones[zone];
    let mut labels = USUAL_PLATFORM.map(|(key, value)| (symbols.symbol(key), symbols.symbol(value))).to_vec();
    let kind = machine.kind.as_ref();
    labels.extend(kind.map(|kind| (symbols.symbol("node.kubernetes.io/instance-type"), symbols.symbol(kind.as_str()))));
    labels.push((Symbol::ZONE, symbols.symbol(&zone.name)));
    labels.push((Symbol::REGION, symbols.symbol(&topology.regions[usize::from(zone.region)])));
    labels
}

/// Bytes per second that the network card of a machine carries.
pub(super) fn card(machine: &RawMachine) -> u64 {
    let by_type = || network_card::of_type(machine.kind.as_ref().map(Name::as_str));
    machine.network_bandwidth.map_or_else(by_type, Bandwidth::bytes_per_s)
}

pub(super) fn resources(machine: &RawMachine) -> Resources {
    Resources { cpu_milli: milli(machine.cpu), memory: machine.memory.0, pods: u64::from(machine.pods) }
}

/// Thousandths of a CPU.
pub(super) fn milli(cpu: f64) -> u64 {
    (cpu * 1_000.0).round() as u64
}

/// client-go refuses to run with others.
fn leases(ctx: &mut CheckCtx<'_>, path: &str, timers: &Timers) {
    let timings = timers.leader_election();
    let Timings { renew_deadline, lease_duration, retry_period } = timings;
    if !timings.lease_is_long_enough() {
        let expected = format!("more than renew_deadline, {}", Span(renew_deadline));
        ctx.error(&format!("{path}.lease_duration"), quoted(Span(lease_duration)), expected);
    }
    if !timings.renew_deadline_is_long_enough() {
        let expected = format!("more than 1.2 x retry_period, {}", Span(retry_period));
        ctx.error(&format!("{path}.renew_deadline"), quoted(Span(renew_deadline)), expected);
    }
}
