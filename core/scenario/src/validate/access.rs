//! Load balancers, and the clusters whose clients go through them.

use super::mark;
use crate::access::{Alternatives, ApiAccess, ApiClientSpec, Check, EndpointRules, LoadBalancer, Loopback, OwnDialer, RateLimit};
use crate::error::{quote, show};
use crate::ids::{ApiClientId, BalancerId, NodeId, TiVec, ZoneId};
use crate::kube::{Component, KubeClusterSpec, KubeModel};
use crate::lowering::{CheckCtx, Names, Topology, quoted, zones_of};
use crate::raw::{
    AdvertisedTo, BalancerProfile, ClientAlternatives, RawApiAccess, RawApiClient, RawCheck, RawLoadBalancer, RawScenario, RunsOn,
};
use crate::source::Input;
use crate::units::{Bandwidth, Span};
use zonefall_kernel::time::{Duration, Time};

/// Zones of a load balancer, at most.
const MAX_ZONES: usize = 16;

/// The cluster that names a load balancer.
#[derive(Clone, Debug)]
struct Behind {
    /// Its place in the file.
    cluster: usize,
    /// Zones of its control plane.
    zones: Vec<ZoneId>,
    /// Nodes of the topology that each run a node of the balancer.
    machines: Vec<NodeId>,
}

/// The cluster of each load balancer; `None`: none names it.
type AllBehind = TiVec<BalancerId, Option<Behind>>;

/// Load balancers, and what their names stand for. Says of each cluster in `kube` how its clients reach its API servers.
pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    topology: &Topology,
    kube: &mut KubeModel,
    inputs: &mut Vec<Input>,
) -> (TiVec<BalancerId, LoadBalancer>, Names) {
    let mut names = Names::new("a load balancer");
    if !ctx.trusts("load_balancers") {
        // Too many: none of them is known by name.
        names.add(ctx, "load_balancers", "", 0);
    }
    let mut balancers: TiVec<BalancerId, LoadBalancer> = TiVec::with_capacity(raw.load_balancers.len());
    for (k, raw) in raw.load_balancers.iter().enumerate() {
        let path = format!("load_balancers[{k}]");
        names.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        mark(ctx, inputs, &path, &raw.mark);
        balancers.push(balancer(ctx, &path, raw, topology));
    }
    let behind = clusters(ctx, raw, topology, &names, kube);
    for (id, place) in behind.into_iter_enumerated() {
        let (k, balancer) = (usize::from(id), &mut balancers[id]);
        match place {
            Some(Behind { machines, .. }) if !machines.is_empty() => {
                if raw.load_balancers[k].profile != BalancerProfile::Haproxy {
                    let expected = "`haproxy`: a process on each node of the cluster is not one of a cloud provider";
                    ctx.error(
                        &format!("load_balancers[{k}].profile"),
                        show(&serde_json::json!(raw.load_balancers[k].profile)),
                        expected,
                    );
                }
                if !balancer.zones.is_empty() {
                    let expected = "none: its nodes are those of the cluster (`load_balancer_on_each_node`)";
                    ctx.error(&format!("load_balancers[{k}].zones"), "zones", expected);
                }
                (balancer.zones, balancer.machines, balancer.is_charged) = (Vec::new(), machines, false);
            }
            Some(Behind { zones, cluster, .. }) => {
                if balancer.zones.is_empty() {
                    balancer.zones = zones;
                } else if !zones.is_empty() && balancer.has_no_target(zones.into_iter()) {
                    let expected = "a zone with an API server, or `cross_zone`: none of its nodes has a target";
                    let found: Vec<String> = balancer.zones.iter().map(|zone| quote(&topology.zones[*zone].name)).collect();
                    ctx.warn(&format!("load_balancers[{k}].zones"), found.join(", "), expected);
                }
                let name = raw.clusters[cluster].name.as_str();
                let behind = kube.clusters.iter().find(|spec| spec.name == name);
                if balancer.loopback == Loopback::Fails && behind.is_some_and(|spec| spec.control_plane.len() == 1) {
                    let expected =
                        "`works`, or more hosts of the control plane: programs on the only one never reach their API server";
                    ctx.warn(&format!("load_balancers[{k}].loopback"), quote("fails"), expected);
                }
            }
            None => {
                let expected = "a load balancer that the `api_access` or a client of a cluster names: this one has no targets";
                ctx.warn(&format!("load_balancers[{k}].name"), quote(&balancer.name), expected);
                if balancer.zones.is_empty() {
                    balancer.zones = topology.zones.keys().take(MAX_ZONES).collect();
                }
            }
        }
    }
    (balancers, names)
}

fn balancer(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawLoadBalancer, topology: &Topology) -> LoadBalancer {
    let usual = raw.profile.values();
    LoadBalancer {
        name: raw.name.to_string(),
        zones: zones_of(ctx, &format!("{path}.zones"), &raw.zones, None, topology),
        machines: Vec::new(),
        one_address: raw.profile.has_one_address(),
        relays: raw.profile.relays(),
        cross_zone: raw.cross_zone.unwrap_or(usual.cross_zone.0),
        check: check(ctx, &format!("{path}.check"), raw),
        all_unhealthy: raw.all_unhealthy.unwrap_or(usual.all_unhealthy.0),
        established: raw.established.unwrap_or(usual.established.0),
        loopback: raw.loopback.unwrap_or(usual.loopback.0),
        hop_latency: given(raw.hop_latency, usual.hop_latency.0),
        bandwidth: raw.bandwidth.map(Bandwidth::bytes_per_s),
        connection_limit: raw.connection_limit,
        is_charged: raw.profile != BalancerProfile::Haproxy,
    }
}

fn check(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawLoadBalancer) -> Check {
    let usual = raw.profile.values();
    let RawCheck { kind, interval, timeout, rise, fall, first_rise } = raw.check;
    let check = Check {
        kind: kind.unwrap_or(usual.check.0),
        interval: given(interval, usual.interval.0),
        timeout: given(timeout, usual.timeout.0),
        rise: rise.unwrap_or(usual.rise.0),
        fall: fall.unwrap_or(usual.fall.0),
        first_rise: first_rise.unwrap_or(usual.first_rise.0),
    };
    if check.timeout > check.interval {
        let expected = format!(
            "at most the interval of {}: with a longer timeout a check starts before the one before it has ended",
            Span(check.interval)
        );
        ctx.warn(&format!("{path}.timeout"), quoted(Span(check.timeout)), expected);
    }
    check
}

fn given(span: Option<Span>, usual: Duration) -> Duration {
    span.map_or(usual, |span| span.0)
}

/// Says of each cluster which load balancers are its own.
fn clusters(ctx: &mut CheckCtx<'_>, raw: &RawScenario, topology: &Topology, names: &Names, kube: &mut KubeModel) -> AllBehind {
    let mut behind: AllBehind = vec![None; raw.load_balancers.len()].into();
    for (k, cluster) in raw.clusters.iter().enumerate() {
        let Some(access) = &cluster.api_access else {
            if !cluster.api_clients.is_empty() {
                let expected = "none without `api_access`: it says how they reach the API";
                ctx.error(&format!("clusters[{k}].api_clients"), "clients", expected);
            }
            continue;
        };
        let path = format!("clusters[{k}].api_access");
        let mut own = |ctx: &mut CheckCtx<'_>, path: &str, name: &str| {
            let balancer = names.find(ctx, path, name).map(BalancerId::from)?;
            let new = || Behind { cluster: k, zones: Vec::new(), machines: Vec::new() };
            let Behind { cluster: first, .. } = behind[balancer].get_or_insert_with(new);
            if *first != k {
                let expected = format!("a load balancer of its own: this one is that of clusters[{first}] already");
                ctx.error(path, format!("{} again", quote(name)), expected);
                return None;
            }
            Some(balancer)
        };
        let balancer = own(ctx, &format!("{path}.load_balancer"), &access.load_balancer);
        let on_each_node = access
            .load_balancer_on_each_node
            .as_ref()
            .and_then(|name| own(ctx, &format!("{path}.load_balancer_on_each_node"), name));
        let of_clients: Vec<Option<BalancerId>> = cluster
            .api_clients
            .iter()
            .enumerate()
            .map(|(j, client)| {
                let name = client.load_balancer.as_ref()?;
                own(ctx, &format!("clusters[{k}].api_clients[{j}].load_balancer"), name)
            })
            .collect();
        let Some(balancer) = balancer else { continue };
        if let (Some(local), Some(name)) = (on_each_node, access.load_balancer_on_each_node.as_deref())
            && (local == balancer || of_clients.contains(&Some(local)))
        {
            let expected = "a load balancer of its own: another field of this cluster names this one, too";
            ctx.error(&format!("{path}.load_balancer_on_each_node"), quote(name), expected);
            continue;
        }
        // It is missing where something is wrong with it.
        let Some(spec) = kube.clusters.iter_mut().find(|spec| spec.name == cluster.name.as_str()) else { continue };
        let endpoints = access.endpoints.unwrap_or(match access.alternatives {
            Some(Alternatives::Text) => EndpointRules::Text,
            Some(_) | None => EndpointRules::Code,
        });
        let goaway_chance = access.goaway_chance.map_or(0.0, |chance| chance.0);
        let alternatives = access.alternatives;
        let alternatives_of_kubelets = allowed(access.kubelet_dialer.unwrap_or(OwnDialer::Wrapped), alternatives);
        let access_of = ApiAccess { balancer, on_each_node, alternatives, alternatives_of_kubelets, endpoints, goaway_chance };
        spec.access = Some(access_of);
        if access.alternatives == Some(Alternatives::Text) && spec.shutdown_delay == Some(Duration::ZERO) {
            let expected = "a delay: with the rules `text` clients use a list for as long, that is not at all";
            ctx.warn(&format!("clusters[{k}].api_servers.shutdown_delay"), "0s", expected);
        }
        unused(ctx, &format!("clusters[{k}]"), access, &cluster.api_clients);
        if access.advertised_to != AdvertisedTo::Everyone && !access.alternatives.is_some_and(Alternatives::are_advertised) {
            ctx.warn(&format!("clusters[{k}].api_access.advertised_to"), "clients", NOBODY_ADVERTISES);
        }
        spec.not_advertising = not_advertising(ctx, &format!("{path}.not_advertising"), access, spec, topology);
        let clients = (&cluster.api_clients[..], &of_clients[..], access);
        spec.api_clients = api_clients(ctx, &format!("clusters[{k}].api_clients"), clients, spec, topology);
        let mut zones: Vec<ZoneId> = Vec::new();
        for zone in spec.control_plane.iter().map(|host| topology.nodes[*host].zone) {
            if !zones.contains(&zone) {
                zones.push(zone);
            }
        }
        for Behind { zones: own, .. } in behind.iter_mut().flatten().filter(|behind| behind.cluster == k) {
            own.clone_from(&zones);
        }
        if let Some(behind) = on_each_node.and_then(|local| behind[local].as_mut()) {
            behind.machines = every_node(spec);
        }
    }
    behind
}

/// The way of a client whatever its dialer; `None`: the load balancer alone, for it is to have no other or API servers list none to it.
fn way_of(client: &RawApiClient, access: &RawApiAccess) -> Option<Alternatives> {
    let is_told = client.in_cluster_network || access.advertised_to == AdvertisedTo::Everyone;
    let way = client.alternatives.map_or(access.alternatives, ClientAlternatives::way);
    way.filter(|way| is_told || !way.are_advertised())
}

/// The way of a client that has this dialer; `None`: the load balancer alone.
fn allowed(dialer: OwnDialer, way: Option<Alternatives>) -> Option<Alternatives> {
    way.filter(|way| dialer.allows(*way))
}

/// The hosts of the control plane, and the other nodes that a cluster has at the start.
fn every_node(cluster: &KubeClusterSpec) -> Vec<NodeId> {
    let hosts = cluster.hosts_at_start();
    let workers = cluster.nodes.iter().map(|node| node.node).filter(|node| !hosts.contains(node));
    hosts.iter().copied().chain(workers).collect()
}

/// Requests that may exceed a limit of the rate at once, where the file says nothing (client-go `rest/config.go`: DefaultBurst).
const DEFAULT_BURST: u32 = 10;

/// What is expected of fields that say who advertises alternatives to whom.
const NOBODY_ADVERTISES: &str = "none without `alternatives` of `text` or `code`: no API server advertises any";

/// Requests of one client in a run, at most.
const MOST_REQUESTS: f64 = 2e7;

/// Hosts whose API servers advertise no alternatives.
fn not_advertising(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    access: &RawApiAccess,
    cluster: &KubeClusterSpec,
    topology: &Topology,
) -> Vec<NodeId> {
    if !access.not_advertising.is_empty() && !access.alternatives.is_some_and(Alternatives::are_advertised) {
        ctx.warn(path, "hosts", NOBODY_ADVERTISES);
    }
    let mut hosts = Vec::new();
    for (k, name) in access.not_advertising.iter().enumerate() {
        let path = format!("{path}[{k}]");
        let Some(host) = topology.node_names.find(ctx, &path, name).map(NodeId::from) else { continue };
        if !cluster.control_plane.contains(&host) {
            ctx.error(&path, quoted(name), "a host of this cluster's control plane");
        }
        if hosts.contains(&host) {
            ctx.error(&path, format!("{} again", quoted(name)), "each host once");
        }
        hosts.push(host);
    }
    hosts
}

/// Warns of what says how clients reach API servers beside the load balancer, where none does so in that way.
fn unused(ctx: &mut CheckCtx<'_>, path: &str, access: &RawApiAccess, clients: &[RawApiClient]) {
    let reads = |way: Option<Alternatives>| way.is_some_and(|way| way != Alternatives::Configured);
    if access.endpoints.is_some() && !reads(access.alternatives) && !clients.iter().any(|client| reads(way_of(client, access))) {
        let expected =
            "none: the clients learn no API servers from the Service `kubernetes`, neither by `alternatives` nor by a dialer";
        ctx.warn(&format!("{path}.api_access.endpoints"), "rules", expected);
    }
    // A way that any dialer allows does not use it.
    let uses_dialer = |way: Option<Alternatives>| way.is_some_and(|way| !OwnDialer::Exclusive.allows(way));
    let expected = "none: only `custom_dialer` and `in_memory_dns` depend on it";
    if access.kubelet_dialer.is_some() && !uses_dialer(access.alternatives) {
        ctx.warn(&format!("{path}.api_access.kubelet_dialer"), "a dialer", expected);
    }
    for (j, client) in clients.iter().enumerate() {
        if client.dialer != OwnDialer::None && !uses_dialer(way_of(client, access)) {
            ctx.warn(&format!("{path}.api_clients[{j}].dialer"), "a dialer", expected);
        }
    }
}

/// Further clients of the API of a cluster.
fn api_clients(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    (raw, balancers, access): (&[RawApiClient], &[Option<BalancerId>], &RawApiAccess),
    cluster: &KubeClusterSpec,
    topology: &Topology,
) -> TiVec<ApiClientId, ApiClientSpec> {
    let mut names = Names::new("a client of this API");
    let mut all = TiVec::with_capacity(raw.len());
    for (k, raw) in raw.iter().enumerate() {
        let path = format!("{path}[{k}]");
        names.add(ctx, &format!("{path}.name"), raw.name.as_str(), k);
        if Component::ALL.iter().any(|component| component.name() == raw.name.as_str()) {
            ctx.error(
                &format!("{path}.name"),
                quoted(&raw.name),
                "another name than that of a component, which is a client already",
            );
        }
        let own = raw.alternatives.and_then(ClientAlternatives::way);
        if own.is_some_and(|way| !raw.dialer.allows(way)) {
            let expected = "a way that needs no dialer: this client has one already (`dialer`)";
            ctx.error(&format!("{path}.alternatives"), "a way with a dialer of its own", expected);
        }
        if let Some(burst) = raw.burst.filter(|_| raw.qps.is_none()) {
            ctx.warn(&format!("{path}.burst"), burst.to_string(), "none without `qps`: its rate has no limit");
        }
        let learns = matches!(raw.alternatives, Some(ClientAlternatives::Text | ClientAlternatives::Code));
        if learns && !access.alternatives.is_some_and(Alternatives::are_advertised) {
            let expected = "`none`, `configured`, `custom_dialer` or `in_memory_dns`: without `text` or `code` in `api_access` no API server advertises any";
            ctx.error(&format!("{path}.alternatives"), "rules of alternatives", expected);
        }
        let nodes = nodes(ctx, &path, raw, cluster, topology);
        let requests = nodes.len() as f64 * raw.rate.as_per_second() * ctx.end.as_secs_f64();
        if raw.requests.is_none() && requests > MOST_REQUESTS {
            let expected = format!("at most {MOST_REQUESTS} requests of its processes until the end of the run");
            ctx.error(&format!("{path}.rate"), format!("about {requests:.0}"), expected);
        }
        if raw.start.0 >= ctx.end.since(Time::ZERO) {
            ctx.error(&format!("{path}.start"), quoted(raw.start), "a time before the end of the run (`duration`)");
        }
        all.push(ApiClientSpec {
            name: raw.name.to_string(),
            nodes,
            start: raw.start.0,
            rate: raw.rate,
            requests: raw.requests,
            response: raw.response.0,
            response_sizes: raw.response_sizes,
            timeout: raw.timeout.map(|span| span.0),
            limit: raw.qps.map(|qps| RateLimit { qps, burst: raw.burst.unwrap_or(DEFAULT_BURST) }),
            balancer: balancers[k],
            alternatives: allowed(raw.dialer, way_of(raw, access)),
            in_cluster_network: raw.in_cluster_network,
        });
    }
    all
}

/// Nodes that a client runs on.
fn nodes(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawApiClient, cluster: &KubeClusterSpec, topology: &Topology) -> Vec<NodeId> {
    if !raw.nodes.is_empty() {
        if raw.runs_on.is_some() {
            ctx.error(&format!("{path}.runs_on"), "a kind and `nodes`", "one of the two");
        }
        let mut nodes = Vec::new();
        for (k, name) in raw.nodes.iter().enumerate() {
            let path = format!("{path}.nodes[{k}]");
            let Some(node) = topology.node_names.find(ctx, &path, name).map(NodeId::from) else { continue };
            if nodes.contains(&node) {
                ctx.error(&path, format!("{} again", quoted(name)), "each node once");
            }
            nodes.push(node);
        }
        return nodes;
    }
    let nodes: Vec<NodeId> = match raw.runs_on.unwrap_or(RunsOn::EveryNode) {
        RunsOn::EveryNode => every_node(cluster),
        RunsOn::ControlPlane => cluster.hosts_at_start().to_vec(),
        RunsOn::Workers => every_node(cluster).split_off(cluster.hosts_at_start().len()),
    };
    if nodes.is_empty() {
        ctx.error(
            &format!("{path}.runs_on"),
            "a cluster without such nodes at the start",
            "a kind of nodes that it has, or `nodes`",
        );
    }
    nodes
}
