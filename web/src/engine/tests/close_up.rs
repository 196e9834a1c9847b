//! A part of a run in finer windows: together they are what the report says of it.

use zonefall_core::report::{CloseUp, Report};

use super::*;

/// The close-up, where there is one.
fn close_up(worker: &mut Worker, from: Time, to: Time) -> Option<CloseUp> {
    worker.session.request(WorkerRequest::CloseUp { load: LOAD, from, to });
    worker.finish().into_iter().find_map(|response| match response {
        WorkerResponse::CloseUp { close_up, .. } => Some(*close_up),
        _ => None,
    })
}

/// Of ten seconds that are a window of the report: requests and bytes, fine and coarse, add up to the same.
fn assert_same(report: &Report, part: &CloseUp, window: usize) {
    let first = ((window as f64 * report.latency_window_s - part.from_s) / part.window_s).round() as usize;
    let each = (report.latency_window_s / part.window_s).round() as usize;
    let (mut requests, mut bytes) = (0, 0.0);
    for (name, cluster) in &report.etcd {
        for row in &cluster.latency {
            let same = |other: &&zonefall_core::report::LatencyReport| {
                (other.op, &other.target, other.consistency, &other.from_zone)
                    == (row.op, &row.target, row.consistency, &row.from_zone)
            };
            let fine = part.latency[name].iter().find(same).map(|fine| &fine.windows);
            let sum = |of: &[u64]| of.iter().skip(first).take(each).sum::<u64>();
            let coarse = |of: &[u64]| of.get(window).copied().unwrap_or(0);
            let counts = fine.map_or((0, 0), |fine| (sum(&fine.count), sum(&fine.failed)));
            assert_eq!(counts, (coarse(&row.windows.count), coarse(&row.windows.failed)), "{name}, window {window}");
            requests += counts.0;
        }
    }
    for (pair, fine) in report.zone_pairs.iter().zip(&part.zone_pairs) {
        assert_eq!((&pair.from_zone, &pair.to_zone), (&fine.from_zone, &fine.to_zone));
        let sum = fine.wire_bytes_per_s[first..first + each].iter().sum::<f64>() * part.window_s;
        let coarse = pair.wire_bytes_per_s[window] * report.traffic_window_s;
        assert!((sum - coarse).abs() < 1.0, "{fine:?}: {sum} and {coarse} bytes");
        bytes += sum;
    }
    assert!(requests > 0 && bytes > 0.0, "there is something to see");
}

#[test]
fn its_windows_are_those_of_the_report_in_pieces() {
    let mut worker = Worker::loaded("zone-outage");
    worker.finish();
    worker.fork(1, 0, s(62), cut(1, Some(Duration::from_secs(5))));
    let report = final_report(&worker.finish(), BranchId(1));
    assert!((9.9..10.1).contains(&report.latency_window_s));
    let part = close_up(&mut worker, Time::from_nanos(55_010_000_000), s(85)).expect("it is finer");
    assert_eq!((part.from_s, part.to_s, part.window_s), (55.0, 85.0, 0.1));
    assert_same(&report, &part, 6);
    assert_same(&report, &part, 7);
    // Where the leader was gone no put ended well, for a second and more: the report's window of ten has no such gap.
    let gap = |of: &[u64]| of.split(|count| *count > 0).map(<[u64]>::len).max();
    let put = |rows: &[zonefall_core::report::LatencyReport]| rows[0].windows.count.clone();
    assert!(gap(&put(&part.latency["etcd-main"])[50..]) > Some(10), "{part:?}");
    assert_eq!(gap(&put(&report.etcd["etcd-main"].latency)), Some(0));
}

#[test]
fn the_last_part_asked_for_is_answered_where_the_report_is_not_as_fine() {
    let mut worker = Worker::loaded("zone-outage");
    worker.finish();
    worker.session.request(WorkerRequest::CloseUp { load: LOAD, from: s(1), to: s(900) });
    worker.work();
    let part = close_up(&mut worker, s(2_090), s(9_999)).expect("it is finer");
    assert_eq!((part.from_s, part.to_s, part.window_s), (2_090.0, 2_100.0, 0.05));
    assert_eq!(close_up(&mut worker, s(0), s(2_100)), None);
    assert_eq!(close_up(&mut worker, s(30), s(30)), None);
    assert_eq!(close_up(&mut worker, s(9_000), s(9_001)), None);
}
