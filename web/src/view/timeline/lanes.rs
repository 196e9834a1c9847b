//! What the timeline is painted with: bars in lanes, from the report. The same data is drawn and, as a table, read out.

use zonefall_core::report::{EtcdReport, FaultReport, LeaderReport, OutageKind, Report};

use crate::view::labels::{length, outage};

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// From, in seconds.
    pub from_s: f64,
    /// To, in seconds.
    pub to_s: f64,
    /// What it says.
    pub text: String,
    /// The same in fewer words, the longer first: what is read where `text` has no room.
    pub short: Vec<String>,
    /// Class of its colour.
    pub class: String,
    /// Row inside the lane, 0 at the top.
    pub row: usize,
}

/// A lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Its name.
    pub name: &'static str,
    /// What it comes to: `✕ 1.3 s down`.
    pub sum: String,
    /// Its bars in order.
    pub bars: Vec<Bar>,
    /// Rows that its bars take.
    pub rows: usize,
    /// Height of a row in pixels.
    pub row_height: f64,
}

impl Lane {
    /// Its height in pixels.
    pub fn height(&self) -> f64 {
        self.rows as f64 * self.row_height
    }
}

/// Rows of faults; what finds none of them free shares a bar of the last.
const MOST_ROWS: usize = 3;

/// The lanes of a cluster: faults, terms, then each service.
pub fn lanes(report: &Report, cluster: &EtcdReport) -> Vec<Lane> {
    let service = |kind, name| {
        let outages = cluster.outages.iter().filter(|o| o.kind == kind);
        let bars: Vec<Bar> = outages
            .map(|o| Bar {
                from_s: o.from_s,
                to_s: o.to_s,
                text: format!("{} unavailable for {}: {}", outage(kind), o.length(), o.root_cause),
                short: vec![format!("{} unavailable for {}", outage(kind), o.length()), o.length()],
                class: "outage".to_owned(),
                row: 0,
            })
            .collect();
        let gone: f64 = cluster.outages.iter().filter(|o| o.kind == kind).map(|o| o.unavailable_s).sum();
        let sum = if bars.is_empty() { "✓ no outage".to_owned() } else { format!("✕ {} down", length(gone)) };
        Lane { name, sum, bars, rows: 1, row_height: 14.0 }
    };
    vec![
        faults(&report.faults),
        terms(&cluster.leaders, cluster.leader_changes, report.simulated_s),
        service(OutageKind::Write, "writes"),
        service(OutageKind::ReadLinearizable, "linearizable"),
        service(OutageKind::ReadSerializable, "serializable"),
        service(OutageKind::Quorum, "quorum"),
    ]
}

/// Faults in the first row that is free; without one, in a bar that several share.
fn faults(faults: &[FaultReport]) -> Lane {
    /// A bar in the making: from, to, row, and what it is of.
    type Shared<'a> = (f64, f64, usize, Vec<&'a str>);
    let mut shared: Vec<Shared<'_>> = Vec::new();
    for FaultReport { from_s, to_s, what, .. } in faults {
        let taken = |row: usize| shared.iter().any(|(_, end_s, at, _)| *at == row && end_s > from_s);
        if let Some(row) = (0..MOST_ROWS).find(|row| !taken(*row)) {
            shared.push((*from_s, *to_s, row, vec![what]));
        } else {
            let last = shared.iter_mut().rfind(|(_, _, row, _)| *row == MOST_ROWS - 1).expect("all rows are taken");
            last.1 = last.1.max(*to_s);
            last.3.push(what);
        }
    }
    let bars: Vec<Bar> = shared
        .into_iter()
        .map(|(from_s, to_s, row, what)| {
            let short = if what.len() > 1 { vec![format!("{} faults", what.len())] } else { Vec::new() };
            let text = short.iter().map(|count| format!("{count}: ")).chain([what.join("; ")]).collect();
            Bar { from_s, to_s, text, short, class: "fault".to_owned(), row }
        })
        .collect();
    let sum = match faults.len() {
        0 => "none".to_owned(),
        1 => "1 fault".to_owned(),
        n => format!("{n} faults"),
    };
    let rows = bars.iter().map(|bar| bar.row + 1).max().unwrap_or(1);
    Lane { name: "faults", sum, rows, bars, row_height: 16.0 }
}

/// The leaders, and the times without a leader between them.
fn terms(leaders: &[LeaderReport], changes: u64, until_s: f64) -> Lane {
    let reign = |l: &LeaderReport| Bar {
        from_s: l.from_s,
        to_s: l.to_s,
        text: format!("{} · term {}", l.leader, l.term),
        short: vec![l.leader.clone()],
        class: format!("reign {}", crate::view::map::term_class(l.term)),
        row: 0,
    };
    let nobody = |from_s: f64, to_s: f64| {
        let text = format!("no leader for {}", length(to_s - from_s));
        let short = vec!["no leader".to_owned()];
        (to_s > from_s).then(|| Bar { from_s, to_s, text, short, class: "vacant".to_owned(), row: 0 })
    };
    let bars = leaders.iter().enumerate().flat_map(|(i, l)| {
        let next_s = leaders.get(i + 1).map_or(until_s, |next| next.from_s);
        let vacant = if l.completed { nobody(l.to_s, next_s) } else { None };
        [Some(reign(l)), vacant].into_iter().flatten()
    });
    let bars = bars.collect();
    let sum = match changes {
        0 => "one leader".to_owned(),
        1 => "1 change".to_owned(),
        n => format!("{n} changes"),
    };
    Lane { name: "leader", sum, bars, rows: 1, row_height: 18.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_without_a_free_row_shares_a_bar() {
        let fault = |from_s, to_s, what: &str| FaultReport { from_s, to_s, completed: true, what: what.to_owned() };
        let lane = faults(&[
            fault(0.0, 90.0, "a"),
            fault(1.0, 90.0, "b"),
            fault(2.0, 50.0, "c"),
            fault(3.0, 70.0, "d"),
            fault(60.0, 80.0, "e"),
            fault(80.0, 85.0, "f"),
        ]);
        let bars: Vec<_> = lane.bars.iter().map(|bar| (bar.from_s, bar.to_s, bar.row, bar.text.as_str())).collect();
        assert_eq!(bars, [(0.0, 90.0, 0, "a"), (1.0, 90.0, 1, "b"), (2.0, 80.0, 2, "3 faults: c; d; e"), (80.0, 85.0, 2, "f")]);
        assert_eq!((lane.rows, lane.sum.as_str()), (3, "6 faults"));
    }

    #[test]
    fn between_two_leaders_nobody_leads_and_the_lane_says_so() {
        let leader = |from_s, to_s, over, term| LeaderReport {
            from_s,
            to_s,
            completed: over,
            term,
            leader: format!("etcd-{term}"),
            zone: String::new(),
        };
        let lane = |leaders: Vec<LeaderReport>| {
            let lane = terms(&leaders, 0, 100.0);
            lane.bars.into_iter().map(|bar| (bar.from_s, bar.to_s, bar.text)).collect::<Vec<_>>()
        };
        let text = |from, to, text: &str| (from, to, text.to_owned());
        assert_eq!(
            lane(vec![leader(0.0, 60.0, true, 1), leader(62.0, 70.0, true, 2), leader(70.0, 100.0, false, 3)]),
            [
                text(0.0, 60.0, "etcd-1 · term 1"),
                text(60.0, 62.0, "no leader for 2 s"),
                text(62.0, 70.0, "etcd-2 · term 2"),
                text(70.0, 100.0, "etcd-3 · term 3")
            ]
        );
        assert_eq!(lane(vec![leader(0.0, 60.0, true, 1)])[1], text(60.0, 100.0, "no leader for 40 s"));
        assert_eq!(lane(Vec::new()), []);
    }
}
