//! Who was hit, in words, where clients at one vantage were hit longer than those at another.

use crate::scenario::text;

/// What follows the words about those that count (`Writes were unavailable for 10 min`), who were hit as `counted` says; nothing where all
/// were hit alike. Rows are vantages, of so many of which enough is known, and how their clients were hit, in words: `for 10 min`; none: not at
/// all.
///
/// ```text
///  for clients outside eu-west-1a; inside it nobody noticed
///  for clients outside eu-west-1a; inside it for 10 min
///  for clients in eu-west-1b; in eu-west-1a and outside the region about a third failed for 40 s
/// ```
pub(super) fn who<'a>((rows, all): (impl Iterator<Item = (&'a str, String)>, usize), counted: &str) -> String {
    let (mut alike, mut others): (Vec<&str>, Vec<(String, Vec<&str>)>) = (Vec::new(), Vec::new());
    for (vantage, words) in rows {
        if words == counted {
            alike.push(vantage);
        } else if let Some((_, same)) = others.iter_mut().find(|(known, _)| *known == words) {
            same.push(vantage);
        } else {
            others.push((words, vec![vantage]));
        }
    }
    let hit = |words: &str| match words {
        "" => "nobody noticed".to_owned(),
        // Not what is said of those that count: they had it, or only a part of it.
        _ if !counted.starts_with("for ") && words.starts_with("for ") => format!("unavailable {words}"),
        _ => words.to_owned(),
    };
    match &others[..] {
        [] => String::new(),
        [(_, same)] if same.len() == all => String::new(),
        // Zones against all the rest.
        [(length, zones)] if alike.len() > 1 && alike.contains(&OUTSIDE) => {
            let them = if zones.len() == 1 { "it" } else { "them" };
            format!(" for clients outside {}; inside {them} {}", text::list(zones), hit(length))
        }
        _ => {
            let whom = if alike.is_empty() { String::new() } else { format!(" for clients {}", places(&alike)) };
            others.iter().fold(whom, |said, (length, vantages)| format!("{said}; {} {}", places(vantages), hit(length)))
        }
    }
}

/// How clients were hit that were without a service for so many seconds.
pub(super) fn hit_for(unavailable_s: f64) -> String {
    if unavailable_s > 0.0 { format!("for {}", text::seconds(unavailable_s)) } else { String::new() }
}

/// Name of the vantage that is no zone.
const OUTSIDE: &str = "outside";

/// `in a, b and outside the region`.
fn places(vantages: &[&str]) -> String {
    let outside = "outside the region";
    if let [OUTSIDE] = vantages {
        return outside.to_owned();
    }
    let names = vantages.iter().map(|&vantage| if vantage == OUTSIDE { outside } else { vantage });
    format!("in {}", text::list(&names.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_hit_is_said_where_it_differs() {
        let check = |rows: [f64; 3], counted_s, expected: &str| {
            let rows = ["a", "b", OUTSIDE].into_iter().zip(rows.map(hit_for));
            assert_eq!(who((rows, 3), &hit_for(counted_s)), expected);
        };
        check([0.0; 3], 0.0, "");
        check([1.6, 1.600_001, 1.6], 1.6, "");
        check([0.0, 600.0, 600.0], 600.0, " for clients outside a; inside it nobody noticed");
        check([600.0, 1.6, 1.6], 1.6, " for clients outside a; inside it for 10 min");
        check([0.0, 0.0, 600.0], 600.0, " for clients outside the region; in a and b nobody noticed");
        check([0.0, 600.0, 0.0], 600.0, " for clients in b; in a and outside the region nobody noticed");
        check([300.0, 0.0, 0.0], 0.0, " for clients outside a; inside it unavailable for 5 min");
        // What counts is the sum of what hits one and what hits the other.
        check([60.0, 120.0, 0.0], 180.0, "; in a for 60 s; in b for 2 min; outside the region nobody noticed");
        check([186.0; 3], 180.0, "");
        // Of the others too little is known.
        assert_eq!(who(([("a", "for 60 s".to_owned())].into_iter(), 3), "for 7.4 s"), "; in a for 60 s");
        let part = || "about a third failed for 40 s".to_owned();
        let rows = [("a", part()), ("b", "for 5 min".to_owned()), (OUTSIDE, part())];
        assert_eq!(
            who((rows.into_iter(), 3), "for 5 min"),
            " for clients in b; in a and outside the region about a third failed for 40 s"
        );
        let rows = [("a", part()), ("b", "for 5 min".to_owned()), (OUTSIDE, part())];
        assert_eq!(who((rows.into_iter(), 3), &part()), " for clients outside b; inside it unavailable for 5 min");
    }
}
