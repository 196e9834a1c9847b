//! Causes of clients' outages, in words.

use std::collections::BTreeSet;

use super::{AFTER, Access, Beginning};
use crate::access::origin::node;
use crate::access::record::{ConnectionState, Dialled};
use crate::ids::{EtcdId, KubeClusterId, NodeId};
use crate::kernel::time::{Duration, Time};
use crate::kube::ctx::ApiClient;
use crate::observe::causes::{BEFORE, NO_TARGET, at_limit, queue, targets_nobody};
use crate::scenario::access::{Alternatives, LoadBalancer, Loopback};
use crate::scenario::{ActiveFault, Fault, text};

impl Access {
    pub(super) fn cause(&self, cluster: KubeClusterId, client: ApiClient, beginning: &Beginning, at: Time) -> String {
        let spec = &self.scenario.kube.clusters[cluster];
        let because = self.because(cluster, client, beginning, at);
        let balancer = |through: bool| {
            let origin = self.origin(cluster, client).filter(|_| through);
            let name = origin.map(|origin| &self.scenario.load_balancers[origin].name);
            name.map_or_else(String::new, |name| format!(" through {name}"))
        };
        let server = |key: u32| &self.scenario.nodes[spec.control_plane[key as usize]].name;
        match (beginning.had, beginning.now) {
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
    fn because(&self, cluster: KubeClusterId, client: ApiClient, beginning: &Beginning, at: Time) -> String {
        let (spec, Beginning { had, now, .. }) = (&self.scenario.kube.clusters[cluster], *beginning);
        let concerns = |fault: &&ActiveFault| self.concerns(&fault.fault, cluster, client, beginning);
        let just_ended = self.ended.iter().filter(|(ended, _)| *ended == at).map(|(_, fault)| fault);
        // Where the load balancer sends clients to the wrong servers, what stopped those matters, too.
        let anew = Beginning { had: ConnectionState::None, ..*beginning };
        let is_misdirected = self.active.iter().any(|fault| misdirects(&fault.fault) && concerns(&fault));
        let misses = |fault: &&ActiveFault| {
            let stops_server = matches!(fault.fault, Fault::ApiServerKill(_) | Fault::ApiServerStop(_));
            is_misdirected && stops_server && self.concerns(&fault.fault, cluster, client, &anew)
        };
        let faults: Vec<&ActiveFault> =
            self.active.iter().chain(just_ended).filter(|fault| concerns(fault) || misses(fault)).collect();
        let ended = || {
            let (then, fault) = self.ended.iter().rev().find(|(ended, fault)| at <= *ended + AFTER && concerns(&fault))?;
            Some(format!("{} after {}", text::duration(at.since(*then)), fault.fault.kind().ended(&*self.scenario)))
        };
        let mut reasons: Vec<String> = Vec::new();
        let in_vain = || beginning.dials.and_then(|dials| self.in_vain(cluster, client, dials));
        let is_itself = beginning.dials == Some(Dialled::Itself);
        if !is_itself {
            reasons.extend(in_vain());
        }
        if beginning.queues && !faults.iter().any(|fault| matches!(fault.fault, Fault::LbThrottled(_))) {
            reasons.extend(self.queue(cluster, client));
            reasons.extend(ended());
        }
        let own = self.end_of_server(cluster, had, at);
        let own = own.or_else(|| beginning.gone_away.then(|| "its server closed it by chance, with a GOAWAY".to_owned()));
        if beginning.gone_away || faults.iter().all(|fault| misdirects(&fault.fault) || !concerns(fault)) {
            // They make it hard to find another server, and end no connection.
            reasons.extend(own.clone().filter(|_| !faults.is_empty()));
            reasons.extend(faults.iter().filter_map(|fault| self.stale_targets(cluster, had, fault)));
        }
        reasons.extend(faults.iter().map(|fault| fault.fault.kind().began(&*self.scenario)));
        if !reasons.is_empty() {
            return reasons.join(", ");
        }
        if let Some(own) = own {
            return own;
        }
        // A client that starts and finds no server, or whose responses come late: that is not etcd's doing.
        let may_be_etcd = (had, now) != (ConnectionState::None, ConnectionState::None) && beginning.needs_etcd();
        let is_recent = |(then, etcd, _): &&(Time, EtcdId, String)| may_be_etcd && *etcd == spec.etcd && at <= *then + BEFORE;
        if let Some((_, _, happened)) = self.happened.iter().rev().find(is_recent) {
            return happened.clone();
        }
        let without_fault = || self.without_fault(cluster, client, had);
        // That a client is sent to itself ends no connection.
        let why = match had {
            ConnectionState::None if is_itself => in_vain().or_else(without_fault),
            _ => without_fault().or_else(|| in_vain().filter(|_| is_itself)),
        };
        why.or_else(ended).unwrap_or_else(|| "no fault under way".to_owned())
    }

    /// What became of the server of a connection: it has left the control plane, or was asked to stop.
    fn end_of_server(&self, cluster: KubeClusterId, had: ConnectionState, at: Time) -> Option<String> {
        let host = self.scenario.kube.clusters[cluster].control_plane[had.other_end()?.0 as usize];
        if self.left.contains_key(&(cluster, host)) {
            return Some(self.removed(&[host]));
        }
        let since = at.since(*self.stopping.get(&(cluster, host))?);
        let when = if since == Duration::ZERO { String::new() } else { format!(" {} before", text::duration(since)) };
        Some(format!("it was asked to stop{when}"))
    }

    /// Hosts that have left the control plane since a load balancer updates its targets no longer: a client without a connection may be sent
    /// there.
    fn stale_targets(&self, cluster: KubeClusterId, had: ConnectionState, fault: &ActiveFault) -> Option<String> {
        let is_stale = matches!(fault.fault, Fault::LbStaleTargets(_)) && had == ConnectionState::None;
        let since = |((of, _), then): &(&(KubeClusterId, NodeId), &Time)| *of == cluster && **then >= fault.from;
        let left: Vec<NodeId> = self.left.iter().filter(|left| is_stale && since(left)).map(|((_, host), _)| *host).collect();
        (!left.is_empty()).then(|| self.removed(&left))
    }

    fn removed(&self, hosts: &[NodeId]) -> String {
        let names: Vec<&str> = hosts.iter().map(|host| &*self.scenario.nodes[*host].name).collect();
        format!("{} {} removed from the control plane", text::list(&names), if names.len() == 1 { "was" } else { "were" })
    }

    /// Why what a client dials, or dialled, does not reply, where no fault has to explain that.
    pub(super) fn in_vain(&self, cluster: KubeClusterId, client: ApiClient, dials: Dialled) -> Option<String> {
        let vanish = |to: &str| Some(format!("packets from outside the cluster network to {to} vanish"));
        match dials {
            Dialled::Outside { is_alternative: true } => vanish(self.alternatives(cluster, client)),
            Dialled::Outside { is_alternative: false } => vanish("API servers"),
            Dialled::Balancer { list_expired: true } => {
                Some(format!("its list of {} had expired", self.alternatives(cluster, client)))
            }
            Dialled::Itself => loopback(&self.scenario.load_balancers[self.origin(cluster, client)?]),
            Dialled::AtLimit => at_limit(&self.scenario.load_balancers[self.origin(cluster, client)?]),
            Dialled::Balancer { list_expired: false } | Dialled::Server => None,
        }
    }

    /// What a client calls API servers that it reaches beside its load balancer.
    fn alternatives(&self, cluster: KubeClusterId, client: ApiClient) -> &'static str {
        let is_configured = self.way_beside(cluster, client) == Some(Alternatives::Configured);
        if is_configured { "alternative hosts" } else { "alternative services" }
    }

    /// The bandwidth that responses to a client wait for.
    fn queue(&self, cluster: KubeClusterId, client: ApiClient) -> Option<String> {
        queue(&self.scenario.load_balancers[self.origin(cluster, client)?])
    }

    /// What a load balancer does without a fault.
    fn without_fault(&self, cluster: KubeClusterId, client: ApiClient, had: ConnectionState) -> Option<String> {
        let spec = &self.scenario.kube.clusters[cluster];
        let origin = self.origin(cluster, client)?;
        let balancer = &self.scenario.load_balancers[origin];
        // Of a balancer on each node only the process on the client's own.
        let serves = |place: u16| balancer.machines.get(usize::from(place)).is_none_or(|own| node(client, spec) == Some(*own));
        if targets_nobody(&self.scenario, origin, cluster) {
            return Some(format!("{} {NO_TARGET}", balancer.name));
        }
        match had {
            ConnectionState::Open { server, through: true }
            | ConnectionState::Unanswered { server, through: true }
            | ConnectionState::Silent { server, through: true }
            | ConnectionState::Late { server, through: true }
                if self.unhealthy.iter().any(|(own, place, target)| *own == origin && serves(*place) && *target == server) =>
            {
                Some(format!("{} found it unhealthy", balancer.name))
            }
            ConnectionState::None => {
                let found = self.unhealthy.iter().filter(|(own, place, _)| *own == origin && serves(*place));
                let hosts: BTreeSet<_> = found.map(|(.., target)| spec.control_plane[*target as usize]).collect();
                let names: Vec<&str> = hosts.iter().map(|host| &*self.scenario.nodes[*host].name).collect();
                (!names.is_empty()).then(|| format!("{} finds {} unhealthy", balancer.name, text::list(&names)))
            }
            _ => None,
        }
    }
}

/// Whether a fault of a load balancer only sends clients to the wrong servers.
const fn misdirects(fault: &Fault) -> bool {
    matches!(fault, Fault::LbStaleTargets(_) | Fault::LbTcpHealthOnly(_) | Fault::LbWrongTarget(_))
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
