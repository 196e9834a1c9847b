//! Kubernetes clusters without Gardener: their control planes and nodes are made as those of seeds, their workloads as the file says.

use super::autoscaler;
use super::deploy::deploy;
use super::etcd::ETCD_QUOTA;
use super::kube::{Builder, card, resources, usual_labels};
use super::labels::{NAMESPACE, selected};
use super::rollout;
use super::usage;
use super::void_fields;
use super::void_rollouts;
use super::volume;
use super::workload::{WorkloadContext, planned};
use crate::error::{quote, show};
use crate::ids::{KubeClusterId, NodeId, ServiceId, TiVec, ZoneId};
use crate::kube::autoscaler::Sizing;
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::kube::labels::Symbol;
use crate::kube::routing::ServiceTraffic;
use crate::kube::taints::{Effect, Taint};
use crate::kube::{Budget, BudgetLimit, MachineDeployment, MemberRange, NodeSpec, NodeTemplate, PoolShare, Resources, Service};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts, Members, Names, SymbolTable, Topology, quoted};
use crate::operation::RawOperationKind;
use crate::raw::{RawBudget, RawCluster, RawLeased, RawScenario, RawService};
use crate::topology::Node;
use crate::units::Rate;
use crate::units::int_or_percent::IntOrPercent;

/// All clusters, after the seeds, and what their names stand for.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &mut Topology,
    members: &mut Members,
    etcd_names: &mut Names,
    seeds: &Names,
    lowering: &mut ClusterDrafts,
) -> Names {
    let mut names = Names::new("a cluster");
    for (k, cluster) in raw.clusters.iter().enumerate() {
        let (path, errors) = (format!("clusters[{k}]"), ctx.errors.len());
        let place = format!("{path}.name");
        if seeds.get(cluster.name.as_str()).is_some() {
            ctx.error(&place, quote(cluster.name.as_str()), "a name that no seed has");
            continue;
        }
        names.add(ctx, &place, cluster.name.as_str(), lowering.clusters.len());
        // Whatever a second one of the name has is there already.
        if ctx.errors.len() > errors {
            continue;
        }
        for (component, word) in
            [(RawLeased::KubeControllerManager, "kube_controller_manager"), (RawLeased::KubeScheduler, "kube_scheduler")]
        {
            if !cluster.components.contains(&component) {
                let expected = "`kube_controller_manager` and `kube_scheduler` among the components: without these two, nothing replaces a pod";
                ctx.error(&format!("{path}.components"), format!("no {word}"), expected);
            }
        }
        let has = |component: RawLeased| cluster.components.contains(&component);
        if has(RawLeased::ClusterAutoscaler) && !has(RawLeased::MachineControllerManager) {
            let expected = "`machine_controller_manager` with it: nothing else makes the machines";
            ctx.error(&format!("{path}.components"), "cluster_autoscaler alone", expected);
        }
        if let Some(options) = &cluster.controllers.cluster_autoscaler {
            let path = format!("{path}.controllers.cluster_autoscaler");
            if !has(RawLeased::ClusterAutoscaler) {
                ctx.error(&path, "options", "`cluster_autoscaler` among the components: nothing else reads them");
            }
            autoscaler::validate(ctx, &path, options);
        }
        for (c, component) in cluster.components.iter().enumerate() {
            if cluster.components[..c].contains(component) {
                let found = format!("{} again", show(&serde_json::json!(component)));
                ctx.error(&format!("{path}.components[{c}]"), found, "each component once");
            }
        }
        lowering.mark(ctx, &path, &cluster.mark);
        let (site, has_machines) = (cluster.site(), has(RawLeased::MachineControllerManager));
        let mut site = Builder { ctx, raw: &site, path: path.clone(), topology, lowering, has_machines, quota: ETCD_QUOTA }
            .build(k, members, etcd_names);
        if cluster.control_plane_nodes {
            register_hosts(ctx, &path, cluster, &mut site, &mut lowering.symbols, topology);
        }
        add_hosts(ctx, raw, cluster, &mut site, topology);
        add_zones(ctx, raw, cluster, &mut site, lowering, topology);
        site.cluster.disks = volume::disks(ctx, &mut lowering.symbols, &path, cluster, topology);
        (site.valid, site.hosts_shoots) = (ctx.errors.len() == errors, false);
        site.cluster.components = cluster.components.iter().map(|component| component.component()).collect();
        if let Some(usage) = &cluster.usage {
            lowering.mark(ctx, &format!("{path}.use"), &usage.mark);
            site.cluster.requests = usage::of_cluster(ctx, &path, usage, &site.cluster.components);
            let database = cluster.control_plane.initial.database;
            usage::warn_of_small_database(ctx, &format!("{path}.control_plane"), database, &site.cluster.requests);
            site.cluster.in_flight = usage::in_flight(usage);
            site.cluster.fairness = usage::fairness(usage);
            site.cluster.background.clear();
        } else {
            site.cluster.background = usage::behind_cluster(&site.cluster.components);
        }
        site.cluster.budgets = budgets(ctx, &mut lowering.symbols, &path, &cluster.budgets);
        site.cluster.services = services(ctx, &mut lowering.symbols, &path, &cluster.services);
        let (s, valid) = (lowering.clusters.len(), site.valid);
        lowering.clusters.push(site);
        let home = WorkloadContext {
            namespace: NAMESPACE.to_owned(),
            tolerance: FailureTolerance::None,
            recovery: Recovery::Wait,
            pairs: false,
            pinned: false,
            cluster: KubeClusterId(s as u16),
            member_range: MemberRange::default(),
        };
        let all = planned(ctx, lowering, (&path, "workloads"), &[], &cluster.workloads, true);
        for workload in all.into_iter().filter(|_| valid) {
            let id = deploy(ctx, lowering, s, &path, &home, workload);
            if let Some(mounts) = workload.raw.map(|(_, raw)| raw).zip(id) {
                volume::mount(ctx, &workload.path(&path), mounts, cluster, &mut lowering.clusters[s], topology);
            }
        }
        if valid {
            rollout::zone_aware(ctx, lowering, s, &path, cluster);
            warn_of_the_unused(ctx, &path, cluster, &lowering.clusters[s]);
            void_fields::warn(ctx, &path, cluster, &lowering.clusters[s]);
        }
    }
    names
}

/// Warns of budgets, Services and clients that select nothing, and of pools that are too small for their zones.
fn warn_of_the_unused(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawCluster, site: &ClusterDraft) {
    let workloads = &site.cluster.workloads;
    void_rollouts::budgets(ctx, path, raw, &site.cluster.budgets, workloads);
    for (k, (raw, service)) in raw.services.iter().zip(&site.cluster.services).enumerate() {
        let path = format!("{path}.services[{k}]");
        let without = "the Service has no endpoints";
        void_rollouts::select_something(ctx, &format!("{path}.pods"), &raw.pods, &service.pods, workloads, without);
        if let Some((raw, traffic)) = raw.traffic.as_ref().zip(service.traffic.as_ref()) {
            let path = format!("{path}.traffic.clients");
            void_rollouts::select_something(ctx, &path, &raw.clients, &traffic.clients, workloads, "nothing opens a connection");
        }
    }
    let is_static = site.cluster.sizing() == Sizing::Static;
    for (k, (pool, draft)) in raw.pools.iter().zip(&site.seed.pools).enumerate() {
        if is_static && pool.maximum > 0 && pool.maximum < draft.zones {
            let expected = format!("at least {}, a node for each zone of the pool: some zones get none", draft.zones);
            ctx.warn(&format!("{path}.pools[{k}].maximum"), pool.maximum.to_string(), expected);
        }
    }
}

/// Hosts that operations add to the control plane: nodes of the topology.
fn add_hosts(ctx: &mut CheckCtx<'_>, raw: &RawScenario, cluster: &RawCluster, site: &mut ClusterDraft, topology: &Topology) {
    for (o, operation) in raw.operations.iter().enumerate() {
        let RawOperationKind::AddControlPlaneNode(add) = &operation.change else { continue };
        if add.cluster != cluster.name.as_str() || site.hosts.get(&add.node).is_some() {
            continue;
        }
        let path = format!("operations[{o}].add_control_plane_node.node");
        let is_free = raw.topology.nodes.iter().any(|node| node.name.as_str() == add.node);
        let Some(node) = topology.node_names.find(ctx, &path, &add.node).map(NodeId::from) else { continue };
        let is_taken = raw.operations[..o].iter().any(|operation| {
            matches!(&operation.change, RawOperationKind::AddControlPlaneNode(other) if other.node == add.node && other.cluster != add.cluster)
        });
        if !is_free || is_taken {
            ctx.error(&path, quote(&add.node), "a node of the topology, which is part of no cluster");
        }
        site.hosts.add(ctx, &path, &add.node, site.cluster.control_plane.len());
        site.cluster.control_plane.push(node);
        site.cluster.added_hosts += 1;
    }
}

/// Machine deployments of zones that operations add: they have no machine at the start.
fn add_zones(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    cluster: &RawCluster,
    site: &mut ClusterDraft,
    lowering: &mut ClusterDrafts,
    topology: &Topology,
) {
    for (o, operation) in raw.operations.iter().enumerate() {
        let RawOperationKind::AddZone(add) = &operation.change else { continue };
        if add.cluster != cluster.name.as_str() {
            continue;
        }
        let place = format!("operations[{o}].add_zone");
        if cluster.components.contains(&RawLeased::MachineControllerManager) {
            let expected = "a cluster without `machine_controller_manager`: with it, list the zone in the pool from the start";
            ctx.error(&format!("{place}.cluster"), quote(&add.cluster), expected);
        }
        let zone = topology.zone_names.find(ctx, &format!("{place}.zone"), &add.zone).map(ZoneId::from);
        let pool = site.pools.find(ctx, &format!("{place}.pool"), &add.pool);
        let (Some(zone), Some(p)) = (zone, pool) else { continue };
        let (name, deployments) = (add.machine_deployment(), &site.cluster.machine_deployments);
        let Some(first) = deployments.get(site.seed.pools[p].first) else { continue };
        if deployments.iter().any(|deployment| deployment.zone == zone || deployment.name == name) {
            ctx.error(
                &format!("{place}.zone"),
                quote(&add.zone),
                "a zone that has no nodes of the cluster, and that no earlier operation adds",
            );
            continue;
        }
        // As in the pool's first zone, but for the labels that say where.
        let mut added = MachineDeployment { name, zone, minimum: 0, maximum: add.nodes, added: true, ..first.clone() };
        added.pool = PoolShare { zone: (0, 1), minimum: 0, maximum: add.nodes, ..added.pool };
        added.stock = cluster.pools[p].machine.kind.as_ref().and_then(|kind| lowering.stock(kind.as_str(), zone));
        let region = &topology.regions[usize::from(topology.zones[zone].region)];
        added.template.labels.set(Symbol::ZONE, lowering.symbols.symbol(&topology.zones[zone].name));
        added.template.labels.set(Symbol::REGION, lowering.symbols.symbol(region));
        site.cluster.machine_deployments.push(added);
    }
}

/// The hosts of the control plane are nodes of the cluster, as kubeadm registers them (kubernetes.io, "kubeadm init", phase
/// `mark-control-plane`): pods must tolerate their taint to run there. API server, controllers and etcd are static pods, which are neither
/// drained nor evicted: of them the API sees what they request.
fn register_hosts(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawCluster,
    site: &mut ClusterDraft,
    symbols: &mut SymbolTable,
    topology: &Topology,
) {
    let machine = raw.control_plane.machine.clone().unwrap_or_default();
    let all = resources(&machine);
    let allocatable = static_pods(&raw.components).fold(all, |left, pod| Resources {
        cpu_milli: left.cpu_milli.saturating_sub(pod.cpu_milli),
        memory: left.memory.saturating_sub(pod.memory),
        pods: left.pods.saturating_sub(pod.pods),
    });
    let [role, excluded] = ["node-role.kubernetes.io/control-plane", "node.kubernetes.io/exclude-from-external-load-balancers"]
        .map(|key| symbols.symbol(key));
    for host in site.cluster.control_plane.clone() {
        let Node { name, zone, .. } = &topology.nodes[host];
        let mut labels = usual_labels(symbols, *zone, &machine, topology);
        labels.extend([(Symbol::HOSTNAME, symbols.symbol(name)), (role, symbols.symbol("")), (excluded, symbols.symbol(""))]);
        let template = NodeTemplate {
            labels: labels.into_iter().collect(),
            taints: vec![Taint { key: role, value: None, effect: Effect::NoSchedule }],
            allocatable,
            volumes: machine.volumes,
            card_bytes_per_s: card(&machine),
        };
        site.nodes.add(ctx, &format!("{path}.name"), name, site.zones.len());
        site.add_node(NodeSpec { node: host, template, machine: None }, *zone);
    }
}

/// What the static pods of a host request (kubeadm: `cmd/kubeadm/app/phases/{controlplane,etcd}`).
fn static_pods(components: &[RawLeased]) -> impl Iterator<Item = Resources> {
    let pod = |cpu_milli, memory| Resources { cpu_milli, memory, pods: 1 };
    let of_component = move |component: &RawLeased| match component {
        RawLeased::KubeControllerManager => Some(pod(200, 0)),
        RawLeased::KubeScheduler => Some(pod(100, 0)),
        // No part of kubeadm: wherever they run, they are not static pods.
        RawLeased::MachineControllerManager | RawLeased::ClusterAutoscaler => None,
    };
    let (server, etcd) = (pod(250, 0), pod(100, 100 << 20));
    [server, etcd].into_iter().chain(components.iter().filter_map(of_component))
}

/// The Services of a cluster.
fn services(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, raw: &[RawService]) -> TiVec<ServiceId, Service> {
    let mut names = Names::new("a Service");
    let mut service = |(k, raw): (usize, &RawService)| {
        let path = format!("{path}.services[{k}]");
        names.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        let traffic = raw.traffic.as_ref().map(|raw| ServiceTraffic {
            clients: selected(ctx, symbols, &format!("{path}.traffic.clients"), &raw.clients),
            per_s: raw.connections.as_per_second(),
            bytes: raw.bytes.0,
            capacity_per_s: raw.endpoint_capacity.map(Rate::as_per_second),
        });
        Service {
            name: raw.name.to_string(),
            pods: selected(ctx, symbols, &format!("{path}.pods"), &raw.pods),
            distribution: raw.traffic_distribution,
            policy: raw.internal_traffic_policy,
            traffic,
        }
    };
    raw.iter().enumerate().map(&mut service).collect()
}

/// The budgets of a cluster.
fn budgets(ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, path: &str, raw: &[RawBudget]) -> Vec<Budget> {
    let mut names = Names::new("a budget");
    let mut all = Vec::new();
    for (k, raw) in raw.iter().enumerate() {
        let path = format!("{path}.budgets[{k}]");
        names.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        let pods = selected(ctx, symbols, &format!("{path}.pods"), &raw.pods);
        for (field, limit) in [("max_unavailable", raw.max_unavailable), ("min_available", raw.min_available)] {
            if let Some(share @ IntOrPercent::Percent(101..)) = limit {
                ctx.error(&format!("{path}.{field}"), quoted(share), "at most 100%");
            }
        }
        let limit = match (raw.max_unavailable, raw.min_available) {
            (Some(most), None) => BudgetLimit::MaxUnavailable(most),
            (None, Some(least)) => BudgetLimit::MinAvailable(least),
            (most, _) if ctx.trusts(&format!("{path}.max_unavailable")) && ctx.trusts(&format!("{path}.min_available")) => {
                let found = if most.is_some() { "`max_unavailable` and `min_available`" } else { "neither limit" };
                ctx.error(&path, found, "`max_unavailable` or `min_available`");
                continue;
            }
            _ => continue,
        };
        all.push(Budget { name: raw.name.to_string(), pods, limit, unhealthy_pods: raw.unhealthy_pods });
    }
    all
}
