//! A path with a delay of 0.5 ms each way, and packets that are lost on purpose: while a path loses all of them.

use super::*;
use zonefall_kernel::dist::Latency;
use zonefall_kernel::rng::Purpose;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

fn path(loss: f64) -> Path {
    Path { delay: Duration::from_micros(500), jitter: Latency::NONE, loss, bytes_per_s: u64::MAX }
}

fn connection(seed: u64) -> Tcp {
    let draws = [Purpose::Loss, Purpose::Delay].map(|purpose| Draws::new(seed, purpose, 0));
    let keep_alive = (Time::ZERO, Duration::from_secs(5) / 3, 66);
    let start = Start { draws, first_draw: 0, now: Time::ZERO, free: Time::ZERO, last_arrival: Time::ZERO, keep_alive };
    Tcp::new(start, [&path(0.0), &path(0.0)])
}

/// When messages arrive: all packets are lost until `lossy`, in microseconds; each is written at a time, with so many bytes.
fn check(lossy: u64, messages: &[(u64, u64)], expected: &[u64]) {
    let mut tcp = connection(1);
    let mut arrivals = vec![Time::ZERO; messages.len()];
    let mut clean = false;
    for (tag, &(at, bytes)) in (0u32..).zip(messages).chain([(0, &(lossy, 0))]) {
        if at >= lossy && !clean {
            clean = true;
            tcp.set_paths(us(lossy), [&path(0.0), &path(0.0)]).into_iter().for_each(|(tag, at)| arrivals[tag as usize] = at);
        }
        if bytes > 0 {
            let loss = if clean { 0.0 } else { 1.0 };
            let moved = tcp.write(us(at), [&path(loss), &path(0.0)], bytes, tag, Class::Append);
            for (tag, at) in moved {
                arrivals[tag as usize] = at;
            }
        }
    }
    // Each packet takes a nanosecond to leave.
    let arrivals: Vec<u64> = arrivals.iter().map(|at| at.as_nanos() / 1_000).collect();
    assert_eq!(arrivals, expected, "{messages:?}, lost until {lossy}");
}

#[test]
fn what_is_lost_is_sent_again_when_linux_sends_it() {
    // Nothing is lost.
    check(0, &[(0, 100), (100, 5_000)], &[500, 600]);
    // A packet alone: the probe of the tail comes with the time-out, the least (200 ms) and a round trip later.
    check(50, &[(0, 100)], &[201_500]);
    // A packet that follows is acknowledged first: that shows the loss at once.
    check(50, &[(0, 100), (20_000, 100)], &[21_500, 21_500]);
    // Packets of one burst: the last is probed after two round trips and 2 ms, and its ACK shows the loss of the others.
    check(50, &[(0, 2_000)], &[5_500]);
    check(50, &[(0, 100), (10, 100)], &[5_510, 5_510]);
    // The probe is lost, too: time-outs that double.
    check(300_000, &[(0, 100)], &[402_500]);
    check(1_000_000, &[(0, 100)], &[1_608_500]);
}

#[test]
fn a_reader_gives_up_what_is_lost_for_too_long() {
    let patience = Duration::from_secs(5);
    let mut tcp = connection(1);
    tcp.write(us(2_000_000), [&path(1.0), &path(0.0)], 100, 0, Class::Append);
    // It heard the keep-alive of 1.67 s.
    assert_eq!(tcp.gives_up(patience), Some(Time::ZERO + patience / 3 + Duration::from_micros(500) + patience));
    tcp.set_paths(us(3_000_000), [&path(0.0), &path(0.0)]);
    assert_eq!(tcp.gives_up(patience), None);
    assert_eq!(tcp.take_resent().len(), 3, "a probe and two time-outs");
}

#[test]
fn messages_arrive_in_order_however_much_is_lost() {
    let mut known = 0;
    for (seed, loss) in (0..200).zip([0.01, 0.1, 0.3, 0.6].into_iter().cycle()) {
        let mut draw = Draws::new(seed, Purpose::Arrival, 1).draw(0);
        let mut tcp = connection(seed);
        let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
        let mut forgetful = tcp.clone();
        for tag in 0..100 {
            now += Duration::from_micros(draw.below(20_000));
            let bytes = 1 + draw.below(4_000);
            let write = |tcp: &mut Tcp| tcp.write(now, [&path(loss), &path(loss)], bytes, tag, Class::Append);
            let moved = write(&mut tcp);
            known += u32::from(tcp.ahead.is_some());
            forgetful.ahead = None;
            assert_eq!(moved, write(&mut forgetful), "seed {seed}: what is known of later changes nothing");
            assert_eq!(moved.last().map(|(tag, _)| *tag), Some(tag), "the new message is told last");
            arrivals.push(Time::ZERO);
            for (moved, at) in moved {
                let old = std::mem::replace(&mut arrivals[moved as usize], at);
                assert!(moved == tag || old > now, "seed {seed}: message {moved} had arrived");
                assert!(at >= now, "seed {seed}: message {moved} arrives in the past");
            }
            assert!(arrivals.is_sorted() && *arrivals.last().expect("one") >= now + path(loss).delay, "seed {seed}");
        }
    }
    assert!(known > 1_000, "more waits to be sent than the window allows in {known} of 20,000 cases");
}

#[test]
fn a_lone_packet_waits_for_the_least_time_out_and_a_burst_shows_its_own_losses() {
    let draws = [Purpose::Loss, Purpose::Delay].map(|purpose| Draws::new(1, purpose, 0));
    let waits = |bytes: u64| -> Vec<u64> {
        let wait = |k| alone(draws, k, [&path(0.05), &path(0.05)], Burst::of(bytes, false)).0.as_nanos() / 1_000_000;
        let mut waits: Vec<u64> = (0..2_000).map(wait).collect();
        waits.sort_unstable();
        waits
    };
    // 5 % are lost, 0.25 % twice.
    let lone = waits(100);
    assert_eq!([lone[1_850], lone[1_950], lone[1_998]], [0, 201, 402]);
    // Of eight packets one is lost in a third of all bursts; one burst of twenty loses its last and waits for that.
    let burst = waits(8 * 1_448);
    assert_eq!(burst[1_200], 0);
    assert!((1..10).contains(&burst[1_700]) && burst[1_990] > 200, "{} ms, {} ms", burst[1_700], burst[1_990]);
    assert_eq!(alone(draws, 0, [&path(0.0), &path(0.0)], Burst::of(100, false)), Default::default());
}
