//! Times, roles and sizes as the page writes them.

use zonefall_core::etcd::raft::message::Kind;
use zonefall_core::etcd::view::{Down, MemberView};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::Service;
use zonefall_core::report::OutageKind;
use zonefall_core::scenario::text::{self, count};
use zonefall_core::scenario::units::Span;
use zonefall_core::sim::Role;

/// A moment as a clock shows it: `00:01:01.312`, with `decimals` (0 to 9) of a second.
pub fn clock(at: Time, decimals: u32) -> String {
    let ns = at.as_nanos();
    let s = ns / 1_000_000_000;
    let whole = format!("{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60);
    if decimals == 0 {
        return whole;
    }
    let part = ns % 1_000_000_000 / 10_u64.pow(9 - decimals);
    format!("{whole}.{part:0width$}", width = decimals as usize)
}

/// A length in plain words: `1.3 s`.
pub fn length(s: f64) -> String {
    if s <= 0.0 { "0 s".to_owned() } else { text::duration(Duration::from_nanos((s * 1e9).round() as u64)) }
}

/// A moment of a report.
pub fn moment(s: f64) -> Time {
    Time::from_nanos((s.max(0.0) * 1e9).round() as u64)
}

/// What a user types to say when: `1:01.3`, `00:01:01.312`, `61.3`, `1m 2s`, `500ms`.
pub fn parse_moment(text: &str) -> Option<Time> {
    let text = text.split_whitespace().collect::<String>().replace("min", "m");
    let mut parts = text.rsplit(':');
    let last = parts.next()?;
    let seconds = if last.ends_with(|c: char| c.is_ascii_digit()) { "s" } else { "" };
    let mut ns = format!("{last}{seconds}").parse::<Span>().ok()?.0.as_nanos();
    let mut unit = Duration::from_secs(60).as_nanos();
    for part in parts {
        ns = part.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(ns)?;
        unit = unit.checked_mul(60)?;
    }
    Some(Time::from_nanos(ns))
}

/// A count where room is scarce: `431`, `12k`, `1.2M`.
pub fn short_count(n: u64) -> String {
    match n {
        0..10_000 => count(n),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// What a member is, in a word.
pub fn role(member: &MemberView) -> &'static str {
    match (member.status.down, member.status.role) {
        (Some(Down::Absent), _) | (_, Role::Absent) => "not in the cluster",
        (Some(Down::Standby), _) | (None, Role::Standby) => "standby",
        (Some(Down::HeldDown), _) => "down",
        (Some(Down::NoData), _) => "no data",
        (Some(Down::Starting), _) => "starting",
        (None, Role::Follower) => "follower",
        (None, Role::PreCandidate | Role::Candidate) => "candidate",
        (None, Role::Leader) => "leader",
        (None, Role::Learner) => "learner",
    }
}

/// A service, as a user calls it.
pub fn service(service: Service) -> &'static str {
    match service {
        Service::Quorum => "quorum",
        Service::Write => "writes",
        Service::ReadLinearizable => "linearizable reads",
        Service::ReadSerializable => "serializable reads",
    }
}

/// What an outage is of.
pub fn outage(kind: OutageKind) -> &'static str {
    match kind {
        OutageKind::Quorum => "quorum",
        OutageKind::Write => "writes",
        OutageKind::ReadLinearizable => "linearizable reads",
        OutageKind::ReadSerializable => "serializable reads",
    }
}

/// A message, as a user calls it.
pub fn message(kind: Kind) -> &'static str {
    match kind {
        Kind::PreVote => "pre-vote request",
        Kind::PreVoteResponse => "pre-vote response",
        Kind::Vote => "vote request",
        Kind::VoteResponse => "vote response",
        Kind::Append => "append",
        Kind::AppendResponse => "append response",
        Kind::Heartbeat => "heartbeat",
        Kind::HeartbeatResponse => "heartbeat response",
        Kind::Snapshot => "snapshot",
        Kind::Propose => "proposal",
        Kind::ReadIndex => "read-index request",
        Kind::ReadIndexResponse => "read-index response",
        Kind::TimeoutNow => "leadership transfer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_write_them() {
        for (text, ns) in [
            ("61.3", Some(61_300_000_000)),
            ("1:01.3", Some(61_300_000_000)),
            ("01:00:00", Some(3_600_000_000_000)),
            (" 1m 2s ", Some(62_000_000_000)),
            ("1m30s", Some(90_000_000_000)),
            ("500 ms", Some(500_000_000)),
            ("", None),
            ("-1", None),
            ("1x", None),
            ("1:x", None),
            ("inf", None),
        ] {
            assert_eq!(parse_moment(text).map(Time::as_nanos), ns, "{text}");
        }
    }

    #[test]
    fn clocks_and_counts() {
        assert_eq!(clock(Time::from_nanos(61_312_456_789), 3), "00:01:01.312");
        assert_eq!(clock(Time::from_nanos(3_600_000_000_000), 0), "01:00:00");
        assert_eq!((count(12_431), count(999), count(1_000_000)), ("12,431".into(), "999".into(), "1,000,000".into()));
        assert_eq!((short_count(9_999), short_count(180_000)), ("9,999".into(), "180k".into()));
    }
}
