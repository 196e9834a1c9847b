//! What a control plane asks, all of its requests together: how much of what goes between which parts of it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::etcd::database::Growth;
use crate::etcd::write_rate::{WriteRate, Writes};
use crate::network::ledger::Class;
use crate::network::wire::Burst;
use crate::scenario::kube::usage::{Caller, Each, Objects, Requests, WATCHER};
use crate::scenario::{Lease, Op};
use crate::traffic::legs::{self, END_OF_LEASE, Leg, Part, Point};

/// What flows, in millionths of each a second: messages, application bytes, bytes on the wire, packets; and bytes on the wire while what
/// comes in bursts does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate([u128; 5]);

impl Rate {
    /// So many messages in a million seconds, and so many times as many while a burst lasts.
    fn of((per_million_s, burst): (u64, u32), count: u64, bytes: u64, wire: Burst) -> Self {
        let in_bursts = wire.bytes * u64::from(burst);
        Self([count, bytes, wire.bytes, wire.packets, in_bursts].map(|each| u128::from(each) * u128::from(per_million_s)))
    }

    /// Nothing flows.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|each| *each == 0)
    }

    /// Adds another rate.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// A part of it becomes another.
    pub fn replace(&mut self, before: Self, after: Self) {
        for ((own, before), after) in self.0.iter_mut().zip(before.0).zip(after.0) {
            *own = *own - before + after;
        }
    }

    /// An equal part for each of so many.
    #[must_use]
    pub fn part(self, of: usize) -> Self {
        if of == 1 { self } else { Self(self.0.map(|each| each / of as u128)) }
    }

    /// So many of so many equal parts.
    #[must_use]
    pub fn share(self, own: usize, of: usize) -> Self {
        Self(self.0.map(|each| each * own as u128)).part(of)
    }

    /// What has flowed after so many nanoseconds, in [`UNIT`]s.
    #[must_use]
    pub fn over(self, ns: u64) -> Amount {
        let [means @ .., _] = self.0;
        Amount(means.map(|each| each * u128::from(ns)))
    }

    /// Bytes on the wire in a second in which all bursts coincide.
    pub fn most_wire_bytes_per_s(self) -> f64 {
        self.0[4] as f64 / 1e6
    }
}

/// Parts of a byte that an [`Amount`] counts: millionths a second times nanoseconds, so that nothing is ever rounded.
const UNIT: u128 = 1_000_000_000_000_000;

/// What has flowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount([u128; 4]);

impl Amount {
    /// Adds another amount.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// Whole messages, application bytes, and packets with their bytes.
    pub fn whole(self) -> (u64, u64, Burst) {
        let [count, bytes, wire, packets] = self.0.map(|each| (each / UNIT) as u64);
        (count, bytes, Burst { packets, bytes: wire })
    }
}

/// What of the requests to etcd is simulated one by one; the others flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneByOne {
    /// [`Requests::one_by_one`].
    Sample,
    /// [`Requests::while_disturbed`], too.
    More,
    /// All of it flows.
    Nothing,
}

impl OneByOne {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Sample, Self::More, Self::Nothing];

    const fn of(self, own: &Requests) -> u64 {
        match self {
            Self::Sample => own.one_by_one,
            Self::More => own.one_by_one + own.while_disturbed,
            Self::Nothing => 0,
        }
    }
}

/// A message between two parts, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Who sends it.
    pub from: Part,
    /// To whom.
    pub to: Part,
    /// What it is.
    pub class: Class,
    /// Rate of what is sent there.
    pub there: Rate,
    /// ACKs back.
    pub back: Rate,
}

/// What all writes, or all reads, of one of the etcd clusters send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdCalls {
    /// Where the member that is asked leads.
    pub of_leader: Vec<Stream>,
    /// Where another does.
    pub of_follower: Vec<Stream>,
}

/// What is asked of etcd, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerFlows {
    /// Of which of its clusters, whether that writes, and what it sends.
    pub etcd: Vec<(Objects, bool, EtcdCalls)>,
    /// Events for the watch that each API server holds.
    pub watched: Vec<Stream>,
    /// Events for those that watch at an API server: pods of [`WATCHER`].
    pub events: Vec<Stream>,
    /// Keys and values that get into etcd-main.
    pub written: Rate,
    /// What flows into the log of each of its etcd clusters, and what all writes do to its database.
    pub logged: [Logged; 2],
}

/// What is written to an etcd cluster, in millionths a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logged {
    /// Writes that flow, the ends of leases among them.
    writes: Writes,
    /// Ends of leases.
    expired: [Writes; Lease::ALL.len()],
    /// Ends of leases that are granted one by one, and of their keys.
    single: [Writes; Lease::ALL.len()],
    /// What all writes do, those that are asked one by one, too.
    pub whole: Growth,
}

/// All that some callers ask, for each of what there may be more or fewer of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerGroup {
    /// Who asks.
    pub by: Caller,
    /// What there is more or less of.
    pub each: Each,
    /// Questions there and answers back.
    pub calls: Vec<Stream>,
    /// What API servers ask of etcd for it.
    pub asks: CallerFlows,
}

/// What a control plane asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In no order.
    pub groups: Vec<CallerGroup>,
}

/// How much there is of what may ask more or less.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// API servers.
    pub servers: usize,
    /// Nodes whose kubelets reach the API.
    pub nodes: usize,
}

/// How many times over something is asked now: not at all without processes of who asks. `processes`: of a component, how many there are.
pub fn times(by: &Caller, each: Each, counts: Counts, processes: impl Fn(&str) -> usize) -> usize {
    match (by, each) {
        (Caller::Component(name), _) if processes(name) == 0 => 0,
        (_, Each::Cluster) => 1,
        (_, Each::Server) => counts.servers,
        (_, Each::Standby) => processes(WATCHER).saturating_sub(1),
        (_, Each::Node) => counts.nodes,
    }
}

/// Keys and values that some requests write to etcd-main while there is so much of who asks.
pub fn written(requests: &[Requests], counts: Counts, processes: impl Fn(&str) -> usize) -> Rate {
    let mut all = Rate::default();
    for own in requests {
        all.add(stored(own).share(times(&own.by, own.each, counts, &processes), 1));
    }
    all
}

fn stored(own: &Requests) -> Rate {
    let bytes = own.etcd.filter(|(objects, _)| *objects == Objects::Main).and_then(|(_, op)| legs::stored(op));
    bytes.map_or_else(Rate::default, |bytes| Rate::of((own.per_million_s, 1), 1, bytes, Burst::default()))
}

impl Plan {
    /// The plan of some requests. `at`: where they meet etcd, but for who leads. `one_by_one`: what of it does not flow.
    pub fn new(requests: &[Requests], at: Point, one_by_one: OneByOne) -> Self {
        let mut plan = Self { groups: Vec::new() };
        for own in requests {
            plan.group(own).add(own, at, one_by_one);
        }
        plan
    }

    fn group(&mut self, own: &Requests) -> &mut CallerGroup {
        let place = self.groups.iter().position(|group| group.by == own.by && group.each == own.each).unwrap_or_else(|| {
            let (calls, asks) = Default::default();
            self.groups.push(CallerGroup { by: own.by.clone(), each: own.each, calls, asks });
            self.groups.len() - 1
        });
        &mut self.groups[place]
    }

    /// All that is asked of etcd where each group asks so many times over.
    fn asks(&self, times: &[usize]) -> CallerFlows {
        let mut all = CallerFlows::default();
        for (group, times) in self.groups.iter().zip(times) {
            all.add(&group.asks, *times);
        }
        all
    }
}

/// What plans ask in all, as it was last asked for: many control planes are alike.
#[derive(Clone, Debug, Default)]
pub struct Asked(VecDeque<(Arc<Plan>, Vec<usize>, Arc<CallerFlows>)>);

impl Asked {
    const MOST: usize = 16;

    /// The same as [`Plan::asks`].
    pub fn of(&mut self, plan: &Arc<Plan>, times: &[usize]) -> Arc<CallerFlows> {
        if let Some((.., known)) = self.0.iter().find(|(own, of, _)| Arc::ptr_eq(own, plan) && of == times) {
            return Arc::clone(known);
        }
        let asks = Arc::new(plan.asks(times));
        self.0.truncate(Self::MOST - 1);
        self.0.push_front((Arc::clone(plan), times.to_vec(), Arc::clone(&asks)));
        asks
    }
}

impl CallerGroup {
    fn add(&mut self, own: &Requests, at: Point, one_by_one: OneByOne) {
        if own.by != Caller::Server {
            let question = Leg::framed([Part::Caller, Part::Server], Class::ApiRequest, own.question.into(), at.tls);
            let answer = Leg::framed([Part::Server, Part::Caller], Class::ApiAnswer, own.answer, at.tls);
            for leg in [question, answer] {
                flow(&mut self.calls, Stream::of(&leg, (own.per_million_s, own.burst)));
            }
        }
        let Some((objects, op)) = own.etcd else { return };
        let flows = own.per_million_s - one_by_one.of(own);
        let asked = self.asks.of(objects, legs::stored(op).is_some());
        for (leads, streams) in [(true, &mut asked.of_leader), (false, &mut asked.of_follower)] {
            for leg in legs::legs(op, Point { leads, ..at }) {
                flow(streams, Stream::of(&leg, (flows, own.burst)));
            }
            // Leases that are granted one by one end so, too.
            let ends = matches!(op, Op::Grant(_)).then(|| legs::replication(END_OF_LEASE, at));
            for leg in ends.into_iter().flatten() {
                flow(streams, Stream::of(&leg, (flows, 1)));
            }
        }
        if let Some(write) = legs::logged(op) {
            let ends = legs::expired(op);
            let mut logged = Logged { writes: write.and(ends).times(flows), ..Logged::default() };
            if let Some(lease) = op.lease() {
                logged.expired[lease as usize] = ends.times(flows);
                logged.single[lease as usize] = ends.times(own.per_million_s - flows);
            }
            logged.whole = write.growth.and(ends.growth).times(own.per_million_s);
            self.asks.logged[objects as usize].add(logged);
        }
        // Events of etcd-events are not cached (`watch-cache-sizes`), so nobody watches them there.
        if objects == Objects::Events {
            return;
        }
        self.asks.written.add(stored(own));
        let Some(event) = legs::event(op) else { return };
        // Where all that they ask is asked one by one, so are their watches.
        if one_by_one == OneByOne::Nothing || own.one_by_one < own.per_million_s {
            let leg = Leg::framed([Part::Target, Part::Server], Class::WatchEvent, event, at.tls);
            flow(&mut self.asks.watched, Stream::of(&leg, (own.per_million_s, own.burst)));
        }
        let leg = Leg::framed([Part::Server, Part::Caller], Class::ApiEvent, own.answer, at.tls);
        let told = own.per_million_s.saturating_mul(own.watchers.into());
        flow(&mut self.asks.events, Stream::of(&leg, (told, own.burst)));
    }
}

impl CallerFlows {
    fn of(&mut self, objects: Objects, writes: bool) -> &mut EtcdCalls {
        let place = self.etcd.iter().position(|(of, write, _)| (*of, *write) == (objects, writes)).unwrap_or_else(|| {
            self.etcd.push((objects, writes, EtcdCalls::default()));
            self.etcd.len() - 1
        });
        &mut self.etcd[place].2
    }

    /// The other so many times, too.
    fn add(&mut self, other: &Self, times: usize) {
        let add = |own: &mut Vec<Stream>, other: &[Stream]| other.iter().for_each(|stream| flow(own, stream.times(times)));
        for (objects, writes, asked) in &other.etcd {
            let own = self.of(*objects, *writes);
            add(&mut own.of_leader, &asked.of_leader);
            add(&mut own.of_follower, &asked.of_follower);
        }
        add(&mut self.watched, &other.watched);
        add(&mut self.events, &other.events);
        self.written.add(other.written.share(times, 1));
        for (own, other) in self.logged.iter_mut().zip(other.logged) {
            own.add(other.times(times as u64));
        }
    }
}

impl Logged {
    fn add(&mut self, other: Self) {
        self.writes = self.writes.and(other.writes);
        self.expired.iter_mut().zip(other.expired).for_each(|(own, other)| *own = own.and(other));
        self.single.iter_mut().zip(other.single).for_each(|(own, other)| *own = own.and(other));
        self.whole = self.whole.and(other.whole);
    }

    fn times(self, times: u64) -> Self {
        let Self { writes, expired, single, whole } = self;
        let all = |ends: [Writes; Lease::ALL.len()]| ends.map(|own| own.times(times));
        Self { writes: writes.times(times), expired: all(expired), single: all(single), whole: whole.times(times) }
    }

    /// So many of so many equal parts of it flow.
    pub fn rate(self, own: usize, of: usize) -> WriteRate {
        let share = |writes: Writes| writes.share(own, of);
        WriteRate {
            writes: share(self.writes),
            expired: self.expired.map(share),
            single: self.single.map(share),
            compacts: own > 0,
        }
    }
}

impl Stream {
    fn of(leg: &Leg, often: (u64, u32)) -> Self {
        let there = Rate::of(often, leg.volume.count, leg.volume.bytes, leg.volume.wire);
        let back = Rate::of(often, 0, 0, leg.acks);
        Self { from: leg.from, to: leg.to, class: leg.class, there, back }
    }

    /// So many times as much.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { there: self.there.share(times, 1), back: self.back.share(times, 1), ..self }
    }

    /// One of `of` equal parts.
    #[must_use]
    pub fn part(self, of: usize) -> Self {
        Self { there: self.there.part(of), back: self.back.part(of), ..self }
    }

    /// The sum with another stream between the same parts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.there.add(other.there);
        self.back.add(other.back);
        self
    }
}

/// Adds to what goes the same way.
fn flow(streams: &mut Vec<Stream>, more: Stream) {
    match streams.iter_mut().find(|own| (own.from, own.to, own.class) == (more.from, more.to, more.class)) {
        _ if more.there.is_zero() => {}
        Some(own) => *own = own.and(more),
        None => streams.push(more),
    }
}
