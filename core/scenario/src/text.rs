//! Plain words for durations, sizes and requests, shared by outage causes, the trace and the verdict.

use crate::access::LoadBalancer;
use crate::etcd::{Maintenance, MemberChange};
use crate::ids::{BalancerId, MemberId};
use crate::inventory::Inventory;
use crate::load::Op;
use zonefall_kernel::time::Duration;

/// A duration as people say it: `870 ms`, `1.3 s`, `30 min`, `2.5 h`; one decimal below ten seconds-like units.
pub fn duration(d: Duration) -> String {
    let ns = d.as_nanos();
    let (size, unit) = unit(ns);
    format!("{} {unit}", decimal(ns, size))
}

/// The unit for so many nanoseconds, and how many it has.
const fn unit(ns: u64) -> (u64, &'static str) {
    match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        1_000_000_000..120_000_000_000 => (1_000_000_000, "s"),
        120_000_000_000..7_200_000_000_000 => (60_000_000_000, "min"),
        7_200_000_000_000..172_800_000_000_000 => (3_600_000_000_000, "h"),
        _ => (86_400_000_000_000, "d"),
    }
}

/// The same of seconds, as a report has them: `0 s`, `1.1 s`, `13.4 min`.
pub fn seconds(s: f64) -> String {
    if s == 0.0 { "0 s".to_owned() } else { duration(Duration::from_nanos((s * 1e9).round() as u64)) }
}

/// A moment, in seconds, as hours, minutes and seconds to the millisecond: `0:01:01.303`.
pub fn clock(s: f64) -> String {
    let ms = (s * 1e3).round() as u64;
    let (h, min, s, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    format!("{h}:{min:02}:{s:02}.{ms:03}")
}

/// A moment, in seconds, as people say it: `10 min`, `39 s`; as [`clock`] has it where that would name another second: `0:09:59.000`.
pub fn moment(s: f64) -> String {
    let whole = s.floor() as u64 * 1_000_000_000;
    match whole {
        0 => seconds(s),
        _ if (whole * 10).is_multiple_of(unit(whole).0) => duration(Duration::from_nanos(whole)),
        _ => clock(s),
    }
}

/// A part of a time in seconds, and of how much, unless it is all of it: `6.7 min of 20 min`, `1.1 s`.
pub fn part(s: f64, of_s: f64) -> String {
    let (part, whole) = (seconds(s), seconds(of_s));
    if part == whole { whole } else { format!("{part} of {whole}") }
}

/// A part of one as people say it: `about a third`, `12 %`; where it is less than a percent, so much.
pub fn fraction(part: f64) -> String {
    const WORDS: [(f64, &str); 5] = [
        (0.25, "about a quarter"),
        (1.0 / 3.0, "about a third"),
        (0.5, "about half"),
        (2.0 / 3.0, "about two thirds"),
        (1.0, "all"),
    ];
    let near = |(of, _): &&(f64, &str)| (part - of).abs() <= if *of < 1.0 { 0.04 } else { 0.0 };
    match WORDS.iter().find(near) {
        Some((_, words)) => (*words).to_owned(),
        None if part < 0.01 => "less than 1 %".to_owned(),
        None => format!("{:.0} %", (part * 100.0).min(99.0)),
    }
}

/// A number of percent, with as many digits as tell it from none and from all: `49.8 %`, `0.0016 %`, `99.998 %`.
pub fn percent(percent: f64) -> String {
    let apart = percent.min(100.0 - percent);
    let (mut digits, mut scaled) = (1, apart * 10.0);
    while scaled < 10.0 && apart < 0.1 && apart > 0.0 && digits < 9 {
        (digits, scaled) = (digits + 1, scaled * 10.0);
    }
    format!("{percent:.digits$} %")
}

/// Bytes as people say them, in binary units: `412 B`, `1.4 KiB`, `5.1 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|&(size, _)| n >= size) {
        Some((size, unit)) => format!("{} {unit}", decimal(n, size)),
        None => format!("{n} B"),
    }
}

/// A count with its thousands apart: `12,431`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// US dollars, no less than none: `$6,873.68`, `$0.0042`, `< $0.0001`, `$0`.
pub fn dollars(usd: f64) -> String {
    if usd <= 0.0 {
        return "$0".to_owned();
    }
    if usd < 0.000_05 {
        return "< $0.0001".to_owned();
    }
    let text = if usd < 0.1 { format!("{usd:.4}") } else { format!("{usd:.2}") };
    let (whole, part) = text.split_once('.').expect("there are decimals");
    format!("${}.{part}", count(whole.parse().unwrap_or(u64::MAX)))
}

/// `n / size` with one decimal where that says something, in integers so that it reads the same everywhere.
fn decimal(n: u64, size: u64) -> String {
    let tenths = (u128::from(n) * 10 + u128::from(size) / 2) / u128::from(size);
    if tenths.is_multiple_of(10) { format!("{}", tenths / 10) } else { format!("{}.{}", tenths / 10, tenths % 10) }
}

/// A list as people say it: `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match &items[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// The name of a member.
pub fn member(scenario: &dyn Inventory, id: MemberId) -> &str {
    &scenario.member(id).name
}

/// Where a node of a load balancer is: `in za`, or `on worker-1`.
pub fn node_of_balancer(scenario: &dyn Inventory, balancer: BalancerId, node: u16) -> String {
    let LoadBalancer { zones, machines, .. } = &scenario.load_balancers()[balancer];
    match zones.get(usize::from(node)) {
        Some(zone) => format!("in {}", scenario.zones()[*zone].name),
        None => format!("on {}", scenario.nodes()[machines[usize::from(node)]].name),
    }
}

/// What a client asks: `put`, `linearizable read`.
pub fn op(op: Op) -> &'static str {
    match op {
        Op::Put { .. } => "put",
        Op::Txn { .. } => "transaction",
        Op::Grant(_) => "lease",
        Op::Delete { .. } => "delete",
        Op::Range { linearizable: true, .. } => "linearizable read",
        Op::Range { linearizable: false, .. } => "serializable read",
        Op::Watch => "watch",
    }
}

/// A change of membership as a command: `add etcd-main-3`.
pub fn membership_change(change: MemberChange, scenario: &dyn Inventory) -> String {
    match change {
        MemberChange::Add(m) => format!("add {}", member(scenario, m)),
        MemberChange::Remove(m) => format!("remove {}", member(scenario, m)),
        MemberChange::Promote(m) => format!("promote {}", member(scenario, m)),
    }
}

/// A change of membership that is over: `etcd-main-0 was added to the cluster`.
pub fn membership_changed(change: MemberChange, scenario: &dyn Inventory) -> String {
    match change {
        MemberChange::Add(m) => format!("{} was added to the cluster", member(scenario, m)),
        MemberChange::Remove(m) => format!("{} was removed from the cluster", member(scenario, m)),
        MemberChange::Promote(m) => format!("{} was promoted to a voter", member(scenario, m)),
    }
}

/// Work on databases that is over: `etcd-main-0 was defragmented`.
pub fn maintained(task: Maintenance, scenario: &dyn Inventory) -> String {
    match task {
        Maintenance::Compact => "all revisions were compacted".to_owned(),
        Maintenance::Defragment(m) => format!("{} was defragmented", member(scenario, m)),
        Maintenance::DisarmAlarm => "the NOSPACE alarm was disarmed".to_owned(),
    }
}

/// Work on databases as a command: `defragment etcd-main-0`.
pub fn maintenance(task: Maintenance, scenario: &dyn Inventory) -> String {
    match task {
        Maintenance::Compact => "compact all revisions".to_owned(),
        Maintenance::Defragment(m) => format!("defragment {}", member(scenario, m)),
        Maintenance::DisarmAlarm => "disarm the NOSPACE alarm".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_tell_a_few_from_none_and_nearly_all_from_all() {
        for (of, expected) in [
            (0.0, "0.0 %"),
            (49.826_989, "49.8 %"),
            (0.123, "0.1 %"),
            (0.0016, "0.0016 %"),
            (99.9984, "99.9984 %"),
            (100.0, "100.0 %"),
        ] {
            assert_eq!(percent(of), expected);
        }
    }

    #[test]
    fn durations_and_sizes_read_as_people_say_them() {
        let ms = Duration::from_millis;
        for (d, expected) in [
            (Duration::from_nanos(0), "0 ns"),
            (Duration::from_micros(500), "500 µs"),
            (ms(870), "870 ms"),
            (ms(1_300), "1.3 s"),
            (ms(1_349), "1.3 s"),
            (ms(60_000), "60 s"),
            (ms(1_800_000), "30 min"),
            (ms(9_000_000), "2.5 h"),
            (ms(259_200_000), "3 d"),
        ] {
            assert_eq!(duration(d), expected);
        }
        for (s, expected) in [
            (0.0, "0 s"),
            (0.25, "250 ms"),
            (39.191, "39 s"),
            (120.35, "2 min"),
            (599.0, "0:09:59.000"),
            (599.999_9, "0:10:00.000"),
            (600.4, "10 min"),
            (602.0, "0:10:02.000"),
            (606.0, "10.1 min"),
            (7_199.0, "1:59:59.000"),
        ] {
            assert_eq!(moment(s), expected);
        }
        for (n, expected) in [(412, "412 B"), (1_434, "1.4 KiB"), (5_476_083_302, "5.1 GiB")] {
            assert_eq!(bytes(n), expected);
        }
        for (usd, expected) in [
            (0.0, "$0"),
            (0.000_008_5, "< $0.0001"),
            (0.004_23, "$0.0042"),
            (0.1, "$0.10"),
            (4.166, "$4.17"),
            (6_873.68, "$6,873.68"),
        ] {
            assert_eq!(dollars(usd), expected);
        }
        let parts = [0.004, 0.12, 0.23, 0.31, 0.37, 0.46, 0.6, 0.998, 1.0].map(fraction);
        let words =
            ["less than 1 %", "12 %", "about a quarter", "about a third", "about a third", "about half", "60 %", "99 %", "all"];
        assert_eq!(parts, words);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!([61.303, 7_325.0].map(clock), ["0:01:01.303", "2:02:05.000"]);
    }
}
