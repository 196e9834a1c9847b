//! Hand-written streams of requests, and for how long they tell that an API was too slow.

use super::*;
use crate::kernel::time::Duration;
use crate::observe::testing::{at, client, three_zones};
use crate::scenario::{Probe, Scenario, Target};

const ZONES: [ZoneId; 2] = [ZoneId(0), ZoneId(1)];
const DEADLINE: Duration = Duration::from_secs(2);

fn rules(from: ProbeFrom) -> Rules {
    let mut scenario = Scenario { probe: Probe { from, deadline: DEADLINE }, ..three_zones() };
    scenario.clients.push(client("a part of a server", Target::All));
    Rules::new(&scenario)
}

/// A request that a server in a zone is asked, when it was made, and how long it took, in ms; answered, unless that is `None`: rejected.
fn asked(zone: ZoneId, from: u64, took: Option<u64>) -> ApiRequest {
    let request = Request { from: at(from), to: at(from + took.unwrap_or(0)), ok: took.is_some(), cut_off: false };
    let in_time = took.is_some_and(|took| Duration::from_millis(took) <= DEADLINE);
    ApiRequest { request, in_time, zone, expected: true, rejected: took.is_none() }
}

/// Ten requests a second from one time to another, in seconds; those of every `late`th are late.
fn steady(from: u64, to: u64, late: u64) -> impl Iterator<Item = ApiRequest> {
    (from * 10..to * 10).map(move |k| asked(ZONES[0], k * 100, Some(if k % late == 0 { 3_000 } else { 5 })))
}

/// What is known at minute ten: outages as from, to and how long they count, in seconds, and requests rejected meanwhile.
fn told(late: &LateRequests, rules: &Rules) -> Vec<(f64, f64, f64, u64)> {
    let s = |time: Time| time.since(Time::ZERO).as_secs_f64();
    let settled = late.settled(at(600_000), rules);
    settled.outages(rules).map(|one| (s(one.from), s(one.to), one.unavailable.as_secs_f64(), one.rejected)).collect()
}

/// The same of requests, the state of the API as it was at the start.
fn check(requests: impl Iterator<Item = ApiRequest>, expected: &[(f64, f64, f64, u64)]) {
    let (mut late, rules) = (LateRequests::default(), rules(ProbeFrom::Worst));
    requests.for_each(|request| late.ended(request, &rules));
    assert_eq!(told(&late, &rules), expected);
}

#[test]
fn a_part_of_the_requests_that_is_late_counts_as_that_part_of_the_time() {
    check(steady(0, 300, u64::MAX).skip(1), &[]);
    check(steady(100, 200, 1).chain(steady(200, 300, u64::MAX)), &[(100.0, 200.0, 100.0, 0)]);
    check(steady(100, 200, 5).chain(steady(200, 300, u64::MAX)), &[(100.0, 200.0, 20.0, 0)]);
    // Requests that were late for a minute come to less than a deadline in all.
    check(steady(100, 119, 10).chain(steady(119, 300, u64::MAX)), &[]);
}

#[test]
fn late_requests_a_minute_apart_are_two_outages() {
    let quiet = |from, to| steady(from, to, u64::MAX);
    let all = steady(100, 110, 1).chain(quiet(110, 150)).chain(steady(150, 160, 1)).chain(quiet(160, 300));
    check(all, &[(100.0, 160.0, 20.0, 0)]);
    let all = steady(100, 110, 1).chain(quiet(110, 200)).chain(steady(200, 210, 1)).chain(quiet(210, 300));
    check(all, &[(100.0, 110.0, 10.0, 0), (200.0, 210.0, 10.0, 0)]);
}

#[test]
fn rejected_requests_are_late() {
    let rejected = (1_000..2_000).map(|k| asked(ZONES[0], k * 100, (k % 2 == 0).then_some(5)));
    check(rejected.chain(steady(200, 300, u64::MAX)), &[(100.1, 200.0, 50.0, 500)]);
}

/// Where nobody asks any more, what is still waited for tells that it is slow, and nothing does afterwards.
#[test]
fn the_last_request_tells_of_the_time_in_which_it_waits() {
    check([asked(ZONES[0], 100_000, Some(7_000))].into_iter(), &[(100.0, 107.0, 7.0, 0)]);
}

/// Two of three resources are served from 100 s to 200 s, and requests for the others know it.
#[test]
fn a_part_that_stalls_is_counted_once() {
    let (mut late, rules) = (LateRequests::default(), rules(ProbeFrom::Worst));
    late.served.count(at(100_000), Share::of(2, 3), DEADLINE);
    late.served.count(at(200_000), Share::ALL, DEADLINE);
    // Of those that expect an answer half get none in time.
    let met = (0..3_000).map(|k| match k % 3 {
        _ if !(1_000..2_000).contains(&k) => asked(ZONES[0], k * 100, Some(5)),
        0 => ApiRequest { expected: false, ..asked(ZONES[0], k * 100, Some(7_000)) },
        _ => asked(ZONES[0], k * 100, Some(if k % 2 == 0 { 3_000 } else { 5 })),
    });
    met.for_each(|request| late.ended(request, &rules));
    let [(from, to, unavailable, 0)] = told(&late, &rules)[..] else { panic!("{:?}", told(&late, &rules)) };
    assert!(
        (from - 100.0).abs() < 1.0 && (to - 200.0).abs() < 1e-9 && (unavailable - 100.0 / 3.0).abs() < 0.5,
        "{from} {to} {unavailable}"
    );
}

/// The state's own account leaves out a part that stalls for less than a deadline.
#[test]
fn requests_for_a_part_that_stalls_too_shortly_to_count_are_late() {
    let (mut late, rules) = (LateRequests::default(), rules(ProbeFrom::Worst));
    for s in (100..200).step_by(2) {
        late.served.count(at(s * 1_000), Share::of(1, 2), DEADLINE);
        late.served.count(at(s * 1_000 + 1_000), Share::ALL, DEADLINE);
    }
    for k in 0..3_000 {
        let stalls = (1_000..2_000).contains(&k) && k / 10 % 2 == 0 && k % 2 == 0;
        late.ended(ApiRequest { expected: !stalls, ..asked(ZONES[0], k * 100, Some(if stalls { 3_000 } else { 5 })) }, &rules);
    }
    assert_eq!(told(&late, &rules), [(100.0, 199.0, 25.0, 0)]);
}

#[test]
fn late_requests_right_before_an_interruption_are_its_own() {
    let (mut late, rules) = (LateRequests::default(), rules(ProbeFrom::Worst));
    late.served.count(at(100_000), Share::NONE, DEADLINE);
    late.served.count(at(103_000), Share::ALL, DEADLINE);
    let all = steady(0, 99, u64::MAX).skip(1).chain(steady(99, 100, 1)).chain(steady(103, 200, u64::MAX));
    all.for_each(|request| late.ended(request, &rules));
    assert_eq!(told(&late, &rules), []);
}

/// By the state a third is served outside while nothing is in the zones: of what is served all is late.
#[test]
fn late_requests_amid_an_interruption_are_late_for_those_who_have_none() {
    let (mut late, rules) = (LateRequests::default(), rules(ProbeFrom::Worst));
    late.served.set(at(100_000), Vantage::Outside, Some(Share::of(1, 3)), DEADLINE);
    late.served.count(at(100_000), Share::NONE, DEADLINE);
    late.served.count(at(200_000), Share::ALL, DEADLINE);
    late.served.set(at(200_000), Vantage::Outside, None, DEADLINE);
    // Those that do not expect an answer in time tell nothing of the others, a second apart or two.
    for k in 0..3_000 {
        let amid = (1_000..2_000).contains(&k);
        let expected = !amid || k % 20 == 0 || k % 20 == 10 && k % 60 > 20;
        late.ended(ApiRequest { expected, ..asked(ZONES[0], k * 100, Some(if amid { 3_000 } else { 5 })) }, &rules);
    }
    assert_eq!(told(&late, &rules), []);
    let outside = late.settled(at(600_000), &rules).at(Vantage::Outside, &rules).as_secs_f64();
    assert!((outside - 100.0 / 3.0).abs() < 0.1, "{outside}");
}

/// Some seconds in which nobody asks, others, and one in which one that is in time comes in between.
#[test]
fn late_requests_tell_of_a_short_time_between_them() {
    let late = |s: u64| asked(ZONES[0], s * 1_000, Some(2_500));
    check([100, 105].into_iter().map(late), &[(100.0, 107.5, 7.5, 0)]);
    check([100, 106].into_iter().map(late), &[(100.0, 108.5, 5.0, 0)]);
    check([late(100), asked(ZONES[0], 103_500, Some(5)), late(105)].into_iter(), &[(100.0, 107.5, 5.0, 0)]);
}

#[test]
fn in_a_zone_that_is_cut_off_its_own_server_is_asked() {
    let check = |from, counted: f64, inside: f64| {
        let (mut late, rules) = (LateRequests::default(), rules(from));
        let zone = Vantage::Zone(ZONES[1]);
        late.served.set(at(100_000), zone, Some(Share::of(2, 3)), DEADLINE);
        late.served.set(at(200_000), zone, None, DEADLINE);
        for k in 0..3_000 {
            let (cut_off, ms) = ((1_000..2_000).contains(&k), k * 100);
            let mut own = asked(ZONES[1], ms, Some(if cut_off { 3_000 } else { 5 }));
            own.request.cut_off = cut_off;
            late.ended(asked(ZONES[0], ms, Some(if k % 4 == 0 && cut_off { 3_000 } else { 5 })), &rules);
            late.ended(own, &rules);
        }
        let settled = late.settled(at(600_000), &rules);
        let [all, own] = [settled.unavailable(&rules), settled.at(zone, &rules)].map(Duration::as_secs_f64);
        assert!((all - counted).abs() < 0.5 && (own - inside).abs() < 0.5, "{from:?}: {all} {own}");
        assert_eq!(settled.at(Vantage::Outside, &rules), settled.unavailable(&rules));
    };
    check(ProbeFrom::Worst, 25.0, 200.0 / 3.0);
    check(ProbeFrom::Best, 25.0, 200.0 / 3.0);
}
