//! Problems by kind: one mistake in a pool of nodes is a problem of each pod that has no room there, and is told once.

use crate::state::Problem;

/// Problems of one kind that are listed one by one.
const FEW: usize = 3;

/// The problems to list, each with the number of others like it that are not.
pub(super) fn of(problems: &[Problem]) -> Vec<(&Problem, usize)> {
    let mut kinds: Vec<(String, Vec<&Problem>)> = Vec::new();
    for problem in problems {
        let kind = kind(&problem.message);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, alike)) => alike.push(problem),
            None => kinds.push((kind, vec![problem])),
        }
    }
    let listed = |(_, alike): &(String, Vec<&'_ Problem>)| if alike.len() > FEW { 1 } else { alike.len() };
    let of_kind = kinds.iter().flat_map(|kind| {
        let omitted = kind.1.len() - listed(kind);
        kind.1.iter().take(listed(kind)).map(move |problem| (*problem, omitted))
    });
    of_kind.collect()
}

/// A message without its names and numbers.
fn kind(message: &str) -> String {
    let unquoted: String = message.split('"').step_by(2).collect();
    unquoted.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, message: &str) -> Problem {
        Problem { path: path.to_owned(), message: message.to_owned(), line_column: None }
    }

    #[test]
    fn what_one_mistake_brings_is_told_once() {
        let full = |n: usize| format!("expected a node with room; found \"node-{n}\", where pods would request {n}.5 of 2 CPUs");
        let mut all: Vec<Problem> = (0..270).map(|n| problem(&format!("seeds[0].pods[{n}]"), &full(n))).collect();
        all.insert(1, problem("name", "expected a text; found nothing"));
        all.extend((0..3).map(|n| problem(&format!("faults[{n}].at"), "expected a duration; found nothing")));
        let told: Vec<_> = of(&all).into_iter().map(|(problem, alike)| (problem.path.as_str(), alike)).collect();
        let expected = [("seeds[0].pods[0]", 269), ("name", 0), ("faults[0].at", 0), ("faults[1].at", 0), ("faults[2].at", 0)];
        assert_eq!(told, expected);
    }
}
