//! Which faults may have to do with an outage of a client: those that hit the connection that it had, or what it dials.

use super::{Access, Beginning};
use crate::access::origin::{node, way};
use crate::access::record::{ConnectionState, Dialled};
use crate::ids::{KubeClusterId, NodeId, ZoneId};
use crate::kube::ctx::ApiClient;
use crate::scenario::access::{Alternatives, Loopback};
use crate::scenario::{Fault, FaultTarget, Hit, Impact, LbPartition, Place};

impl Access {
    /// Whether a fault can concern a client: whether it hits what its connection used, or, where it had none, what it may use. Packets that do
    /// not pass are nothing that etcd does, and errors of etcd nothing that a load balancer does.
    pub(super) fn concerns(&self, fault: &Fault, cluster: KubeClusterId, client: ApiClient, beginning: &Beginning) -> bool {
        let (scenario, spec) = (&*self.scenario, &self.scenario.kube.clusters[cluster]);
        if !is_felt(fault, beginning.now) {
            return false;
        }
        let used = beginning.now.other_end().or_else(|| beginning.had.other_end());
        let stays = self.stays_on_host(cluster, client);
        let (dials_balancer, dials_server) = match beginning.dials {
            Some(Dialled::Balancer { .. } | Dialled::AtLimit) => (true, false),
            Some(Dialled::Itself) => (stays.is_none(), false),
            Some(Dialled::Server | Dialled::Outside { .. }) => (false, true),
            None => (false, false),
        };
        let through = dials_balancer || used.map_or(stays.is_none() && !dials_server, |(_, through)| through);
        // From outside the cluster network no packet passes on that way, whatever happens to it.
        let is_outside = matches!(beginning.dials, Some(Dialled::Outside { .. }));
        let knows_servers = stays.is_some()
            || match self.way_beside(cluster, client) {
                None => false,
                // It dials the balancer as long as it knows none.
                Some(Alternatives::InMemoryDns) => !dials_balancer,
                Some(_) => true,
            };
        let own = self.origin(cluster, client).filter(|_| through);
        let balancer = own.map(|own| &scenario.load_balancers[own]);
        let members: Vec<NodeId> = scenario.etcd[spec.etcd].members.iter().map(|member| member.node).collect();
        let members = if beginning.needs_etcd() { &members[..] } else { &[] };
        let client = node(client, spec);
        let servers: Vec<NodeId> = match (used, stays) {
            (Some((server, _)), _) => vec![spec.control_plane[server as usize]],
            (None, Some(own)) => vec![own],
            (None, None) => spec.control_plane.clone(),
        };
        let uses = |host: NodeId| client == Some(host) || servers.contains(&host) || members.contains(&host);
        let zone_of = |host: &NodeId| scenario.nodes[*host].zone;
        let of_balancer = |zone: ZoneId| {
            balancer.is_some_and(|own| own.zones.contains(&zone) || own.machines.iter().map(zone_of).any(|own| own == zone))
        };
        let is_near = |zone: ZoneId| {
            let mut hosts = servers.iter().chain(&client).chain(members);
            of_balancer(zone) || client.is_none() || hosts.any(|host| zone_of(host) == zone)
        };
        // Its packets take this way: from the client, perhaps over the balancer, to the server, and from there to etcd.
        let is_at = |host: &NodeId, place: Place| match place {
            Place::Zone(zone) => zone_of(host) == zone,
            Place::Node(node) => *host == node,
        };
        let balancer_at = |place: Place| match place {
            Place::Zone(zone) => of_balancer(zone),
            Place::Node(node) => balancer.is_some_and(|own| own.machines.contains(&node)),
        };
        let client_at = |place: Place| client.is_none_or(|host| is_at(&host, place));
        let server_at = |place: Place| servers.iter().any(|host| is_at(host, place));
        let member_at = |place: Place| members.iter().any(|host| is_at(host, place));
        let straight = used.map_or(knows_servers && !is_outside, |(_, through)| !through) || dials_server && !is_outside;
        let crosses = |a: Place, b: Place| {
            through && balancer_at(b) && (client_at(a) || server_at(a))
                || straight && client_at(a) && server_at(b)
                || member_at(b) && (server_at(a) || member_at(a))
        };
        fault.kind().hits().into_iter().any(|hit| match hit {
            Hit::Balancer(balancer) => {
                let cut_off = |place: &Place| client_at(*place) || server_at(*place);
                let anywhere = |LbPartition { from, .. }: &LbPartition| from.is_empty() || from.iter().any(cut_off);
                own == Some(balancer) && !matches!(fault, Fault::LbPartition(partition) if !anywhere(partition))
            }
            Hit::Member(FaultTarget::Named(member)) => beginning.needs_etcd() && member.cluster == spec.etcd,
            Hit::Node(FaultTarget::Named(node)) => {
                // An API server stops alone: members and clients on its host go on.
                let is_server = matches!(fault, Fault::ApiServerKill(_) | Fault::ApiServerStop(_));
                if is_server { servers.contains(&node) } else { uses(node) }
            }
            Hit::Volume(FaultTarget::Named(volume)) => {
                beginning.needs_etcd() && scenario.etcd[spec.etcd].members.iter().any(|member| member.volume == volume)
            }
            Hit::Zone(FaultTarget::Named(zone)) => is_near(zone),
            Hit::Link(a, b) => crosses(a, b) || crosses(b, a),
            // Faults that have begun hit what they name.
            Hit::Member(_) | Hit::Node(_) | Hit::Volume(_) | Hit::Zone(_) => false,
        })
    }
}

impl Access {
    /// Host of a client whose packets to its load balancer never leave that host: it reaches the API server there alone.
    fn stays_on_host(&self, cluster: KubeClusterId, client: ApiClient) -> Option<NodeId> {
        let spec = &self.scenario.kube.clusters[cluster];
        let balancer = &self.scenario.load_balancers[self.origin(cluster, client)?];
        let own = node(client, spec).filter(|own| spec.control_plane.contains(own));
        own.filter(|_| balancer.loopback == Loopback::StaysOnHost && self.way_beside(cluster, client).is_none())
    }

    /// The way of a client to API servers beside its load balancer.
    pub(super) fn way_beside(&self, cluster: KubeClusterId, client: ApiClient) -> Option<Alternatives> {
        let spec = &self.scenario.kube.clusters[cluster];
        let further = if let ApiClient::Further(id, _) = client { Some(&spec.api_clients[id]) } else { None };
        way(client, &spec.access?, further)
    }
}

/// Whether a fault can bring a client's connection into this state, by its kind.
fn is_felt(fault: &Fault, now: ConnectionState) -> bool {
    match fault {
        Fault::LbThrottled(_) => matches!(now, ConnectionState::Late { .. }),
        Fault::LbStaleTargets(_) | Fault::LbTcpHealthOnly(_) | Fault::LbWrongTarget(_) => matches!(now, ConnectionState::None),
        Fault::LbDown(_) | Fault::LbRemoved(_) | Fault::LbPartition(_) | Fault::ApiServerKill(_) | Fault::ApiServerStop(_) => {
            matches!(now, ConnectionState::None | ConnectionState::Silent { .. })
        }
        // Packets that come late or are sent again end no connection.
        _ => {
            fault.kind().impact() != Impact::SlowsNetwork
                || matches!(now, ConnectionState::Late { .. } | ConnectionState::Unanswered { .. })
        }
    }
}
