//! What a control plane asks, all of its requests together: how much of what goes between which parts of it.

use crate::network::ledger::Class;
use crate::network::wire::Burst;
use crate::scenario::kube::usage::{Caller, Objects, Requests, WATCHER};
use crate::traffic::legs::{self, Leg, Part, Point};

/// What flows, in millionths of each a second: messages, application bytes, bytes on the wire, packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate([u128; 4]);

impl Rate {
    /// So many messages in a million seconds.
    fn of(per_million_s: u64, count: u64, bytes: u64, wire: Burst) -> Self {
        Self([count, bytes, wire.bytes, wire.packets].map(|each| u128::from(each) * u128::from(per_million_s)))
    }

    /// Both.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// An equal part for each of so many.
    #[must_use]
    pub fn part(self, of: usize) -> Self {
        self.share(1, of)
    }

    /// So many of so many equal parts.
    #[must_use]
    pub fn share(self, own: usize, of: usize) -> Self {
        Self(self.0.map(|each| each * own as u128 / of as u128))
    }

    /// What has flowed after so many nanoseconds, in [`UNIT`]s.
    #[must_use]
    pub fn over(self, ns: u64) -> Amount {
        Amount(self.0.map(|each| each * u128::from(ns)))
    }

    /// Bytes on the wire in a second.
    pub fn wire_bytes_per_s(self) -> f64 {
        self.0[2] as f64 / 1e6
    }
}

/// Parts of a byte that an [`Amount`] counts: millionths a second times nanoseconds, so that nothing is ever rounded.
const UNIT: u128 = 1_000_000_000_000_000;

/// What has flowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount([u128; 4]);

impl Amount {
    /// Both.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    /// Whole messages, application bytes, and packets with their bytes.
    pub fn whole(self) -> (u64, u64, Burst) {
        let [count, bytes, wire, packets] = self.0.map(|each| (each / UNIT) as u64);
        (count, bytes, Burst { packets, bytes: wire })
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
    /// There.
    pub there: Rate,
    /// ACKs back.
    pub back: Rate,
}

/// What all writes, or all reads, of one of the etcd clusters send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Where the member that is asked leads.
    pub of_leader: Vec<Stream>,
    /// Where another does.
    pub of_follower: Vec<Stream>,
}

/// A caller of an API, and all that it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Who.
    pub by: Caller,
    /// Questions there, answers and events back.
    pub streams: Vec<Stream>,
}

/// What a control plane asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Of etcd: its objects, whether it writes, and what that sends.
    pub asked: Vec<(Objects, bool, Asked)>,
    /// Events for the watch that each API server holds.
    pub watched: Option<Stream>,
    /// Of the API.
    pub calls: Vec<Calls>,
    /// Keys and values that get into etcd-main.
    pub written: Rate,
}

/// Keys and values that some requests write to etcd-main.
pub fn written(requests: &[Requests]) -> Rate {
    let mut all = Rate::default();
    for own in requests {
        if let Some(bytes) = own.etcd.filter(|(objects, _)| *objects == Objects::Main).and_then(|(_, op)| legs::event(op)) {
            all.add(Rate::of(own.per_million_s, 1, bytes, Burst::default()));
        }
    }
    all
}

impl Plan {
    /// The plan of some requests; `at`: where they meet etcd, but for who leads.
    pub fn new(requests: &[Requests], at: Point) -> Self {
        let mut plan = Self { asked: Vec::new(), watched: None, calls: Vec::new(), written: written(requests) };
        for own in requests {
            plan.ask(own, at);
            plan.call(own, at.tls);
        }
        plan
    }

    fn ask(&mut self, own: &Requests, at: Point) {
        let Some((objects, op)) = own.etcd else { return };
        let event = legs::event(op);
        let key = (objects, event.is_some());
        let place = self.asked.iter().position(|(of, writes, _)| (*of, *writes) == key).unwrap_or_else(|| {
            self.asked.push((key.0, key.1, Asked::default()));
            self.asked.len() - 1
        });
        let asked = &mut self.asked[place].2;
        for (leads, streams) in [(true, &mut asked.of_leader), (false, &mut asked.of_follower)] {
            for leg in legs::legs(op, Point { leads, ..at }) {
                flow(streams, &leg, own.per_million_s);
            }
        }
        // Events of etcd-events are not cached (`watch-cache-sizes`), so nobody watches them there.
        if let Some(event) = event.filter(|_| objects == Objects::Main) {
            let leg = Leg::framed([Part::Target, Part::Server], Class::WatchEvent, event, at.tls);
            let mut streams: Vec<Stream> = self.watched.into_iter().collect();
            flow(&mut streams, &leg, own.per_million_s);
            self.watched = streams.pop();
        }
    }

    fn call(&mut self, own: &Requests, tls: bool) {
        if own.by != Caller::Server {
            let question = Leg::framed([Part::Caller, Part::Server], Class::ApiRequest, own.question.into(), tls);
            let answer = Leg::framed([Part::Server, Part::Caller], Class::ApiAnswer, own.answer, tls);
            let streams = self.calls_of(&own.by);
            flow(streams, &question, own.per_million_s);
            flow(streams, &answer, own.per_million_s);
        }
        if own.watchers > 0 && own.etcd.is_some_and(|(_, op)| legs::event(op).is_some()) {
            let event = Leg::framed([Part::Server, Part::Caller], Class::ApiEvent, own.answer, tls);
            let streams = self.calls_of(&Caller::Component(WATCHER.to_owned()));
            flow(streams, &event, own.per_million_s.saturating_mul(own.watchers.into()));
        }
    }

    fn calls_of(&mut self, by: &Caller) -> &mut Vec<Stream> {
        let place = self.calls.iter().position(|calls| calls.by == *by).unwrap_or_else(|| {
            self.calls.push(Calls { by: by.clone(), streams: Vec::new() });
            self.calls.len() - 1
        });
        &mut self.calls[place].streams
    }
}

/// Adds a message, so often, to what goes the same way.
fn flow(streams: &mut Vec<Stream>, leg: &Leg, per_million_s: u64) {
    let there = Rate::of(per_million_s, leg.volume.count, leg.volume.bytes, leg.volume.wire);
    let back = Rate::of(per_million_s, 0, 0, leg.acks);
    match streams.iter_mut().find(|own| (own.from, own.to, own.class) == (leg.from, leg.to, leg.class)) {
        Some(own) => {
            own.there.add(there);
            own.back.add(back);
        }
        None => streams.push(Stream { from: leg.from, to: leg.to, class: leg.class, there, back }),
    }
}
