//! Requests that were not answered within the deadline.
//!
//! A service that is there may still be too slow: a disk has a queue, cores are busy, packets are lost, a connection hangs. So the probe
//! asks the requests that are simulated. One made at a moment tells what any other would have met that a client in the same zone made
//! then, until the next one is made there:
//!
//! ```text
//!  made      1    2    3         4    5          requests of one zone for one service
//!  in time   yes  no   no        yes  yes
//!                 |==============|               the service is too slow for clients there
//! ```
//!
//! Of several that were made at one moment each tells of its share of that time.
//!
//! Where the service was not there it is not counted twice, and the first late ones up to a deadline before are its interruption's. Late
//! ones less than [`Rules::apart`] apart, of any zone, are one outage; it counts for as long as it lasted in the zone that was hit most.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::service_of;
use crate::client::longest_admission;
use crate::ids::{ClientId, EtcdId, FaultId, NodeId, TiVec, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::observe::causes::{self, BEFORE};
use crate::observe::vantages::Vantages;
use crate::record::Service;
use crate::scenario::{
    ActiveFault, Client, Fault, FaultTarget, Load, NodeCrash, NodePartition, ProbeFrom, Scenario, Target, Vantage, ZonePartition,
    ZonePower,
};

/// Where no other is made, a request tells of so long a time at least.
const TELLS: Duration = Duration::from_secs(1);

/// What does not change during a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// An answer that takes longer is none.
    pub(super) deadline: Duration,
    /// No request lasts longer: what was made before is known.
    pub(super) horizon: Duration,
    /// Where no request was late for so long, an outage is over.
    pub(super) apart: Duration,
    pub(super) from: ProbeFrom,
}

impl Rules {
    /// Of a scenario.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let probe = scenario.probe;
        let last = scenario.clients.iter().map(|client| {
            let each = client.timeout.min(scenario.etcd[client.etcd].options.request_timeout);
            longest_admission(scenario, client) + each * u64::from(client.retries + 1)
        });
        Self {
            deadline: probe.deadline,
            horizon: last.fold(probe.deadline, Duration::max),
            apart: Duration::from_secs(60).max(Duration::from_nanos(scenario.duration.as_nanos() / 1_000)),
            from: probe.from,
        }
    }

    /// It was answered within the deadline.
    pub(super) fn in_time(&self, request: &Request) -> bool {
        request.ok && request.to.since(request.from) <= self.deadline
    }
}

/// Clients whose requests tell what others would have met.
///
/// One that is bound to a member tells nothing, unless that leads and should have answered (it was reached, and not rewriting its database,
/// which others are asked during). An API server's request is bound to the member of its connection: where it hangs, or that member is slow,
/// that is the API's trouble. One that follows the leader (or never asks it) meets what that member has to do:
/// it tells where, and while, nobody in its zone asks for the same of all.
/// Likewise one whose connections ask only once they have been answered, so seldom while answers are late (coordinated omission): it tells
/// where nobody asks at a rate.
#[derive(Clone, Debug)]
pub(super) struct Witnesses {
    /// By client: from when to when others are better witnesses.
    clients: Arc<TiVec<ClientId, Vec<(Time, Time)>>>,
}

impl Witnesses {
    /// Of a scenario.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let about = |client: &Client| (client.etcd, client.zone, service_of(client.op));
        let follows = |client: &Client| {
            client.server.is_none() && matches!(client.target, Target::Leader | Target::Follower | Target::Member(_))
        };
        let asks_all = |client: &Client| client.server.is_none() && matches!(client.target, Target::Nearest | Target::All);
        let steady = |client: &Client| matches!(client.load, Load::Open { interval, .. } if interval <= TELLS);
        let unlimited = || scenario.clients.iter().filter(|client| client.requests.is_none());
        let better = |client: &Client| {
            if client.server.is_some() {
                return Vec::new();
            }
            let waits = matches!(client.load, Load::Closed { .. });
            let tells_more = |other: &Client| asks_all(other) && (follows(client) || waits && steady(other));
            let others = unlimited().filter(|other| about(other) == about(client) && tells_more(other));
            others.map(|other| (other.start, other.stop)).collect()
        };
        let clients = scenario.clients.iter().map(better);
        Self { clients: Arc::new(clients.collect()) }
    }

    /// Whether what a client met with a request that it made at `made` tells what others would have. `of_leader`: it asked a member that
    /// has led since before it was made, and that should have answered in time, which is what counts for a part of an API server.
    pub(super) fn tells(&self, (id, client): (ClientId, &Client), made: Time, of_leader: bool) -> bool {
        let better = self.clients[id].iter().any(|(start, stop)| *start <= made && made < *stop);
        (of_leader || !is_bound(client)) && !better
    }
}

/// Whether it asks one member.
pub(super) const fn is_bound(client: &Client) -> bool {
    client.server.is_some() || matches!(client.target, Target::Member(_))
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// When it was made.
    pub(super) from: Time,
    /// When it ended.
    pub(super) to: Time,
    /// It was answered.
    pub(super) ok: bool,
    /// Its zone was cut off: it counts for those in there alone.
    pub(super) cut_off: bool,
}

/// Zones and nodes without power, or cut off: since when, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct Isolated {
    faults: Vec<(FaultId, Fault, Time, Time)>,
}

impl Isolated {
    pub(super) fn began(&mut self, fault: &ActiveFault) {
        if let Fault::ZonePower(_) | Fault::ZonePartition(_) | Fault::NodeCrash(_) | Fault::NodePartition(_) = fault.fault {
            self.faults.push((fault.id, fault.fault.clone(), fault.from, Time::MAX));
        }
    }

    pub(super) fn ended(&mut self, id: FaultId, at: Time, rules: &Rules) {
        self.faults.retain(|(.., until)| *until + rules.horizon >= at);
        for (.., until) in self.faults.iter_mut().filter(|(fault, ..)| *fault == id) {
            *until = at;
        }
    }

    /// Whether a request from a zone (and a node) that was made and ended at these times tells nothing of others, for there was no power or
    /// the node alone was cut off, and whether the zone was cut off.
    pub(super) fn at(&self, zone: ZoneId, node: Option<NodeId>, from: Time, to: Time) -> (bool, bool) {
        let here = FaultTarget::Named(zone);
        let during = || self.faults.iter().filter(|(_, _, begin, end)| *begin <= to && from <= *end).map(|(_, fault, ..)| fault);
        let is_own = |other: FaultTarget<NodeId>| node.map(FaultTarget::Named) == Some(other);
        let dark = during().any(|fault| match fault {
            Fault::ZonePower(ZonePower(zone)) => *zone == here,
            Fault::NodeCrash(NodeCrash(node)) | Fault::NodePartition(NodePartition { node, .. }) => is_own(*node),
            _ => false,
        });
        let cut_off = during().any(|fault| matches!(fault, Fault::ZonePartition(ZonePartition { zone, .. }) if *zone == here));
        (dark, cut_off)
    }
}

/// A time in which requests were late.
#[derive(Clone, Debug)]
pub(super) struct Outage {
    pub(super) from: Time,
    pub(super) to: Time,
    /// For how long in each zone.
    zones: BTreeMap<ZoneId, Duration>,
    /// Why; `None`: it may go on.
    pub(super) cause: Option<String>,
}

impl Outage {
    /// What is to be explained.
    pub(super) const fn explained(&self, cluster: EtcdId, service: Service) -> causes::Outage {
        causes::Outage { cluster, service, from: self.from, to: Some(self.to), late: true, api: None }
    }
}

/// When a service was not there: for clients in each zone, and as it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps<'a> {
    pub(super) vantages: &'a Vantages<3>,
    /// The service, by its place among those that clients ask for.
    pub(super) asked: usize,
}

/// What requests for one service of a cluster met.
#[derive(Clone, Debug, Default)]
pub(super) struct Late {
    zones: BTreeMap<ZoneId, Zone>,
    outages: Vec<Outage>,
}

#[derive(Clone, Debug, Default)]
struct Zone {
    /// Requests that may have been overtaken by others that were made before, in the order in which they were made.
    recent: VecDeque<Request>,
    /// When the last late one was made that no interruption explains.
    last_late: Option<Time>,
    late: Duration,
    /// That of requests from zones that were not cut off: others may have met it, too.
    shared: Duration,
}

impl Late {
    /// A request of a zone has ended.
    pub(super) fn ended(&mut self, zone: ZoneId, request: Request, rules: &Rules, gaps: Gaps<'_>) {
        let recent = &mut self.zones.entry(zone).or_default().recent;
        let place = recent.partition_point(|other| other.from <= request.from);
        recent.insert(place, request);
        self.settle(zone, (request.to, Time::MAX), rules, gaps);
    }

    /// Counts what can be overtaken no longer by requests that have not ended at `now`, and tells of no time after `end`.
    fn settle(&mut self, id: ZoneId, (now, end): (Time, Time), rules: &Rules, gaps: Gaps<'_>) {
        let interrupted = |from, to| gaps.vantages.without(Vantage::Zone(id), gaps.asked, from, to);
        let zone = self.zones.get_mut(&id).expect("it has asked");
        loop {
            // All that were made before the next one are known when it can last no longer.
            let ends = |request: &Request| request.to.max(request.from + rules.deadline.max(TELLS));
            let Some(first) = zone.recent.front().copied() else { return };
            let made = zone.recent.partition_point(|request| request.from == first.from);
            let next = zone.recent.get(made).copied();
            let lasts = zone.recent.iter().take(made).map(ends).fold(first.from, Time::max);
            let until = next.map_or(Time::MAX, |next| next.from).min(lasts);
            if until + rules.horizon >= now {
                return;
            }
            let all: Vec<Request> = zone.recent.drain(..made).collect();
            let late = all.iter().filter(|request| !rules.in_time(request));
            let Some(request) = late.clone().next().copied() else { continue };
            let whole = until.min(end).since(request.from.min(end));
            let until = request.from.min(end) + whole * (late.count() as u64) / (made as u64);
            // The first late ones right before an interruption are its own.
            let first = zone.last_late.is_none_or(|last| last + BEFORE < request.from);
            if first && interrupted(request.from, request.from + rules.deadline) > Duration::ZERO {
                continue;
            }
            zone.last_late = Some(request.from);
            let lasted = until.since(request.from.min(until)) - interrupted(request.from, until);
            // One made amid an interruption tells nothing of the time after it, if the next does not.
            let amid = interrupted(request.from, request.from + Duration::from_nanos(1)) > Duration::ZERO;
            let over = amid && next.is_none_or(|next| rules.in_time(&next));
            if over || lasted == Duration::ZERO {
                continue;
            }
            zone.late = zone.late + lasted;
            zone.shared = zone.shared + if request.cut_off { Duration::ZERO } else { lasted };
            // What counts already does not count twice, whoever it hit.
            let gone = gaps.vantages.without_or_counted(Vantage::Zone(id), gaps.asked, request.from, until);
            let lasted = until.since(request.from.min(until)) - gone;
            if lasted == Duration::ZERO || request.cut_off && rules.from == ProbeFrom::Worst {
                continue;
            }
            let open = self.outages.last_mut().filter(|last| last.cause.is_none() && request.from <= last.to + rules.apart);
            if let Some(outage) = open {
                (outage.from, outage.to) = (outage.from.min(request.from), outage.to.max(until));
                let sum = outage.zones.entry(id).or_default();
                *sum = *sum + lasted;
            } else {
                let (from, zones) = (request.from, [(id, lasted)].into());
                self.outages.push(Outage { from, to: until, zones, cause: None });
            }
        }
    }

    /// Counts what can be overtaken no longer in any zone.
    pub(super) fn settle_all(&mut self, now: Time, rules: &Rules, gaps: Gaps<'_>) {
        let asked: Vec<ZoneId> = self.zones.iter().filter(|(_, zone)| !zone.recent.is_empty()).map(|(id, _)| *id).collect();
        for zone in asked {
            self.settle(zone, (now, Time::MAX), rules, gaps);
        }
    }

    /// The same with all that is known now.
    pub(super) fn settled(&self, now: Time, rules: &Rules, gaps: Gaps<'_>) -> Self {
        let mut all = self.clone();
        for zone in self.zones.keys() {
            all.settle(*zone, (Time::MAX, now), rules, gaps);
        }
        all
    }

    /// Whether requests tell of it.
    pub(super) fn is_asked(&self) -> bool {
        !self.zones.is_empty()
    }

    /// Outages, in order.
    pub(super) fn outages(&self) -> &[Outage] {
        &self.outages
    }

    /// Outages to which no late request will be added, and which are not explained yet.
    pub(super) fn over(&mut self, now: Time, rules: &Rules) -> impl Iterator<Item = &mut Outage> {
        let over = move |outage: &Outage| outage.cause.is_none() && outage.to + rules.apart + rules.horizon < now;
        self.outages.iter_mut().rev().take_while(|outage| outage.cause.is_none()).filter(move |outage| over(outage))
    }

    /// Since when an outage may last that is not explained yet.
    pub(super) fn open(&self) -> Option<Time> {
        let open = self.outages.iter().rev().take_while(|outage| outage.cause.is_none()).map(|outage| outage.from);
        open.chain(self.zones.values().filter_map(|zone| Some(zone.recent.front()?.from))).min()
    }

    /// How long the service was too slow, as it counts.
    pub(super) fn counted(&self, rules: &Rules, gaps: Gaps<'_>) -> Duration {
        self.outages.iter().fold(Duration::ZERO, |sum, outage| sum + self.length(outage, rules, gaps))
    }

    /// How long an outage lasted, as it counts.
    pub(super) fn length(&self, outage: &Outage, rules: &Rules, gaps: Gaps<'_>) -> Duration {
        let in_zone = |zone: &ZoneId| outage.zones.get(zone).copied().unwrap_or(Duration::ZERO);
        // Where the service was not there at all it was no better.
        let or_gone =
            |zone: &ZoneId| in_zone(zone) + gaps.vantages.without_alone(Vantage::Zone(*zone), gaps.asked, outage.from, outage.to);
        match rules.from {
            ProbeFrom::Worst => self.zones.keys().map(in_zone).max(),
            ProbeFrom::Best => self.zones.keys().map(or_gone).min(),
            ProbeFrom::At(Vantage::Zone(zone)) => Some(in_zone(&zone)),
            ProbeFrom::At(Vantage::Outside) => None,
        }
        .unwrap_or(Duration::ZERO)
    }

    /// How long it was too slow for clients at a vantage; `None`: nobody asked there, and requests elsewhere were late. Zones that were
    /// hit about as hard as what counts (what their requests met differs by chance) have what counts.
    pub(super) fn at(&self, vantage: Vantage, rules: &Rules, gaps: Gaps<'_>) -> Option<Duration> {
        let counted = self.counted(rules, gaps);
        let own = if let Vantage::Zone(zone) = vantage { self.zones.get(&zone).map(|zone| zone.late) } else { None };
        let is_near = |own: Duration| own.as_nanos().abs_diff(counted.as_nanos()) <= counted.as_nanos() / 100;
        let nobody_else = self.zones.values().all(|zone| zone.shared == Duration::ZERO);
        own.map(|own| if is_near(own) { counted } else { own }).or(nobody_else.then_some(Duration::ZERO))
    }
}
