//! API servers as clients of etcd: where what they ask is simulated request by request, all of it or a sample, and more while an etcd is
//! disturbed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::ServerAttachment;
use crate::client::in_flight::InFlight;
use crate::ids::{ClientId, KubeClusterId};
use crate::kernel::time::Time;
use crate::kube::api::Running;
use crate::network::HostId;
use crate::scenario::{ApiServerClient, Scenario};
use crate::sim::Simulation;

/// Clients that are parts of API servers, and what those work on.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    of: BTreeMap<KubeClusterId, ServerClients>,
    /// Requests in flight.
    pub(super) in_flight: InFlight,
}

/// The parts of a cluster's API servers.
#[derive(Clone, Debug, Default)]
struct ServerClients {
    clients: Vec<(ClientId, ApiServerClient)>,
    /// The key of the server that has each number, while it runs.
    numbers: Vec<Option<u32>>,
}

impl Servers {
    /// Nothing is asked yet.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut of: BTreeMap<KubeClusterId, ServerClients> = BTreeMap::new();
        for (id, client) in scenario.clients.iter_enumerated() {
            if let Some(part) = client.server {
                let own = of.entry(part.cluster).or_default();
                own.clients.push((id, part));
                own.numbers.resize(own.numbers.len().max(part.server as usize + 1), None);
            }
        }
        Self { of, in_flight: InFlight::default() }
    }
}

impl ServerClients {
    /// Each server that runs keeps its number; a new one takes the lowest that is free. Returns the numbers of servers that have stopped.
    fn number(&mut self, running: &[Running<'_>]) -> Vec<u32> {
        let runs = |key: u32| running.iter().any(|server| server.key == key);
        let stopped = |number: &mut Option<u32>| number.take_if(|key| !runs(*key)).is_some();
        let numbers = (0..).zip(&mut self.numbers).filter_map(|(number, key)| stopped(key).then_some(number)).collect();
        for server in running {
            if !self.numbers.contains(&Some(server.key))
                && let Some(free) = self.numbers.iter_mut().find(|number| number.is_none())
            {
                *free = Some(server.key);
            }
        }
        numbers
    }
}

impl Simulation {
    /// What the API servers of a cluster ask of etcd is asked request by request from now on as its scenario says, or all of it flows.
    pub fn send_each_request(&mut self, cluster: KubeClusterId, each: bool) {
        self.traffic.set_all(cluster, !each);
    }

    /// The parts of a cluster's API servers sit where those are that clients are sent to now. What they ask of a member that does not
    /// answer waits, as clients of theirs do: until the readiness probe of the server says so they are sent there still.
    /// (What a server without any member to dial refuses at once is left out.) A server that is linked watches, ready or not.
    pub(super) fn attach_clients(&mut self, cluster: KubeClusterId) {
        let Some(mut parts) = self.servers.of.remove(&cluster) else { return };
        let running: Vec<Running<'_>> = self.kube.cluster(cluster).api().servers().collect();
        let stopped = parts.number(&running);
        self.servers.in_flight.fair.retain(cluster, |key| running.iter().any(|server| server.key == key));
        let sent_to = running.iter().filter(|server| server.ready && server.asks());
        let servers: Vec<HostId> = sent_to.map(|server| server.host).collect();
        let times = self.traffic.times(cluster, &servers, &self.traffic_ctx());
        let main = self.scenario.kube.clusters[cluster].etcd;
        let is_disturbed = !self.clusters[main].flows_silently();
        // Parts of a server share the list of whom it asks.
        let lists: Vec<(u32, Arc<[u8]>)> =
            running.iter().filter(|server| server.ready).map(|server| (server.key, server.asked())).collect();
        let list = |of: &Running<'_>| lists.iter().find(|(key, _)| *key == of.key).map(|(_, list)| Arc::clone(list));
        let mut attachments = Vec::new();
        for (id, part) in &parts.clients {
            let key = parts.numbers[part.server as usize];
            let server = running.iter().find(|server| Some(server.key) == key);
            let asked = |k: u16| times.as_ref().map_or(0, |times| times[usize::from(k)]);
            let (members, times): (Option<Arc<[u8]>>, usize) = match part.requests {
                Some(k) => (server.and_then(list), asked(k)),
                None => (server.and_then(|server| Some([server.watches?].into())), usize::from(times.is_some())),
            };
            let of_main = self.clients[*id].cluster() == main;
            let members = members.filter(|members| !members.is_empty() && (is_disturbed || !part.while_disturbed));
            let attachment = server.zip(members).filter(|_| times > 0).map(|(server, members)| ServerAttachment {
                server: server.key,
                host: server.host,
                zone: self.network.zone(server.host),
                members: of_main.then_some(members),
                share: part.requests.map_or((1, 1), |_| (times as u64, servers.len() as u64)),
            });
            attachments.push((*id, attachment));
        }
        for (id, _) in parts.clients.iter().filter(|(_, part)| stopped.contains(&part.server)) {
            let (client, mut ctx) = self.client(*id);
            client.server_stopped(&mut ctx);
        }
        for (id, attachment) in attachments {
            let (client, mut ctx) = self.client(id);
            client.attach(attachment, &mut ctx);
        }
        self.servers.of.insert(cluster, parts);
    }

    /// What flows is found anew, and who asks request by request.
    pub(super) fn refresh_traffic(&mut self) {
        let mut traffic = std::mem::take(&mut self.traffic);
        let (stale, written) = traffic.refresh(&self.traffic_ctx());
        self.traffic = traffic;
        for (etcd, rate, whole) in written {
            // The others do not change: clones go on sharing them.
            if self.now == Time::ZERO || self.clusters[etcd].write_rate() != rate {
                let (cluster, mut ctx) = self.etcd_cluster(etcd);
                cluster.set_write_rate(rate, whole, &mut ctx);
            }
        }
        for cluster in stale {
            self.attach_clients(cluster);
        }
    }
}
