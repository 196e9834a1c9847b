//! What the timeline is painted with: bars in lanes, from the report. The same data is drawn and, as a table, read out.

use zonefall_core::report::{EtcdReport, LeaderReport, OutageKind, Report};

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
    /// What it comes to: `1.3 s gone`.
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

/// Rows of faults; further ones share the last.
const MOST_ROWS: usize = 3;

/// The lanes of a cluster: faults, terms, then each service.
pub fn lanes(report: &Report, cluster: &EtcdReport) -> Vec<Lane> {
    let service = |kind, name| {
        let outages = cluster.outages.iter().filter(|o| o.kind == kind);
        let bars: Vec<Bar> = outages
            .map(|o| Bar {
                from_s: o.from_s,
                to_s: o.to_s,
                text: format!("{} unavailable for {}: {}", outage(kind), length(o.to_s - o.from_s), o.root_cause),
                short: vec![format!("{} unavailable for {}", outage(kind), length(o.to_s - o.from_s)), length(o.to_s - o.from_s)],
                class: "outage".to_owned(),
                row: 0,
            })
            .collect();
        let gone: f64 = bars.iter().map(|b| b.to_s - b.from_s).sum();
        let sum = if bars.is_empty() { "✓ always available".to_owned() } else { format!("✕ {} unavailable", length(gone)) };
        Lane { name, sum, bars, rows: 1, row_height: 14.0 }
    };
    vec![
        faults(report),
        terms(&cluster.leaders, cluster.leader_changes, report.simulated_s),
        service(OutageKind::Write, "writes"),
        service(OutageKind::ReadLinearizable, "linearizable"),
        service(OutageKind::ReadSerializable, "serializable"),
        service(OutageKind::Quorum, "quorum"),
    ]
}

fn faults(report: &Report) -> Lane {
    let mut ends: Vec<f64> = Vec::new();
    let bars: Vec<Bar> = report
        .faults
        .iter()
        .map(|fault| {
            let row = ends.iter().position(|end| *end <= fault.from_s).unwrap_or(ends.len()).min(MOST_ROWS - 1);
            if row == ends.len() {
                ends.push(fault.to_s);
            } else {
                ends[row] = ends[row].max(fault.to_s);
            }
            Bar {
                from_s: fault.from_s,
                to_s: fault.to_s,
                text: fault.what.clone(),
                short: Vec::new(),
                class: "fault".to_owned(),
                row,
            }
        })
        .collect();
    let sum = match bars.len() {
        0 => "none".to_owned(),
        1 => "1 fault".to_owned(),
        n => format!("{n} faults"),
    };
    Lane { name: "faults", sum, rows: ends.len().max(1), bars, row_height: 16.0 }
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
