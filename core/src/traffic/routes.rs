//! Who sends what to whom: rates, from the plan and the [`Situation`].
//!
//! - Callers go to the API servers that serve, to each equally often; a component's pods ask each as much as the others, and what asks
//!   from outside comes through the load balancer in each of the seed's zones alike.
//! - The components of a cluster without Gardener run on the hosts of its control plane. Each asks the API server on its own host, where
//!   that one talks to the etcd member on its host (kubeadm), or else all of them. Users ask from each of the cluster's zones alike, and
//!   kubelets from where their nodes are.
//! - An API server asks each member of etcd-main as often as it has connections with it, and hears of all changes over that for pods (as
//!   the one watch does that is simulated where requests are). Its connections to etcd-events are not followed:
//!   it asks each member that answers equally often.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::etcd::database::Growth;
use crate::etcd::write_rate::WriteRate;
use crate::network::ledger::Class;
use crate::scenario::kube::usage::{Caller, Each, Objects, WATCHER};
use crate::traffic::legs::Part;
use crate::traffic::plan::{Asked, EtcdCalls, Plan, Rate, Stream};
use crate::traffic::situation::{Callers, End, Etcd, Server, Situation};
use crate::traffic::{Flow, Key};

/// What flows in and around a cluster now.
pub(super) struct Found {
    pub(super) flow: Flow,
    /// Keys and values that get into its etcd-main.
    pub(super) written: Rate,
    /// What flows into the logs of etcd-main and etcd-events, and what all writes do to their databases.
    pub(super) writes: [(WriteRate, Growth); 2],
}

/// So many flows, and more, are usual in a control plane of three zones.
const USUAL: usize = 256;

/// Finds it. `counted`: what flows is counted; otherwise it only writes to etcd.
pub(super) fn find(plan: &Arc<Plan>, counted: bool, now: &Situation, asked: &mut Asked) -> Found {
    let Situation { main, linked, there, .. } = now;
    let serving: Vec<&Server> = now.serving().collect();
    let mut found = Finder { flow: Flow::with_capacity(USUAL) };
    let times: Vec<usize> = plan.groups.iter().map(|group| there.times(&group.by, group.each)).collect();
    let asks = asked.of(plan, &times);
    let mut events_open = false;
    for (objects, writes, asked) in &asks.etcd {
        match objects {
            Objects::Main => {
                for target in (0..main.members.len() as u8).filter(|_| counted) {
                    let share = |server: &&Server| {
                        let (_, own) = server.members.iter().find(|(member, _)| *member == target)?;
                        Some(Asker { end: server.end, own: (*own).into(), parts: server.resources * serving.len() })
                    };
                    found.ask(main, target, *writes, asked, &serving.iter().filter_map(share).collect::<Vec<_>>());
                }
            }
            Objects::Events => {
                let Some(events) = &now.events else { continue };
                let open = |member: &u8| events.answers(*member, *writes);
                let members: Vec<u8> = (0..events.members.len() as u8).filter(open).collect();
                events_open |= *writes && !members.is_empty() && !serving.is_empty();
                let share = |server: &&Server| Asker { end: server.end, own: 1, parts: serving.len() * members.len() };
                let askers: Vec<Asker> = serving.iter().filter(|_| counted).map(share).collect();
                for target in &members {
                    found.ask(events, *target, *writes, asked, &askers);
                }
            }
        }
    }
    let writing: usize = serving.iter().map(|server| server.served(true, main)).sum();
    let connections = serving.iter().map(|server| server.resources).sum::<usize>() + now.waiting;
    let [of_main, of_events] = asks.logged;
    let writes =
        [(of_main.rate(writing, connections), of_main.whole), (of_events.rate(usize::from(events_open), 1), of_events.whole)];
    if !counted {
        return Found { flow: Flow::new(), written: Rate::default(), writes };
    }
    // Every server that runs watches, whether clients are sent to it or not, while there is something to tell.
    for watched in asks.watched.iter().filter(|_| writing > 0) {
        for server in linked {
            if let Some(member) = server.watches {
                found.add(watched, (main.members[member as usize].end, server.end));
            }
        }
    }
    for (group, times) in plan.groups.iter().zip(times) {
        let callers = match &group.by {
            Caller::Server => continue,
            Caller::Outside if group.each == Each::Node => &there.kubelets,
            Caller::Outside => &now.outside,
            Caller::Component(name) => there.of(name),
        };
        found.exchange(&group.calls, times, callers, &serving);
    }
    if writing > 0 {
        found.exchange(&asks.events, 1, there.of(WATCHER), &serving);
    }
    Found { flow: found.in_order(), written: asks.written.share(writing, connections.max(1)), writes }
}

/// A server that asks a member. Its share of all requests is `own` of `parts`.
#[derive(Clone, Copy, Debug)]
struct Asker {
    end: End,
    own: usize,
    parts: usize,
}

struct Finder {
    /// In no order; some keys come more than once.
    flow: Vec<(Key, Rate)>,
}

impl Finder {
    /// What goes one way, and the ACKs that come back.
    fn add(&mut self, stream: &Stream, (from, to): (End, End)) {
        for ((from, to), rate) in [((from, to), stream.there), ((to, from), stream.back)] {
            if !rate.is_zero() {
                let key = Key { from: from.0, to: to.0, zones: (from.1, to.1), class: stream.class };
                self.flow.push((key, rate));
            }
        }
    }

    /// The sum of what was added under each key.
    fn in_order(self) -> Flow {
        let mut flow = self.flow;
        flow.sort_by_cached_key(|(key, _)| key.rank());
        flow.dedup_by(|(key, rate), (sum_key, sum)| {
            let same = key == sum_key;
            if same {
                sum.add(*rate);
            }
            same
        });
        flow
    }

    /// What servers ask of a member, and what that makes members say to each other.
    fn ask(&mut self, cluster: &Etcd, target: u8, writes: bool, asked: &EtcdCalls, askers: &[Asker]) {
        let asks = cluster.answers(target, writes) && !askers.is_empty();
        let end = |member: u8| cluster.members[member as usize].end;
        let Some(leader) = cluster.members[target as usize].leader.filter(|_| asks) else { return };
        let others: Vec<End> = cluster.members[leader as usize].listeners.iter().map(end).collect();
        let (target, leader) = (end(target), end(leader));
        for stream in if leader == target { &asked.of_leader } else { &asked.of_follower } {
            if matches!(stream.class, Class::Append | Class::Proposal) && !cluster.is_silent {
                // Each entry is proposed and sent as it comes.
                continue;
            }
            let ends = [stream.from, stream.to];
            let shares = askers.iter().map(|asker| (asker.end, stream.times(asker.own).part(asker.parts)));
            let is_between_members = !ends.iter().any(|part| matches!(part, Part::Caller | Part::Server));
            let shares: SmallVec<[(End, Stream); 4]> = if is_between_members {
                // What members send each other is the sum over all servers.
                shares.reduce(|(end, all), (_, more)| (end, all.and(more))).into_iter().collect()
            } else {
                shares.collect()
            };
            for other in if ends.contains(&Part::Other) { &others[..] } else { std::slice::from_ref(&target) } {
                for (server, share) in &shares {
                    let [from, to] = ends.map(|part| match part {
                        Part::Caller | Part::Server => *server,
                        Part::Target => target,
                        Part::Leader => leader,
                        Part::Other => *other,
                    });
                    self.add(share, (from, to));
                }
            }
        }
    }

    /// What callers and servers send each other, so many times over: each caller and each server that it asks alike.
    fn exchange(&mut self, streams: &[Stream], times: usize, callers: &[Callers], servers: &[&Server]) {
        let asked = |callers: &Callers| {
            let host = callers.server;
            servers.iter().filter(move |server| host.is_none_or(|host| host == server.host))
        };
        let parts = callers.iter().map(|callers| callers.count * asked(callers).count()).sum();
        for stream in streams {
            for callers in callers.iter().filter(|callers| asked(callers).next().is_some()) {
                let share = stream.times(times * callers.count).part(parts);
                for server in asked(callers) {
                    let at = |part: Part| if part == Part::Caller { callers.end } else { server.end };
                    self.add(&share, (at(stream.from), at(stream.to)));
                }
            }
        }
    }
}
