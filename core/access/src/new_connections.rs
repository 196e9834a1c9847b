//! Where the connection of a new client ends: one that knows only the original host, as each run of kubectl.
//!
//! ```text
//!  name --addresses in random order--> node --a target that it may choose--> API server
//!                                        |--refused: the next address at once
//!                                        |--silence, SYNs dropped at its connection limit: the next address after its share of the dial
//!                                        |--the backlog of a relay at its connection limit: the end
//!                                        '--accepted and closed (a wrong certificate, a relay that does not reach its target): the end
//! ```
//!
//! Nodes and targets are drawn uniformly, so every end has a chance. Nodes that refuse equally often, and are silent equally often, are
//! alike: the chances only depend on how many of each kind have been dialled.

use std::collections::BTreeMap;

use crate::dial::{DIAL, dial_share};
use crate::limit::AtLimit;
use crate::reply::Reply;
use crate::target::Balancer;
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::{NewClient, NewConnection};
use zonefall_scenario::access::LoadBalancer;

/// How often, of `of` dials, a node of the balancer refuses, and how often it is silent. The others end there: at a server, or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Odds {
    refused: usize,
    silent: usize,
    of: usize,
}

/// Nodes that are alike.
#[derive(Clone, Debug)]
struct Kind {
    odds: Odds,
    nodes: usize,
    /// Servers that they choose, and the time of the way there and back.
    servers: Vec<(u32, Duration)>,
}

/// Every end, with its chance.
pub(crate) fn new_connections(balancer: &Balancer, spec: &LoadBalancer, client: &NewClient<'_>) -> Vec<NewConnection> {
    let kinds = if balancer.refuses() { Vec::new() } else { kinds(balancer, spec, client) };
    let limit = client.deadline.min(DIAL);
    let (mut ends, mut failed) = (Vec::new(), 0.0);
    // By nodes of each kind that have not been dialled and the time spent so far. The fullest comes first: all ways to another have been
    // gone before it.
    let mut states = BTreeMap::from([((kinds.iter().map(|kind| kind.nodes).collect::<Vec<_>>(), Duration::ZERO), 1.0)]);
    while let Some(((left, spent), chance)) = states.pop_last() {
        let addresses: usize = left.iter().sum();
        if addresses == 0 || spent >= limit {
            failed += chance;
            continue;
        }
        for (place, kind) in kinds.iter().enumerate().filter(|(place, _)| left[*place] > 0) {
            let (chance, of) = (chance * left[place] as f64 / addresses as f64, kind.odds.of as f64);
            let chance_each = chance / (kind.nodes as f64 * of);
            ends.extend(
                kind.servers.iter().map(|(key, way)| NewConnection { chance: chance_each, server: Some((*key, spent + *way)) }),
            );
            let mut fewer = left.clone();
            fewer[place] -= 1;
            let mut goes_on = |times: usize, spent: Duration| {
                if times > 0 {
                    *states.entry((fewer.clone(), spent)).or_insert(0.0) += chance * times as f64 / of;
                }
            };
            failed +=
                chance_each * (kind.nodes * (kind.odds.of - kind.odds.refused - kind.odds.silent) - kind.servers.len()) as f64;
            goes_on(kind.odds.refused, spent);
            goes_on(kind.odds.silent, spent + dial_share(DIAL - spent, addresses));
        }
    }
    ends.extend((failed > 0.0).then_some(NewConnection { chance: failed, server: None }));
    ends
}

/// What its nodes do with a new connection.
fn kinds(balancer: &Balancer, spec: &LoadBalancer, client: &NewClient<'_>) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for node in balancer.resolved(client.from, spec, client.net) {
        let (odds, servers) = replies(balancer, node, spec, client);
        let place = kinds.iter().position(|kind| kind.odds == odds).unwrap_or_else(|| {
            kinds.push(Kind { odds, nodes: 0, servers: Vec::new() });
            kinds.len() - 1
        });
        kinds[place].nodes += 1;
        kinds[place].servers.extend(servers);
    }
    kinds
}

/// Replies to a dial of a node, one for each target that it may choose, and the servers that accept.
fn replies(balancer: &Balancer, node: u16, spec: &LoadBalancer, client: &NewClient<'_>) -> (Odds, Vec<(u32, Duration)>) {
    let Some(way) = balancer.reach_from(client.from, node, client.net) else {
        return (Odds { refused: 0, silent: 1, of: 1 }, Vec::new());
    };
    match balancer.limit().and_then(|limit| limit.at_limit(node, None)) {
        // It waits there until its TLS handshake fails.
        Some(AtLimit::Backlog) => return (Odds { refused: 0, silent: 0, of: 1 }, Vec::new()),
        Some(AtLimit::Drops) => return (Odds { refused: 0, silent: 1, of: 1 }, Vec::new()),
        None => {}
    }
    let choice = balancer.choice(node, spec, client.net);
    if choice.is_empty() {
        return (Odds { refused: usize::from(!spec.relays), silent: 0, of: 1 }, Vec::new());
    }
    let mut odds = Odds { refused: 0, silent: 0, of: choice.len() };
    let way = way + spec.hop_latency * 2 + balancer.wait_of_new_clients(node);
    let mut servers = Vec::new();
    for key in choice {
        match balancer.forward(node, key, |key| client.listening.contains(&key), client.net) {
            (key, Reply::Accepted(on)) => servers.push((key, way + on)),
            (_, Reply::Refused) if !spec.relays => odds.refused += 1,
            (_, Reply::Silence) if !spec.relays => odds.silent += 1,
            (_, Reply::Closed | Reply::Refused | Reply::Silence) => {}
        }
    }
    (odds, servers)
}
