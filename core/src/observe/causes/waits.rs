//! What requests and members waited for: queues of disks, cores and paths, lost packets, snapshots.

use std::collections::{BTreeMap, VecDeque};

use super::{BEFORE, Causes, EtcdHistory, Outage};
use crate::ids::{ClientId, MemberId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::record::{ClientRecord, Delay, EtcdRecord, Part, Record, Service};
use crate::scenario::{ActiveFault, Client, Impact, Op, text};

/// Waits of one cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    long: VecDeque<(Time, Wait, Duration)>,
    snapshots: Vec<Snapshot>,
    /// Voters that run and reach each other.
    connected: u8,
}

/// Something that takes long.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// Work of a member.
    Member(MemberId, Part),
    /// Requests of a client in a zone to a member.
    Client(ClientId, ZoneId, MemberId, Delay),
}

/// A snapshot on its way.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    from: MemberId,
    to: MemberId,
    bytes: u64,
    began: Time,
    ended: Option<Time>,
    /// The fewest connected voters while it was on its way.
    connected: u8,
}

impl Waits {
    /// Drops what was over at a time.
    pub(super) fn forget(&mut self, is_old: impl Fn(Time) -> bool) {
        while self.long.front().is_some_and(|(at, _, wait)| is_old(*at + *wait)) {
            self.long.pop_front();
        }
        self.snapshots.retain(|snapshot| !snapshot.ended.is_some_and(&is_old));
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.long.is_empty() && self.snapshots.is_empty()
    }

    /// Takes note of a record of the cluster.
    pub(super) fn record(&mut self, at: Time, record: &Record) {
        match *record {
            Record::Etcd(EtcdRecord::Backlog { member, part, wait }) => {
                self.long.push_back((at, Wait::Member(member, part), wait));
            }
            Record::Client(ClientRecord::Delayed { client, from, member, by, wait }) => {
                self.long.push_back((at, Wait::Client(client, from, member, by), wait));
            }
            Record::Etcd(EtcdRecord::SnapshotStarted { from, to, bytes }) => {
                let connected = self.connected;
                self.snapshots.push(Snapshot { from, to, bytes, began: at, ended: None, connected });
            }
            Record::Etcd(EtcdRecord::SnapshotFinished { from, to, .. }) => {
                let is_it = |one: &&mut Snapshot| (one.from, one.to, one.ended) == (from, to, None);
                self.snapshots.iter_mut().filter(is_it).for_each(|one| one.ended = Some(at));
            }
            Record::Etcd(EtcdRecord::ConnectedVoters { connected, .. }) => {
                self.connected = connected;
                let under_way = self.snapshots.iter_mut().filter(|one| one.ended.is_none());
                under_way.for_each(|one| one.connected = one.connected.min(connected));
            }
            _ => {}
        }
    }
}

impl Causes {
    /// What took long enough to make requests late, or (where members lost their leader) to hold up heartbeats: the longest, with its
    /// length; the same of other members where it took at least half as long.
    ///
    /// A put waits for four writes at most: that under way and its own, at the leader and at a follower. So what took less than a quarter
    /// of the probe's deadline, or of the shortest time-out of a client of etcd (those in API servers excepted), makes nothing late; of what
    /// is left of it once the request's own work is done, where members' cores or an API server have some.
    pub(super) fn busy(&self, outage: &Outage) -> Option<String> {
        let asking = self.scenario.clients.iter().filter(|client| client.etcd == outage.cluster && client.server.is_none());
        let shortest = asking.map(|client| client.timeout).fold(self.scenario.probe.deadline, Duration::min);
        let work = self.added(outage) + self.scenario.etcd[outage.cluster].options.cost.per_request;
        let least = if outage.late { (shortest - work.min(shortest)) / 4 } else { Duration::ZERO };
        let end = if outage.late { outage.to.unwrap_or(Time::MAX) } else { outage.from };
        let mut all: BTreeMap<(bool, String), (Duration, Wait)> = BTreeMap::new();
        for &(at, wait, time) in &self.clusters[outage.cluster].waits.long {
            let meets = at <= end && at + time + BEFORE >= outage.from && (time >= least || wait.refuses());
            if let (true, Some(what)) = (meets && wait.concerns(outage), self.what(wait)) {
                let known = all.entry((wait.refuses(), what)).or_insert((time, wait));
                *known = if time > known.0 { (time, wait) } else { *known };
            }
        }
        let (longest, wait) = all.values().max_by_key(|(time, wait)| (wait.refuses(), *time)).copied()?;
        let alike = all.iter().filter(|(_, (time, other))| other.is_like(wait) && *time * 2 >= longest);
        let names: Vec<&String> = alike.map(|((_, name), _)| name).collect();
        Some(wait.told(&names, longest))
    }

    /// What has something to do; `None` where that is a fault's, which is a cause itself.
    fn what(&self, wait: Wait) -> Option<String> {
        let name = |member| text::member(&*self.scenario, member).to_owned();
        let peer = |member: MemberId, index| MemberId { index, ..member };
        let zone = |member: MemberId| self.clusters[member.cluster].zones[member.index as usize];
        match wait {
            Wait::Member(member, Part::Log | Part::Database | Part::Cores | Part::Apply | Part::TooFarBehind) => {
                Some(name(member))
            }
            Wait::Member(member, Part::Card) | Wait::Client(.., member, Delay::Card) => Some(self.node(member)),
            Wait::Client(client, .., Delay::OwnCard) => Some(self.machine(client)),
            Wait::Member(member, Part::Link(to)) => Some(format!("from {} to {}", name(member), name(peer(member, to)))),
            Wait::Member(member, Part::Loss(to)) => self.loss(zone(member), zone(peer(member, to))),
            Wait::Client(_, from, member, Delay::Loss) => self.loss(from, zone(member)),
            Wait::Client(.., member, Delay::Down) => Some(name(member)),
            Wait::Client(client, .., Delay::Client) => Some(format!("client {}", self.scenario.client(client).name)),
            Wait::Client(client, .., Delay::Queue | Delay::RetryAfter) => {
                // `c/kube-apiserver 0: leaders renew`: its API server, whatever it was asked.
                let name = &self.scenario.client(client).name;
                Some(name.split_once(": ").map_or(name.as_str(), |(server, _)| server).to_owned())
            }
            Wait::Client(client, _, member, Delay::Link) => {
                Some(format!("from {} to {}", self.scenario.client(client).name, name(member)))
            }
        }
    }

    /// The node of a member: by its name where the scenario says so (pods move).
    fn node(&self, member: MemberId) -> String {
        if self.scenario.etcd[member.cluster].managed {
            return format!("the node of {}", text::member(&*self.scenario, member));
        }
        self.scenario.nodes[self.scenario.member(member).node].name.clone()
    }

    /// The machine of a client.
    fn machine(&self, client: ClientId) -> String {
        let client = self.scenario.client(client);
        client.node.map_or_else(|| format!("the machine of {}", client.name), |node| self.scenario.nodes[node].name.clone())
    }

    /// Messages between members that wait for packets which were lost while a fault was under way: TCP waits twice as long each time.
    pub(super) fn sent_again(&self, outage: &Outage) -> Option<String> {
        let mut long = self.clusters[outage.cluster].waits.long.iter().rev();
        long.find_map(|&(at, wait, time)| match wait {
            Wait::Member(from, Part::Loss(to)) if at <= outage.from && at + time + BEFORE >= outage.from => {
                let to = MemberId { index: to, ..from };
                let [from, to] = [from, to].map(|member| text::member(&*self.scenario, member));
                let (time, since) = (text::duration(time), text::duration(outage.from.since(at)));
                Some(format!("lost packets made messages from {from} to {to} {time} late, {since} before"))
            }
            _ => None,
        })
    }

    /// `10 % loss between p and q`, of the path itself.
    fn loss(&self, a: ZoneId, b: ZoneId) -> Option<String> {
        let path =
            |a: ZoneId, b: ZoneId| &self.scenario.network.paths[usize::from(a.0) * self.scenario.zones.len() + usize::from(b.0)];
        let loss = path(a, b).loss.max(path(b, a).loss);
        let [first, last] = [a.min(b), a.max(b)].map(|zone| &self.scenario.zones[zone].name);
        (loss > 0.0).then(|| format!("{} % loss between {first} and {last}", (loss * 1e4).round() / 1e2))
    }

    /// A snapshot without whose receiver no majority was connected: nothing could be committed till it was there.
    pub(super) fn snapshot(&self, outage: &Outage) -> Option<String> {
        let EtcdHistory { waits, voters, .. } = &*self.clusters[outage.cluster];
        if matches!(outage.service, Service::Quorum | Service::ReadSerializable) {
            return None;
        }
        let is_needed = |one: &&Snapshot| {
            one.began < outage.to.unwrap_or(Time::MAX)
                && one.ended.is_none_or(|ended| ended > outage.from)
                && voters.has(one.to)
                && usize::from(one.connected) <= voters.majority()
        };
        let one = waits.snapshots.iter().filter(is_needed).max_by_key(|one| one.bytes)?;
        Some(self.received(one, if one.connected == 2 { ", the other voter," } else { "" }))
    }

    /// A snapshot that a voter was sent when requests began to be late: a member that receives an entry in a snapshot does not answer the
    /// client that proposed it.
    pub(super) fn overtaken(&self, outage: &Outage) -> Option<String> {
        let EtcdHistory { waits, voters, .. } = &*self.clusters[outage.cluster];
        let begins = self.begins(outage);
        let meets =
            |one: &&Snapshot| voters.has(one.to) && one.began <= begins && one.ended.is_none_or(|ended| ended > outage.from);
        let one = waits.snapshots.iter().filter(meets).max_by_key(|one| one.bytes).filter(|_| outage.late)?;
        Some(self.received(one, ""))
    }

    fn received(&self, one: &Snapshot, other: &str) -> String {
        let (to, bytes) = (text::member(&*self.scenario, one.to), text::bytes(one.bytes));
        match one.ended {
            Some(ended) => {
                format!("{to}{other} received a snapshot of {bytes} for {}", text::duration(ended.since(one.began)))
            }
            None => format!("{to}{other} still receives a snapshot of {bytes}"),
        }
    }

    /// Nobody wrote while a disk was too slow for writes: a leader whose disk is slow keeps leading, for its Ready loop waits for a sync only where
    /// there is something to write (etcd, `server/etcdserver/raft.go`). An API's etcd is always written to.
    pub(super) fn unwritten(&self, outage: &Outage) -> Option<String> {
        let Outage { cluster, service: Service::Write, from, to, late: false, api: None } = *outage else { return None };
        let of_api = self.scenario.etcd[cluster].managed || self.scenario.kube.clusters.iter().any(|api| api.etcd == cluster);
        let writes = |client: &Client| {
            let writes = !matches!(client.op, Op::Range { .. } | Op::Watch);
            writes && client.etcd == cluster && to.is_none_or(|to| client.start < to) && client.stop > from
        };
        let slows = |(fault, ended): &(ActiveFault, Option<Time>)| {
            let meets = to.is_none_or(|to| fault.from < to) && ended.is_none_or(|ended| ended > from);
            meets && fault.fault.kind().impact() == Impact::SlowsDisk && self.touches(fault, outage)
        };
        let slow = self.faults.iter().any(slows) || self.slow_by_nature(outage).is_some();
        let nobody = slow && !of_api && !self.scenario.clients.iter().any(writes);
        nobody.then(|| "no write arrived in that time".to_owned())
    }

    /// What an API server adds to each request.
    fn added(&self, outage: &Outage) -> Duration {
        outage.api.map_or(Duration::ZERO, |api| self.scenario.kube.clusters[api].timers.api_overhead)
    }

    /// Paths, disks or API servers that are too slow for the probe's deadline, whatever happens.
    pub(super) fn slow_by_nature(&self, outage: &Outage) -> Option<String> {
        let (zones, network, members) =
            (&self.clusters[outage.cluster].zones, &self.scenario.network, &self.scenario.etcd[outage.cluster].members);
        let added = self.added(outage);
        let path = |a: ZoneId, b: ZoneId| &network.paths[usize::from(a.0) * self.scenario.zones.len() + usize::from(b.0)];
        let pairs = zones.iter().flat_map(|a| zones.iter().map(move |b| (*a, *b)));
        let there_and_back = |(a, b): (ZoneId, ZoneId)| [path(a, b), path(b, a)].map(|path| path.delay + path.jitter.typical());
        let trip = |(a, b)| (there_and_back((a, b)).into_iter().fold(Duration::ZERO, |sum, way| sum + way), a, b);
        let among = pairs.map(trip).max()?;
        // Who asks may be elsewhere.
        let asker = self.scenario.probe.from.zone();
        let asks = asker.and_then(|asker| zones.iter().map(|zone| trip((asker, *zone))).min_by_key(|(trip, ..)| *trip));
        let (trip, a, b) = asks.into_iter().chain([among]).max_by_key(|(trip, ..)| *trip)?;
        let trips = among.0 + asks.map_or(Duration::ZERO, |(trip, ..)| trip);
        let syncs = members.iter().map(|member| (self.scenario.volumes[member.volume].disk.fsync.typical(), &member.name));
        let (sync, name) = syncs.max()?;
        let name_of = |zone: ZoneId| &self.scenario.zones[zone].name;
        if added + trips + sync <= self.scenario.probe.deadline {
            return None;
        }
        Some(if added > trip.max(sync) {
            format!("an API server adds {} to each request", text::duration(added))
        } else if trip > sync {
            format!("a round trip between {} and {} takes {}", name_of(a), name_of(b), text::duration(trip))
        } else {
            format!("an fsync of {name} takes {}", text::duration(sync))
        })
    }
}

impl Wait {
    /// What is said of it, of all that have the like.
    fn told(self, names: &[&String], time: Duration) -> String {
        let (all, time, several) = (text::list(names), text::duration(time), names.len() > 1);
        let s = |one: &'static str, more: &'static str| if several { more } else { one };
        match self {
            Self::Member(_, Part::Log) => {
                format!("the {} of {all} {} {time} of writes queued", s("disk", "disks"), s("has", "have"))
            }
            Self::Member(_, Part::Database) => format!(
                "{} of the {} of {all} {} {time}",
                s("a commit", "commits"),
                s("database", "databases"),
                s("takes", "take")
            ),
            Self::Member(_, Part::Cores) => format!("the cores of {all} have {time} of requests queued"),
            Self::Member(_, Part::Apply) => format!("{all} {} {time} of entries to apply", s("has", "have")),
            Self::Member(_, Part::TooFarBehind) => {
                format!("{all} had more than 5,000 entries to apply (too many requests)")
            }
            Self::Member(_, Part::Link(_)) | Self::Client(.., Delay::Link) => {
                format!("the {} {all} {} {time} of messages queued", s("path", "paths"), s("has", "have"))
            }
            Self::Member(_, Part::Card) | Self::Client(.., Delay::Card | Delay::OwnCard) => {
                format!("the network {} of {all} {} {time} of data queued", s("card", "cards"), s("has", "have"))
            }
            Self::Client(.., Delay::Client) => format!("{all} {} {time} of requests queued", s("has", "have")),
            Self::Client(.., Delay::Queue) => format!("requests waited {time} in queues of {all} (Priority and Fairness)"),
            Self::Client(.., Delay::RetryAfter) => format!("{all} rejected requests (429), which were repeated after {time}"),
            Self::Client(.., Delay::Down) => format!("requests waited {time} for {all}, which did not run"),
            Self::Member(_, Part::Loss(_)) | Self::Client(.., Delay::Loss) => all,
        }
    }

    /// Whether a service may wait for it.
    const fn concerns(self, outage: &Outage) -> bool {
        match self {
            // A read of a member's own data waits for its database alone; a quorum is one however long it takes.
            Self::Member(_, Part::Log | Part::Link(_) | Part::Loss(_) | Part::Card) => {
                !matches!(outage.service, Service::ReadSerializable | Service::Quorum)
            }
            // Members lose their leader for what holds up heartbeats.
            Self::Member(_, Part::Database | Part::Cores | Part::Apply | Part::TooFarBehind) | Self::Client(..) => outage.late,
        }
    }

    /// Whether requests do not wait for it, but are refused.
    const fn refuses(self) -> bool {
        matches!(self, Self::Member(_, Part::TooFarBehind))
    }

    /// Whether it is of the same kind.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Member(_, a), Self::Member(_, b)) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
            (Self::Client(.., a), Self::Client(.., b)) => a == b,
            _ => false,
        }
    }
}
