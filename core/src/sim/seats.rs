//! API servers as clients of etcd: where what they ask is simulated request by request, all of it or a sample.

use std::collections::BTreeMap;

use crate::client::Seat;
use crate::ids::{ClientId, PlaneId};
use crate::scenario::kube::usage::{Caller, Each};
use crate::scenario::{Scenario, ServerPart};
use crate::sim::Simulation;
use crate::traffic::routes;

/// The parts of a plane's API servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    clients: Vec<(ClientId, ServerPart)>,
    /// The key of the server that has each number, while it runs.
    numbers: Vec<Option<u32>>,
}

impl Parts {
    /// Each server that runs keeps its number; a new one takes the lowest that is free.
    fn number(&mut self, running: &[routes::Server]) {
        let runs = |key: &u32| running.iter().any(|server| server.key == *key);
        for number in &mut self.numbers {
            *number = number.filter(runs);
        }
        for server in running {
            if !self.numbers.contains(&Some(server.key))
                && let Some(free) = self.numbers.iter_mut().find(|number| number.is_none())
            {
                *free = Some(server.key);
            }
        }
    }
}

impl Simulation {
    /// What the API servers of a plane ask of etcd is asked request by request from now on as its scenario says, or all of it flows.
    pub fn ask_each(&mut self, plane: PlaneId, each: bool) {
        self.traffic.set_all(plane, !each);
    }

    /// The parts of a plane's API servers sit where those are.
    pub(super) fn seat_clients(&mut self, plane: PlaneId) {
        let Some(mut parts) = self.parts.remove(&plane) else { return };
        let (linked, serving) = routes::servers(plane, &self.world());
        parts.number(&linked);
        let scenario = std::sync::Arc::clone(&self.scenario);
        let spec = &scenario.kube.planes[plane.0 as usize];
        let times = |what: (&Caller, Each)| self.traffic.times(plane, what, serving.len(), &self.world());
        let asked: Vec<usize> = spec.requests.iter().map(|own| times((&own.by, own.each))).collect();
        let watches = times((&Caller::Server, Each::Plane));
        for (id, part) in &parts.clients {
            let (among, times) = match part.requests {
                Some(k) => (&serving, asked[usize::from(k)]),
                None => (&linked, watches),
            };
            let key = parts.numbers[part.server as usize];
            let server = among.iter().find(|server| Some(server.key) == key).filter(|_| times > 0);
            let of_main = self.clients[id.0 as usize].cluster() == spec.etcd;
            let seat = server.map(|server| Seat {
                host: server.host,
                zone: self.network.zone(server.host),
                member: of_main.then_some(server.member),
                share: part.requests.map_or((1, 1), |_| (times as u64, serving.len() as u64)),
            });
            let (client, mut at) = self.client(*id);
            client.sit(seat, &mut at);
        }
        self.parts.insert(plane, parts);
    }
}

/// Which clients are parts of which planes' API servers.
pub(super) fn parts(scenario: &Scenario) -> BTreeMap<PlaneId, Parts> {
    let mut parts: BTreeMap<PlaneId, Parts> = BTreeMap::new();
    for (id, client) in (0..).map(ClientId).zip(&scenario.clients) {
        if let Some(part) = client.server {
            let own = parts.entry(part.plane).or_default();
            own.clients.push((id, part));
            own.numbers.resize(own.numbers.len().max(part.server as usize + 1), None);
        }
    }
    parts
}
