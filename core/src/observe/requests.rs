//! How requests ended and how long they took.
//!
//! One histogram (high dynamic range, three significant digits, from a microsecond up) per operation, target of the client,
//! consistency and zone of the client. Only requests that ended well are in it: a request that timed out says something about its deadline, not about etcd,
//! and is counted beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use hdrhistogram::Histogram;

use super::Observer;
use super::describe::kind;
use super::histogram::{histogram, ms, time};
use super::traffic;
use super::windows::Windows;
use crate::ids::{ClientId, EtcdId, MemberId, TiVec, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::record::{ClientRecord, Record, RequestResult};
use crate::report::{Consistency, LatencyReport, OpKind, RequestCounts};
use crate::scenario::{Op, Scenario, Target};

/// Counts and times requests.
#[derive(Clone, Debug)]
pub struct Requests {
    scenario: Arc<Scenario>,
    /// Without a request.
    windows: Windows,
    totals: TiVec<EtcdId, RequestCounts>,
    /// Shared with clones as long as neither changes them.
    by_kind: BTreeMap<Key, Arc<Tally>>,
}

/// Cluster, operation, target (in the report's order: roles, then members), consistency, zone of the client.
type Key = (EtcdId, OpKind, (u8, u8), Consistency, ZoneId);

#[derive(Clone, Debug)]
struct Tally {
    counts: RequestCounts,
    latency: Histogram<u32>,
    longest: Duration,
    windows: Windows,
}

impl Requests {
    /// No request yet, of a whole run.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let end = Time::ZERO + scenario.duration;
        Self::over_time(scenario, Windows::new((Time::ZERO, end), traffic::window(scenario.duration)))
    }

    /// No request yet, of the part of a run that these windows, empty as yet, are of.
    pub fn over_time(scenario: &Arc<Scenario>, windows: Windows) -> Self {
        let totals = vec![RequestCounts::default(); scenario.etcd.len()].into();
        Self { scenario: Arc::clone(scenario), windows, totals, by_kind: BTreeMap::new() }
    }

    /// Counts of all requests to a cluster.
    pub fn totals(&self, cluster: EtcdId) -> RequestCounts {
        self.totals[cluster].clone()
    }

    /// Latency rows of a cluster, ordered by operation, target, consistency, zone.
    pub fn rows(&self, cluster: EtcdId) -> Vec<LatencyReport> {
        let of_cluster = self.by_kind.iter().filter(|((c, ..), _)| *c == cluster);
        of_cluster.map(|(key, tally)| self.row(*key, tally)).collect()
    }

    fn row(&self, (cluster, op, target, consistency, zone): Key, tally: &Tally) -> LatencyReport {
        let some = tally.counts.ok > 0;
        let at = |quantile| some.then(|| ms(tally.latency.value_at_quantile(quantile).min(tally.longest.as_nanos())));
        LatencyReport {
            op,
            from_zone: self.scenario.zones[zone].name.clone(),
            target: self.target_name(cluster, target),
            consistency,
            count: tally.counts.ok,
            timed_out: tally.counts.timed_out,
            failed: tally.counts.failed + tally.counts.too_large + tally.counts.no_space + tally.counts.too_many_requests,
            rejected: tally.counts.rejected,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            max_ms: some.then(|| ms(tally.longest.as_nanos())),
            windows: tally.windows.report(),
        }
    }

    fn target_name(&self, cluster: EtcdId, (role, index): (u8, u8)) -> String {
        match role {
            0 => "leader".to_owned(),
            1 => "follower".to_owned(),
            2 => "nearest".to_owned(),
            3 => "all".to_owned(),
            _ => self.scenario.etcd[cluster].members[index as usize].name.clone(),
        }
    }

    fn request(
        &mut self,
        at: Time,
        (client, from): (ClientId, ZoneId),
        op: Op,
        member: MemberId,
        latency: Duration,
        result: RequestResult,
    ) {
        count(&mut self.totals[member.cluster], result);
        let client = self.scenario.client(client);
        // Whom an API server asks follows from its connection: what is told is whom it asked.
        let target = if client.server.is_some() { Target::Member(member.index) } else { client.target };
        let (op, consistency) = kind(op);
        let key = (member.cluster, op, target_key(target), consistency, from);
        let tally = self.by_kind.entry(key).or_insert_with(|| {
            let (latency, windows) = (histogram(3), self.windows.clone());
            Arc::new(Tally { counts: RequestCounts::default(), latency, longest: Duration::ZERO, windows })
        });
        let tally = Arc::make_mut(tally);
        tally.windows.count(at, latency, result);
        count(&mut tally.counts, result);
        if result == RequestResult::Ok {
            time(&mut tally.latency, latency);
            tally.longest = tally.longest.max(latency);
        }
    }
}

impl Observer for Requests {
    fn record(&mut self, at: Time, record: &Record) {
        if let Record::Client(ClientRecord::Request { client, from, op, member, latency, result, .. }) = record
            && !self.scenario.client(*client).server.is_some_and(|part| part.while_disturbed)
        {
            self.request(at, (*client, *from), *op, *member, *latency, *result);
        }
    }
}

fn count(counts: &mut RequestCounts, result: RequestResult) {
    *match result {
        RequestResult::Ok => &mut counts.ok,
        RequestResult::TimedOut => &mut counts.timed_out,
        RequestResult::Failed | RequestResult::Lost => &mut counts.failed,
        RequestResult::TooLarge => &mut counts.too_large,
        RequestResult::NoSpace => &mut counts.no_space,
        RequestResult::TooManyRequests => &mut counts.too_many_requests,
        RequestResult::Rejected => &mut counts.rejected,
    } += 1;
}

fn target_key(target: Target) -> (u8, u8) {
    match target {
        Target::Leader => (0, 0),
        Target::Follower => (1, 0),
        Target::Nearest => (2, 0),
        Target::All => (3, 0),
        Target::Member(index) => (4, index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::testing::{CLUSTER, client, member, three_zones};

    /// A request to the first member.
    fn request((client, from): (ClientId, ZoneId), op: Op, latency: Duration, result: RequestResult) -> Record {
        let (member, waited, expected) = (member(0), Duration::ZERO, None);
        Record::Client(ClientRecord::Request { client, from, op, member, latency, waited, expected, result })
    }

    #[test]
    fn percentiles_are_of_good_answers_and_the_rest_is_counted() {
        let mut scenario = three_zones();
        scenario.clients = vec![client("writer", Target::Leader), client("reader", Target::Member(1))].into();
        let scenario = Arc::new(scenario);
        let mut requests = Requests::new(&scenario);
        let mut ask = |c: u16, op, ms, result| {
            let latency = Duration::from_millis(ms);
            let (client, from) = (ClientId(c), ZoneId(0));
            requests.record(Time::ZERO, &request((client, from), op, latency, result));
        };
        let put = Op::Put { key_bytes: 16, value_bytes: 1024 };
        let range = Op::Range { linearizable: false, keys: 1, key_bytes: 16, value_bytes: 1024 };
        (1..=100).for_each(|n| ask(0, put, n, RequestResult::Ok));
        ask(0, put, 7_000, RequestResult::TimedOut);
        ask(1, range, 3, RequestResult::Failed);
        ask(1, range, 0, RequestResult::Rejected);
        ask(1, range, 0, RequestResult::Rejected);
        let all = RequestCounts { ok: 100, timed_out: 1, failed: 1, rejected: 2, ..RequestCounts::default() };
        assert_eq!(requests.totals(CLUSTER), all);
        let rows = requests.rows(CLUSTER);
        let [put, range] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((put.op, put.target.as_str(), put.consistency), (OpKind::Put, "leader", Consistency::Linearizable));
        assert_eq!((put.count, put.timed_out, put.max_ms), (100, 1, Some(100.0)));
        for (got, expected) in [(put.p50_ms, 50.0), (put.p90_ms, 90.0), (put.p99_ms, 99.0)] {
            assert!((got.unwrap() - expected).abs() <= expected * 0.001, "{got:?} {expected}");
        }
        assert_eq!((range.target.as_str(), range.consistency), ("etcd-main-1", Consistency::Serializable));
        assert_eq!((range.count, range.failed, range.rejected, range.p50_ms), (0, 1, 2, None));
    }

    #[test]
    fn each_path_has_its_row() {
        let mut scenario = three_zones();
        scenario.clients = vec![client("near", Target::Leader), client("far", Target::Leader)].into();
        scenario.clients[ClientId(1)].zone = ZoneId(2);
        let zones = [&scenario.zones[ZoneId(0)].name, &scenario.zones[ZoneId(2)].name].map(String::clone);
        let scenario = Arc::new(scenario);
        let mut requests = Requests::new(&scenario);
        for (client, ms) in [(1, 9), (0, 2), (1, 9)] {
            let latency = Duration::from_millis(ms);
            let (client, op, result) = (ClientId(client), Op::Put { key_bytes: 16, value_bytes: 1024 }, RequestResult::Ok);
            let from = scenario.client(client).zone;
            requests.record(Time::ZERO, &request((client, from), op, latency, result));
        }
        let rows: Vec<_> = requests.rows(CLUSTER).into_iter().map(|row| (row.from_zone, row.count, row.max_ms)).collect();
        let [near, far] = zones;
        assert_eq!(rows, [(near, 1, Some(2.0)), (far, 2, Some(9.0))]);
    }
}
