//! API servers as clients of etcd, where what they ask is simulated request by request.

use std::collections::BTreeMap;

use crate::client::Seat;
use crate::client::in_flight::InFlight;
use crate::ids::{ClientId, PlaneId};
use crate::kube::api::Running;
use crate::scenario::{Op, Scenario};
use crate::sim::Simulation;

/// Clients that are parts of API servers, and what those work on.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    /// Of each plane, and in whose place among those that clients are sent to.
    parts: BTreeMap<PlaneId, Vec<(ClientId, u32)>>,
    /// Requests in flight.
    pub(super) in_flight: InFlight,
}

impl Servers {
    /// Nothing is asked yet.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, client) in (0..).map(ClientId).zip(&scenario.clients) {
            if let Some(part) = client.server {
                parts.entry(part.plane).or_default().push((id, part.server));
            }
        }
        Self { parts, in_flight: InFlight::default() }
    }
}

impl Simulation {
    /// What the API servers of a plane ask of etcd is asked request by request from now on, or flows as a rate. Only planes of a scenario
    /// whose `traffic` is `requests` can be asked for.
    pub fn ask_each(&mut self, plane: PlaneId, each: bool) {
        self.traffic.set_each(plane, each);
    }

    /// The parts of a plane's API servers sit where those are that clients are sent to now. What they ask of a member that does not
    /// answer waits, as clients of theirs do: until the readiness probe of the server says so they are sent there still.
    /// (What a server without any member to dial refuses at once is left out.)
    pub(super) fn seat_clients(&mut self, plane: PlaneId) {
        let Some(parts) = self.servers.parts.get(&plane).cloned() else { return };
        let each = self.traffic.is_each(plane);
        let running = self.kube.plane(plane).api().servers();
        let asked: Vec<(Running, u8)> =
            running.filter(|server| each && server.ready).filter_map(|server| Some((server, server.asks?))).collect();
        let main = self.scenario.kube.planes[plane.0 as usize].etcd;
        for (client, place) in parts {
            let part = &self.clients[client.0 as usize];
            let (of_main, watches) = (part.cluster() == main, part.op() == Op::Watch);
            let server = asked.get(place as usize).filter(|(server, _)| !watches || server.linked.is_some());
            let seat = server.map(|(server, member)| Seat {
                server: server.key,
                host: server.host,
                zone: self.network.zone(server.host),
                member: of_main.then_some(*member),
                servers: asked.len() as u64,
            });
            let (client, mut at) = self.client(client);
            client.sit(seat, &mut at);
        }
    }
}
