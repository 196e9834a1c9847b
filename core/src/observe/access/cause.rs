//! Causes of clients' outages, in words.

use super::{AFTER, Access, Outage};
use crate::access::origin::node;
use crate::access::record::ConnectionState;
use crate::ids::{EtcdId, KubeClusterId, NodeId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ApiClient;
use crate::observe::causes::BEFORE;
use crate::scenario::access::{Alternatives, LoadBalancer, Loopback};
use crate::scenario::{ActiveFault, Fault, FaultTarget, Hit, text};

/// A dial fails after this time.
const DIAL: Duration = Duration::from_secs(30);

impl Access {
    pub(super) fn cause(&self, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2], at: Time) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let because = self.because(cluster, client, [had, now], at);
        let balancer = |through: bool| {
            let origin = self.origin(cluster, client).filter(|_| through);
            let name = origin.map(|origin| &self.scenario.load_balancers[origin].name);
            name.map_or_else(String::new, |name| format!(" through {name}"))
        };
        let server = |key: u32| &self.scenario.nodes[spec.control_plane[key as usize]].name;
        match (had, now) {
            (ConnectionState::Open { .. }, ConnectionState::Silent { server: key, through }) => {
                format!("its connection to {}{} fell silent ({because})", server(key), balancer(through))
            }
            (_, ConnectionState::Unanswered { server: key, through }) => {
                format!("etcd does not answer {}, to which it is connected{} ({because})", server(key), balancer(through))
            }
            (_, ConnectionState::Late { server: key, through }) => {
                format!("responses from {}{} take longer than its requests wait ({because})", server(key), balancer(through))
            }
            (
                ConnectionState::Open { server: key, through }
                | ConnectionState::Silent { server: key, through }
                | ConnectionState::Unanswered { server: key, through }
                | ConnectionState::Late { server: key, through },
                _,
            ) => {
                format!("its connection to {}{} ended ({because})", server(key), balancer(through))
            }
            (ConnectionState::None, _) => format!("it found no API server when it started ({because})"),
        }
    }

    /// What never works, and faults under way; else what etcd has just done; else what the load balancer does without a fault; else a fault
    /// that ended not long ago.
    fn because(&self, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2], at: Time) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let vanish = match client {
            ApiClient::Further(id, _) if !spec.api_clients[id].in_cluster_network && had == ConnectionState::None => {
                let to = spec.api_clients[id].alternatives.and_then(first_dialled);
                to.map(|to| format!("packets from outside the cluster network to {to} vanish"))
            }
            _ => None,
        };
        let concerns = |fault: &&ActiveFault| self.concerns(&fault.fault, cluster, client, [had, now]);
        let just_ended = self.ended.iter().filter(|(ended, _)| *ended == at).map(|(_, fault)| fault);
        let faults = self.active.iter().chain(just_ended).filter(concerns).map(|fault| fault.fault.kind().began(&*self.scenario));
        let faults: Vec<String> = vanish.into_iter().chain(faults).collect();
        if !faults.is_empty() {
            return faults.join(", ");
        }
        let stopped = had.other_end().and_then(|(server, _)| self.stopping.get(&(cluster, spec.control_plane[server as usize])));
        if let Some(then) = stopped {
            return format!("it was asked to stop {} before", text::duration(at.since(*then)));
        }
        // A client that starts and finds no server: that is not etcd's doing.
        let has_server = [had, now] != [ConnectionState::None; 2];
        let is_recent = |(then, etcd, _): &&(Time, EtcdId, String)| has_server && *etcd == spec.etcd && at <= *then + BEFORE;
        if let Some((_, _, happened)) = self.happened.iter().rev().find(is_recent) {
            return happened.clone();
        }
        let ended = || {
            let (then, fault) = self.ended.iter().rev().find(|(ended, fault)| at <= *ended + AFTER && concerns(&fault))?;
            Some(format!("{} {} before", fault.fault.kind().ended(&*self.scenario), text::duration(at.since(*then))))
        };
        self.without_fault(cluster, client, had, now).or_else(ended).unwrap_or_else(|| "no fault under way".to_owned())
    }

    /// What kept a client without a connection for longer than a fault did: it is sent to its own host.
    pub(super) fn itself(
        &self,
        cluster: KubeClusterId,
        client: ApiClient,
        (outage, silent, until): (&Outage, Duration, Time),
    ) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let is_target = node(client, spec).is_some_and(|host| spec.control_plane.contains(&host));
        let origin = self.origin(cluster, client).filter(|_| is_target);
        let why = origin.and_then(|origin| loopback(&self.scenario.load_balancers[origin]));
        // A dial that fails takes 30 s.
        let why = why.filter(|why| outage.from + silent + DIAL <= until && !outage.cause.contains(why));
        why.map_or_else(String::new, |why| format!("; {why}"))
    }

    /// What a load balancer does without a fault.
    fn without_fault(
        &self,
        cluster: KubeClusterId,
        client: ApiClient,
        had: ConnectionState,
        now: ConnectionState,
    ) -> Option<String> {
        let spec = &self.scenario.kube.clusters[cluster];
        let origin = self.origin(cluster, client)?;
        let balancer = &self.scenario.load_balancers[origin];
        // Of a balancer on each node only the process on the client's own.
        let serves = |place: u16| balancer.machines.get(usize::from(place)).is_none_or(|own| node(client, spec) == Some(*own));
        let is_target = node(client, spec).is_some_and(|host| spec.control_plane.contains(&host));
        match had {
            ConnectionState::Open { server, through: true }
            | ConnectionState::Unanswered { server, through: true }
            | ConnectionState::Silent { server, through: true }
            | ConnectionState::Late { server, through: true }
                if self.unhealthy.iter().any(|(own, place, target)| *own == origin && serves(*place) && *target == server) =>
            {
                Some(format!("{} found it unhealthy", balancer.name))
            }
            _ if is_target && now == ConnectionState::None && balancer.loopback != Loopback::Works => loopback(balancer),
            ConnectionState::None if self.unhealthy.iter().any(|(own, place, _)| *own == origin && serves(*place)) => {
                Some(format!("{} finds API servers unhealthy", balancer.name))
            }
            _ => None,
        }
    }

    /// Whether a fault can concern a client: whether it hits what its connection used, or, where it had none, what it may use. Packets that do
    /// not pass are nothing that etcd does.
    fn concerns(&self, fault: &Fault, cluster: KubeClusterId, client: ApiClient, [had, now]: [ConnectionState; 2]) -> bool {
        let (scenario, spec) = (&*self.scenario, &self.scenario.kube.clusters[cluster]);
        let used = had.other_end().or_else(|| now.other_end());
        let members = &scenario.etcd[spec.etcd].members;
        let needs_etcd = !matches!(now, ConnectionState::Silent { .. } | ConnectionState::Late { .. });
        let serves = |host: NodeId| {
            used.map_or_else(|| spec.control_plane.contains(&host), |(server, _)| spec.control_plane[server as usize] == host)
        };
        let uses = |host: NodeId| {
            serves(host) || node(client, spec) == Some(host) || needs_etcd && members.iter().any(|member| member.node == host)
        };
        let through = used.is_none_or(|(_, through)| through);
        let own = self.origin(cluster, client).filter(|_| through);
        let is_near = |zone: ZoneId| {
            let hosts =
                spec.control_plane.iter().copied().chain(node(client, spec)).chain(members.iter().map(|member| member.node));
            let of_balancer = own.is_some_and(|own| scenario.load_balancers[own].zones.contains(&zone));
            of_balancer
                || node(client, spec).is_none()
                || hosts.filter(|host| uses(*host)).any(|host| scenario.nodes[host].zone == zone)
        };
        fault.kind().hits().into_iter().any(|hit| match hit {
            Hit::Balancer(balancer) => own == Some(balancer),
            Hit::Member(FaultTarget::Named(member)) => needs_etcd && member.cluster == spec.etcd,
            Hit::Node(FaultTarget::Named(node)) => uses(node),
            Hit::Volume(FaultTarget::Named(volume)) => needs_etcd && members.iter().any(|member| member.volume == volume),
            Hit::Zone(FaultTarget::Named(zone)) => is_near(zone),
            Hit::Link(..) => true,
            // Faults that have begun hit what they name.
            Hit::Member(_) | Hit::Node(_) | Hit::Volume(_) | Hit::Zone(_) => false,
        })
    }
}

/// What a client that starts dials beside the load balancer; `None`: nothing.
const fn first_dialled(way: Alternatives) -> Option<&'static str> {
    match way {
        Alternatives::Text | Alternatives::Code | Alternatives::Configured => Some("alternative services"),
        Alternatives::InMemoryDns => Some("API servers"),
        Alternatives::CustomDialer => None,
    }
}

/// Why a host of the control plane does not reach servers other than its own.
fn loopback(balancer: &LoadBalancer) -> Option<String> {
    let name = &balancer.name;
    match balancer.loopback {
        Loopback::Works => None,
        Loopback::Fails => Some(format!("{name} sends hosts of the control plane to themselves, which fails")),
        Loopback::StaysOnHost => Some(format!("what hosts of the control plane send to {name} stays there")),
    }
}
