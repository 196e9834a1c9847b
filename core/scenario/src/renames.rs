//! Old names: fields and words of scenario files, and fields of reports that files expect something of, that were renamed. A file that
//! uses them is read as if it used the new ones.
//!
//! ```text
//! text --modernize--> text with new names --> values ...       `zonefall check` mentions what was renamed, `check --fix` writes it
//! ```
//!
//! All tables are here, and only here. An old name is accepted for one version of the program after the one that renamed it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::error::Errors;
use super::expect;
use super::json::{Step, render};
use super::scan::{Seen, scan};

/// An old name and the new one, and where they stand: the keys from the top of the file, without the indices of lists.
type Row = (&'static str, &'static str, &'static str);

/// Fields, by the object that they are in.
const FIELDS: [Row; 11] = [
    ("clients", "cluster", "etcd"),
    ("clients.process", "hand_over", "rpc_overhead"),
    ("etcd.options", "hand_over", "rpc_overhead"),
    ("operations", "cluster", "etcd"),
    ("seeds.control_plane.options", "hand_over", "rpc_overhead"),
    ("seeds.timers", "care_period", "shoot_care_period"),
    ("seeds.timers", "collect_period", "pod_gc_period"),
    ("seeds.timers", "quarantine", "pod_gc_quarantine"),
    ("seeds.timers", "queues_a_look_later", "requeue_at_next_check"),
    ("shoots.etcd.options", "hand_over", "rpc_overhead"),
    ("shoots.use", "at_rest", "idle"),
];

/// Words, by the field that says them.
const WORDS: [Row; 2] = [("faults.kind", "zone_cut", "zone_partition"), ("faults.kind", "node_cut", "node_partition")];

/// The field of a scenario file that says a place in a report.
const EXPECTED: &str = "expect.that";

/// Fields of reports, by the object that they are in; `*` is the name of a cluster.
const REPORT: [Row; 28] = [
    ("", "hazards", "orphaned_containers"),
    ("api.*", "idle", "no_leader"),
    ("api.*.no_leader", "over", "completed"),
    ("api.*.outages", "over", "completed"),
    ("components", "back", "recovered"),
    ("components", "none_served_s", "unavailable_s"),
    ("etcd.*", "no_tolerance_s", "no_fault_tolerance_s"),
    ("etcd.*", "switchovers", "failovers"),
    ("etcd.*.catch_up", "took_s", "duration_s"),
    ("etcd.*.failovers", "over", "completed"),
    ("etcd.*.failovers", "took_s", "duration_s"),
    ("etcd.*.leaders", "over", "completed"),
    ("etcd.*.outages", "cause", "root_cause"),
    ("etcd.*.outages", "over", "completed"),
    ("etcd.*.tolerance", "left", "failure_tolerance"),
    ("faults", "over", "completed"),
    ("hints", "on", "active"),
    ("migrations", "asked_s", "requested_s"),
    ("migrations", "over", "completed"),
    ("migrations", "took_s", "duration_s"),
    ("migrations.waits", "over", "completed"),
    ("orphaned_containers", "over", "completed"),
    ("recovery", "over", "completed"),
    ("recovery", "took_s", "duration_s"),
    ("recovery.waits", "over", "completed"),
    ("story", "over", "completed"),
    ("expectations", "found", "actual"),
    ("expectations", "wanted", "expected"),
];

/// The new name of a report's field, where it has one: by the fields that lead to its object, named as they are now.
fn report_field(object: &[String], old: &str) -> Option<&'static str> {
    let row = REPORT.iter().find(|row| row.1 == old && is_at(row.0, object.iter().map(String::as_str)));
    row.map(|(_, _, new)| *new)
}

/// A scenario file with new names only; all else as it was, down to the spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modern<'a> {
    /// Its text.
    pub text: Cow<'a, str>,
    /// What was renamed, in the order of the file.
    pub renamed: Vec<Renamed>,
    /// Old names that stand beside the new ones: which of the two values is meant?
    pub clashes: Errors,
}

/// An old name that a file uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// JSON path of the field, such as `etcd[0].options.hand_over`.
    pub path: String,
    /// The old name as the file has it.
    pub old: String,
    /// The new name.
    pub new: String,
}

impl fmt::Display for Renamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} is now {:?}", self.path, self.old, self.new)
    }
}

/// Replaces the old names in a scenario file by the new ones. A text that is not JSON stays as it is.
pub fn modernize(text: &str) -> Modern<'_> {
    let mut names = Names { text, edits: Vec::new(), new: BTreeSet::new() };
    let whole = scan(text, &mut |path, seen| names.see(path, seen));
    let Names { edits, new, .. } = names;
    let mut modern = Modern { text: Cow::Borrowed(text), renamed: Vec::new(), clashes: Errors::default() };
    if !whole || edits.is_empty() {
        return modern;
    }
    let (mut fresh, mut copied) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        fresh.push_str(&text[copied..edit.place.start]);
        fresh.push_str(&serde_json::Value::from(edit.renamed.new.as_str()).to_string());
        copied = edit.place.end;
        if edit.becomes.is_some_and(|path| new.contains(&path)) {
            let Renamed { path, new, .. } = &edit.renamed;
            modern.clashes.push(path, format!("the old name of {new:?}, which is there, too"), format!("only {new:?}"));
        }
        modern.renamed.push(edit.renamed);
    }
    fresh.push_str(&text[copied..]);
    modern.text = Cow::Owned(fresh);
    modern
}

/// One replacement.
struct Edit {
    /// The bytes to replace, quotes included.
    place: Range<usize>,
    renamed: Renamed,
    /// The path of a renamed field.
    becomes: Option<String>,
}

struct Names<'a> {
    text: &'a str,
    edits: Vec<Edit>,
    /// Paths of the fields that have a new name as written.
    new: BTreeSet<String>,
}

impl Names<'_> {
    fn see(&mut self, path: &[Step], seen: Seen) {
        match (seen, path) {
            (Seen::Key(place), [object @ .., Step::Key(key)]) => self.key(place, object, key),
            (Seen::Value(place), _) if self.text[place.clone()].starts_with('"') => self.word(place, path),
            (Seen::Key(_) | Seen::Value(_) | Seen::Begin(_), _) => {}
        }
    }

    fn key(&mut self, place: Range<usize>, object: &[Step], key: &str) {
        let child = |name: &str| render(&[object, &[Step::Key(name.to_owned())]].concat());
        let mut rows = FIELDS.iter().filter(|(at, old, new)| (*old == key || *new == key) && is_at(at, keys(object)));
        match rows.next() {
            Some((_, old, new)) if *old == key => {
                let renamed = Renamed { path: child(old), old: key.to_owned(), new: (*new).to_owned() };
                self.edits.push(Edit { place, renamed, becomes: Some(child(new)) });
            }
            Some((_, _, new)) => {
                self.new.insert(child(new));
            }
            None => {}
        }
    }

    fn word(&mut self, place: Range<usize>, path: &[Step]) {
        let Ok(word) = serde_json::from_str::<String>(&self.text[place.clone()]) else { return };
        let row = WORDS.iter().find(|(at, old, _)| *old == word && is_at(at, keys(path)));
        let new = if is_at(EXPECTED, keys(path)) {
            expect::modernize(&word, report_field)
        } else {
            row.map(|(_, _, new)| (*new).to_owned())
        };
        if let Some(new) = new {
            self.edits.push(Edit { place, renamed: Renamed { path: render(path), old: word, new }, becomes: None });
        }
    }
}

/// The keys of a path, without its indices.
fn keys(path: &[Step]) -> impl Iterator<Item = &str> {
    path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    })
}

/// Whether these keys are those of a row.
fn is_at<'a>(at: &str, mut keys: impl Iterator<Item = &'a str>) -> bool {
    let mut steps = at.split('.').filter(|step| !step.is_empty());
    steps.all(|step| keys.next().is_some_and(|key| step == "*" || step == key)) && keys.next().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::schema::{field, leaves, shared};

    /// What the schema offers in an object, or as a word of a field, of a row.
    fn offered(at: &str, name: &str) -> bool {
        let mut places = vec![shared()];
        for step in at.split('.') {
            let inside = places.into_iter().flat_map(leaves).filter_map(|object| field(object, step));
            let items = |leaf: &'static Value| leaf.get("items").map_or(vec![leaf], leaves);
            places = inside.flat_map(leaves).flat_map(items).collect();
        }
        let is_word = |place: &Value| place.get("const").is_some_and(|word| word == name);
        places.into_iter().flat_map(leaves).any(|place| field(place, name).is_some() || is_word(place))
    }

    #[test]
    fn the_schema_offers_each_new_name_and_no_old_one() {
        for (at, old, new) in FIELDS.iter().chain(&WORDS) {
            assert!(offered(at, new), "{at}: {new}");
            assert!(!offered(at, old), "{at}: {old}");
        }
    }

    #[test]
    fn modernize_renames_only_what_stands_where_the_table_says() {
        let old = r#"{"etcd": [ {"name":"hand_over", "options" :{"hand_over": "1ms" }}], "title": "zone_cut",
            "clients": [{"cluster":"a"}, {"cluster": "b", "process": {"hand_over": "2ms"}}], "cluster": 7,
            "faults": [{"kind": "zone_cut", "zone": "node_cut"}, {"kind" : "node_cut"}]}"#;
        let new = r#"{"etcd": [ {"name":"hand_over", "options" :{"rpc_overhead": "1ms" }}], "title": "zone_cut",
            "clients": [{"etcd":"a"}, {"etcd": "b", "process": {"rpc_overhead": "2ms"}}], "cluster": 7,
            "faults": [{"kind": "zone_partition", "zone": "node_cut"}, {"kind" : "node_partition"}]}"#;
        let modern = modernize(old);
        assert_eq!((modern.text.as_ref(), modern.renamed.len(), modern.clashes.len()), (new, 6, 0));
        assert_eq!(modern.renamed[0].to_string(), r#"etcd[0].options.hand_over: "hand_over" is now "rpc_overhead""#);
        assert_eq!(modern.renamed[4].to_string(), r#"faults[0].kind: "zone_cut" is now "zone_partition""#);
        assert_eq!(modernize(new), Modern { text: Cow::Borrowed(new), renamed: Vec::new(), clashes: Errors::default() });
        let broken = &old[..old.len() - 1];
        assert_eq!(modernize(broken).text, broken);
    }

    #[test]
    fn places_in_reports_get_new_names() {
        for (old, new) in [
            ("count(recovery[over=false])", "count(recovery[completed=false])"),
            ("etcd.over.outages[over=true][-1].cause", "etcd.over.outages[completed=true][-1].root_cause"),
            ("etcd[*].switchovers[0].took_s", "etcd[*].failovers[0].duration_s"),
            ("etcd[no_tolerance_s=0].\"tolerance\"[1].left", "etcd[no_fault_tolerance_s=0].tolerance[1].failure_tolerance"),
            ("max(api.\"a.b\".idle[component=kube-scheduler].to_s)", "max(api.\"a.b\".no_leader[component=kube-scheduler].to_s)"),
            ("migrations[shoot=a].waits[until=closed].over", "migrations[shoot=a].waits[until=closed].completed"),
            ("count(hazards[over=false])", "count(orphaned_containers[completed=false])"),
        ] {
            let text = serde_json::json!({"expect": [{"that": old, "is": old}]}).to_string();
            let expected = serde_json::json!({"expect": [{"that": new, "is": old}]}).to_string();
            assert_eq!(modernize(&text).text, expected);
        }
        for same in ["etcd.idle.rpo.events[0].cause", "recovery[pod=over].ready_s", "over", "hints[", "components.over"] {
            let text = serde_json::json!({"title": "hazards", "expect": [{"that": same}]}).to_string();
            assert_eq!(modernize(&text).text, text);
        }
    }

    #[test]
    fn an_old_name_beside_the_new_one_is_an_error() {
        for text in [r#"{"clients": [{"etcd": "a", "cluster": "b"}]}"#, r#"{"clients": [{"cluster": "b", "etcd": "a"}]}"#] {
            let expected = r#"clients[0].cluster: expected only "etcd"; found the old name of "etcd", which is there, too"#;
            assert_eq!(modernize(text).clashes.to_string(), expected);
            let errors = crate::Scenario::from_json(text).expect_err("both names");
            assert_eq!(errors.iter().filter(|error| error.path.starts_with("clients[0].cluster")).count(), 1, "{errors}");
        }
        assert!(modernize(r#"{"clients": [{"etcd": "a"}, {"cluster": "b"}]}"#).clashes.is_empty());
    }
}
