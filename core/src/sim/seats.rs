//! API servers as clients of etcd, where what they ask is simulated request by request.

use std::collections::BTreeMap;

use crate::client::Seat;
use crate::ids::{ClientId, PlaneId};
use crate::scenario::Scenario;
use crate::sim::Simulation;
use crate::traffic::routes;

impl Simulation {
    /// What the API servers of a plane ask of etcd is asked request by request from now on, or flows as a rate. Only planes of a scenario
    /// whose `traffic` is `requests` can be asked for.
    pub fn ask_each(&mut self, plane: PlaneId, each: bool) {
        self.traffic.set_each(plane, each);
    }

    /// The parts of a plane's API servers sit where those are that serve now.
    pub(super) fn seat_clients(&mut self, plane: PlaneId) {
        let Some(clients) = self.parts.get(&plane).cloned() else { return };
        let (_, serving) = routes::servers(plane, &self.world());
        let main = self.scenario.kube.planes[plane.0 as usize].etcd;
        let each = self.traffic.is_each(plane);
        for (client, place) in clients {
            let server = serving.get(place as usize).filter(|_| each);
            let of_main = self.clients[client.0 as usize].cluster() == main;
            let seat = server.map(|server| Seat {
                host: server.host,
                zone: self.network.zone(server.host),
                member: of_main.then_some(server.member),
                servers: serving.len() as u64,
            });
            let (client, mut at) = self.client(client);
            client.sit(seat, &mut at);
        }
    }
}

/// Which clients are parts of which planes' API servers, and in whose place among those that serve.
pub(super) fn parts(scenario: &Scenario) -> BTreeMap<PlaneId, Vec<(ClientId, u32)>> {
    let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (id, client) in (0..).map(ClientId).zip(&scenario.clients) {
        if let Some((plane, server)) = client.server {
            parts.entry(plane).or_default().push((id, server));
        }
    }
    parts
}
