//! Bytes between zones over time.
//!
//! Bytes are metered by the engine, not recorded: the run asks for the totals at the end of each window and this keeps what each pair of
//! zones added to them. The window is the shortest round length that leaves no more than [`MOST_WINDOWS`] of them, of a whole run a
//! second or more.

use std::collections::BTreeMap;

use crate::ids::{Endpoint, EtcdId, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::network::ledger::{Class, Ledger, Volume};
use crate::report::{LinkReport, MessageReport, ZonePairReport, ZonePairWindows, rate};
use crate::scenario::Scenario;
use crate::sim::{LinkTotals, PairTotals, Pairs};

/// Windows in a report, at most.
pub const MOST_WINDOWS: u64 = 360;

/// Lengths of a window shorter than a second, in milliseconds.
const SHORT_MS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 500];
/// Other lengths, in seconds; beyond them, multiples of the last.
const ROUND_S: [u64; 14] = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200];

/// The window for a run of this length.
pub fn window(duration: Duration) -> Duration {
    let last = Duration::from_secs(ROUND_S[ROUND_S.len() - 1]);
    let beyond = || last * duration.as_nanos().div_ceil(last.as_nanos() * MOST_WINDOWS);
    ROUND_S.into_iter().map(Duration::from_secs).find(|window| fits(duration, *window)).unwrap_or_else(beyond)
}

/// The window for a part of this length of a run: a millisecond at least.
pub fn fine_window(length: Duration) -> Duration {
    let short = SHORT_MS.into_iter().map(Duration::from_millis);
    short.into_iter().find(|window| fits(length, *window)).unwrap_or_else(|| window(length))
}

fn fits(length: Duration, window: Duration) -> bool {
    length.as_nanos() <= window.as_nanos().saturating_mul(MOST_WINDOWS)
}

/// Follows the totals.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    start: Time,
    /// Wire bytes of each pair at the end of each window, from the first window in which there were any.
    pairs: BTreeMap<(ZoneId, ZoneId), Pair>,
    windows: Vec<Time>,
}

#[derive(Clone, Debug, Default)]
struct Pair {
    bytes: u64,
    wire_bytes: u64,
    /// Windows before the first bytes.
    quiet: usize,
    per_window: Vec<u64>,
}

impl Traffic {
    /// From here on: what was sent before is not counted in any window.
    pub fn since(start: Time, totals: &Pairs) -> Self {
        let pair = |total: &PairTotals| Pair { bytes: total.bytes, wire_bytes: total.wire.bytes, ..Pair::default() };
        let pairs = totals.iter().map(|(key, total)| (*key, pair(total))).collect();
        Self { start, pairs, windows: Vec::new() }
    }

    /// Takes the totals at the end of a window.
    pub fn sample(&mut self, now: Time, totals: &Pairs) {
        for (key, PairTotals { bytes, wire }) in totals {
            let quiet = self.windows.len();
            let pair = self.pairs.entry(*key).or_insert_with(|| Pair { quiet, ..Pair::default() });
            pair.per_window.push(wire.bytes.saturating_sub(pair.wire_bytes));
            (pair.bytes, pair.wire_bytes) = (*bytes, wire.bytes);
        }
        self.windows.push(now);
    }

    /// Takes the totals of all links at the end; `open`: what came since the last window is one more.
    pub fn close(&mut self, now: Time, links: &[LinkTotals], open: bool) {
        let mut totals = Pairs::new();
        for link in links {
            totals.entry(link.zones).or_default().add(link);
        }
        if open {
            self.sample(now, &totals);
        }
        for (zones, pair) in &mut self.pairs {
            let PairTotals { bytes, wire } = totals.get(zones).copied().unwrap_or_default();
            (pair.bytes, pair.wire_bytes) = (bytes, wire.bytes);
        }
    }

    /// One row per zone pair, ordered as the zones of the scenario.
    pub fn rows(&self, scenario: &Scenario) -> Vec<ZonePairReport> {
        let end = self.windows.last().copied().unwrap_or_default().since(Time::ZERO);
        let row = |((from, to), pair, rates): ((ZoneId, ZoneId), &Pair, Vec<f64>)| ZonePairReport {
            from_zone: scenario.zones[from].name.clone(),
            to_zone: scenario.zones[to].name.clone(),
            bytes: pair.bytes,
            wire_bytes: pair.wire_bytes,
            mean_wire_bytes_per_s: rate(pair.wire_bytes, end),
            peak_wire_bytes_per_s: rates.iter().copied().fold(0.0, f64::max),
            wire_bytes_per_s: rates,
        };
        self.rates().map(row).collect()
    }

    /// The windows alone, one row per zone pair.
    pub fn windows(&self, scenario: &Scenario) -> Vec<ZonePairWindows> {
        let row = |((from, to), _, wire_bytes_per_s): ((ZoneId, ZoneId), &Pair, Vec<f64>)| ZonePairWindows {
            from_zone: scenario.zones[from].name.clone(),
            to_zone: scenario.zones[to].name.clone(),
            wire_bytes_per_s,
        };
        self.rates().map(row).collect()
    }

    /// Bytes on the wire per second in each window, by zone pair.
    fn rates(&self) -> impl Iterator<Item = ((ZoneId, ZoneId), &Pair, Vec<f64>)> {
        let starts = std::iter::once(self.start).chain(self.windows.iter().copied());
        let lengths: Vec<Duration> = self.windows.iter().zip(starts).map(|(to, from)| to.since(from)).collect();
        self.pairs.iter().map(move |(zones, pair)| {
            let bytes = std::iter::repeat_n(&0, pair.quiet).chain(&pair.per_window);
            (*zones, pair, bytes.zip(&lengths).map(|(bytes, length)| rate(*bytes, *length)).collect())
        })
    }
}

/// One row per link.
pub fn links(links: &[LinkTotals], now: Time, scenario: &Scenario) -> Vec<LinkReport> {
    let zone_name = |zone: ZoneId| scenario.zones[zone].name.clone();
    let row = |link: &LinkTotals| LinkReport {
        cluster: scenario.etcd[cluster(link.from, scenario)].name.clone(),
        from: name(link.from, scenario).to_owned(),
        to: name(link.to, scenario).to_owned(),
        from_zone: zone_name(link.zones.0),
        to_zone: zone_name(link.zones.1),
        bytes: link.bytes,
        wire_bytes: link.wire_bytes,
        packets: link.packets,
        mean_wire_bytes_per_s: rate(link.wire_bytes, now.since(Time::ZERO)),
        peak_wire_bytes_per_s: (link.peak_wire_bytes_per_s * 1e3).round() / 1e3,
    };
    links.iter().map(row).collect()
}

/// One row per class of messages.
pub fn messages(ledger: &Ledger) -> Vec<MessageReport> {
    let row = |(class, Volume { count, bytes, wire }): (Class, Volume)| MessageReport {
        class,
        count,
        bytes,
        wire_bytes: wire.bytes,
        packets: wire.packets,
    };
    ledger.rows().map(row).collect()
}

/// How what was sent differs from what travelled: `None`, unless the simulator counts wrongly.
pub fn imbalance(messages: &Ledger, links: &[LinkTotals], pairs: &[ZonePairReport]) -> Option<String> {
    let Volume { bytes, wire, .. } = messages.sum();
    let sent = [bytes, wire.bytes, wire.packets];
    let travelled = links.iter().fold([0; 3], |[bytes, wire_bytes, packets], link| {
        [bytes + link.bytes, wire_bytes + link.wire_bytes, packets + link.packets]
    });
    let crossed = pairs.iter().fold([0; 2], |[bytes, wire_bytes], pair| [bytes + pair.bytes, wire_bytes + pair.wire_bytes]);
    (sent != travelled || sent[..2] != crossed).then(|| {
        format!("bytes, wire bytes and packets: {sent:?} in messages, {travelled:?} on links, {crossed:?} between zones")
    })
}

/// The cluster that an endpoint belongs to or talks to; of who asks an API, the one its objects are in.
pub(super) fn cluster(end: Endpoint, scenario: &Scenario) -> EtcdId {
    match end {
        Endpoint::Member(member) => member.cluster,
        Endpoint::Client(client) => scenario.client(client).etcd,
        Endpoint::Servers(cluster) | Endpoint::Components(cluster) | Endpoint::Outside(cluster) | Endpoint::Users(cluster) => {
            scenario.kube.clusters[cluster].etcd
        }
    }
}

fn name(end: Endpoint, scenario: &Scenario) -> &str {
    match end {
        Endpoint::Member(member) => &scenario.member(member).name,
        Endpoint::Client(client) => &scenario.client(client).name,
        Endpoint::Servers(_) => "kube-apiserver",
        Endpoint::Components(_) => "components",
        Endpoint::Outside(_) => "outside",
        Endpoint::Users(_) => "kubelets and users",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::wire::Burst;
    use crate::observe::testing::{at, member, three_zones};

    #[test]
    fn windows_are_round_and_few() {
        for (run_s, expected_s) in [(1, 1), (360, 1), (361, 2), (3_600, 10), (7_200, 20), (86_400, 300), (31_536_000, 93_600)] {
            assert_eq!(window(Duration::from_secs(run_s)), Duration::from_secs(expected_s), "{run_s} s");
        }
    }

    #[test]
    fn pairs_add_up_and_peaks_are_of_the_pair() {
        let scenario = three_zones();
        let link = |from, to, wire_bytes| LinkTotals {
            from: Endpoint::Member(member(from)),
            to: Endpoint::Member(member(to)),
            zones: (scenario.zone_of(member(from)), scenario.zone_of(member(to))),
            bytes: wire_bytes / 2,
            wire_bytes,
            packets: 1,
            peak_wire_bytes_per_s: 0.0,
        };
        let mut traffic = Traffic::default();
        traffic.close(at(10_000), &[link(0, 1, 1_000)], true);
        traffic.close(at(20_000), &[link(0, 1, 1_500), link(2, 1, 400)], true);
        traffic.close(at(25_000), &[link(0, 1, 1_500), link(2, 1, 400)], true);
        let rows = traffic.rows(&scenario);
        assert_eq!((rows[0].to_zone.as_str(), rows[0].wire_bytes, rows[0].bytes), ("z-b", 1_500, 750));
        assert_eq!(rows[0].wire_bytes_per_s, [100.0, 50.0, 0.0]);
        assert_eq!(rows[1].wire_bytes_per_s, [0.0, 40.0, 0.0]);
        assert_eq!((rows[0].mean_wire_bytes_per_s, rows[0].peak_wire_bytes_per_s), (60.0, 100.0));
    }

    #[test]
    fn what_is_sent_is_what_travels() {
        let scenario = three_zones();
        let link = |packets| LinkTotals {
            from: Endpoint::Member(member(0)),
            to: Endpoint::Member(member(1)),
            zones: (scenario.zone_of(member(0)), scenario.zone_of(member(1))),
            bytes: 60,
            wire_bytes: 200,
            packets,
            peak_wire_bytes_per_s: 0.0,
        };
        let mut traffic = Traffic::default();
        traffic.close(at(10_000), &[link(1), link(2)], true);
        let pairs = traffic.rows(&scenario);
        let mut ledger = Ledger::default();
        ledger.add(Class::Append, 1, 100, Burst { packets: 2, bytes: 320 });
        ledger.add(Class::Vote, 1, 20, Burst { packets: 1, bytes: 80 });
        assert_eq!(imbalance(&ledger, &[link(1), link(2)], &pairs), None);
        assert!(imbalance(&ledger, &[link(2), link(2)], &pairs).is_some(), "a packet too many on a link");
        assert!(imbalance(&ledger, &[link(1), link(2)], &[]).is_some(), "nothing between zones");
        ledger.add(Class::Append, 1, 1, Burst::default());
        assert!(imbalance(&ledger, &[link(1), link(2)], &pairs).is_some(), "a byte too many is sent");
    }
}
