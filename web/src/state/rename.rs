//! Another name for a thing of the scenario: what refers to it follows.
//!
//! Which fields refer to what is the file format's business (`zonefall_core::scenario::raw`): a reference is told by its key.

use serde_json::Value;
use zonefall_core::scenario::Step;

/// Keys whose text (or whose list's texts) names such a thing.
const ZONE: &[&str] = &["zone", "zones", "between", "from"];
const NODE: &[&str] = &["node", "nodes"];
const MEMBER: &[&str] = &["member", "leader", "volume", "volumes", "target", "remove_member", "promote_member", "defragment"];
const CLUSTER: &[&str] = &["etcd", "leader_of"];
const SEED: &[&str] = &["seed"];
const POOL: &[&str] = &["pool"];
const SHOOT: &[&str] = &["shoot"];
/// Clusters that seeds and shoots have of themselves: `<seed>/etcd`, `<namespace of the shoot>/etcd-main`.
const HOSTED: [&str; 3] = ["etcd", "etcd-main", "etcd-events"];

/// Sets the name at `path` and every reference to the old one.
pub(super) fn rename(document: &mut Value, path: &[Step], new: &str) {
    let keys = path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let keys: Vec<&str> = keys.collect();
    let Some(target) = at(document, path) else { return };
    let old = std::mem::replace(target, new.into());
    let Some(old) = old.as_str().filter(|old| !old.is_empty()) else { return };
    let referring = match keys.as_slice() {
        ["topology", "regions", "zones"] => ZONE,
        ["topology", "nodes", "name"] => NODE,
        ["etcd", "members", "name"] => MEMBER,
        ["etcd", "name"] => CLUSTER,
        ["seeds", "name"] => SEED,
        ["seeds", "pools", "name"] => return refer_to_pool(document, &path[..2], old, new),
        ["seeds", "nodes", "name"] => NODE,
        ["shoots", "name"] => SHOOT,
        _ => return,
    };
    // Of several that are alike each has a number.
    let count = path.split_last().and_then(|(_, entry)| at(document, entry)).and_then(|entry| entry.get("count")?.as_u64());
    match count.filter(|count| referring == SHOOT && *count > 1) {
        Some(count) => (1..=count).for_each(|k| refer(document, referring, &format!("{old}-{k}"), &format!("{new}-{k}"))),
        None => refer(document, referring, old, new),
    }
}

/// What is at a path.
fn at<'a>(document: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(*index),
    })
}

/// Everything that refers to a thing follows.
fn refer(document: &mut Value, referring: &[&str], old: &str, new: &str) {
    follow(document, referring, None, old, new);
    let namespace = |name: &str| if referring == SHOOT { format!("shoot--garden--{name}") } else { name.to_owned() };
    let (was, is) = (namespace(old), namespace(new));
    for cluster in HOSTED {
        follow(document, CLUSTER, None, &format!("{was}/{cluster}"), &format!("{is}/{cluster}"));
    }
    expectations(document, &was, &is);
    expectations(document, old, new);
}

/// Everything that refers to a pool of the seed at a path follows: another seed may have one of the same name.
fn refer_to_pool(document: &mut Value, seed: &[Step], old: &str, new: &str) {
    let Some(own) = at(document, seed) else { return };
    follow(own, POOL, None, old, new);
    let name = own.get("name").cloned();
    let names = |item: &Value| {
        item.as_object().and_then(|fields| fields.values().chain([item]).find_map(|part| part.get("seed")).cloned())
    };
    let lists = document.as_object_mut().into_iter().flatten().filter(|(key, _)| *key != "seeds");
    for item in lists
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
        .filter(|item| names(item).is_none_or(|seed| Some(seed) == name))
    {
        follow(item, POOL, None, old, new);
    }
    expectations(document, old, new);
}

fn follow(value: &mut Value, referring: &[&str], key: Option<&str>, old: &str, new: &str) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| follow(value, referring, Some(key), old, new)),
        Value::Array(items) => items.iter_mut().for_each(|item| follow(item, referring, key, old, new)),
        Value::String(text) if text == old && key.is_some_and(|key| referring.contains(&key)) => new.clone_into(text),
        _ => {}
    }
}

/// Places in the report name things between dots, brackets and equals signs.
fn expectations(document: &mut Value, old: &str, new: &str) {
    let places = document.get_mut("expect").and_then(Value::as_array_mut).into_iter().flatten();
    for place in places.filter_map(|expectation| expectation.get_mut("that")) {
        if let Some(text) = place.as_str() {
            *place = replace_word(text, old, new).into();
        }
    }
}

fn replace_word(text: &str, old: &str, new: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let opens = result.len() + at > 0
            && before.chars().next_back().or(result.chars().next_back()).is_some_and(|c| ".=\"".contains(c));
        let closes = after.chars().next().is_none_or(|c| ".[])/\"".contains(c));
        result.push_str(before);
        result.push_str(if opens && closes { new } else { old });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::{Scenario, bundled};

    #[test]
    fn every_thing_of_every_bundled_scenario_can_be_renamed_and_the_scenario_stays_valid() {
        let key = |key: &str| Step::Key(key.to_owned());
        for scenario in bundled() {
            let document: Value = serde_json::from_str(scenario.json).unwrap();
            let mut paths = Vec::new();
            for (r, region) in document["topology"]["regions"].as_array().unwrap().iter().enumerate() {
                let zones = 0..region["zones"].as_array().unwrap().len();
                let zone = |z| vec![key("topology"), key("regions"), Step::Index(r), key("zones"), Step::Index(z)];
                paths.extend(zones.map(zone));
            }
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let nodes = 0..list(&document["topology"]["nodes"]).len();
            paths.extend(nodes.map(|n| vec![key("topology"), key("nodes"), Step::Index(n), key("name")]));
            for (c, cluster) in list(&document["etcd"]).iter().enumerate() {
                paths.push(vec![key("etcd"), Step::Index(c), key("name")]);
                let members = 0..cluster["members"].as_array().unwrap().len();
                paths.extend(members.map(|m| vec![key("etcd"), Step::Index(c), key("members"), Step::Index(m), key("name")]));
            }
            for (s, seed) in list(&document["seeds"]).iter().enumerate() {
                paths.push(vec![key("seeds"), Step::Index(s), key("name")]);
                for things in ["pools", "nodes"] {
                    let count = 0..list(&seed[things]).len();
                    paths.extend(count.map(|k| vec![key("seeds"), Step::Index(s), key(things), Step::Index(k), key("name")]));
                }
            }
            let shoots = 0..list(&document["shoots"]).len();
            paths.extend(shoots.map(|s| vec![key("shoots"), Step::Index(s), key("name")]));
            for path in paths {
                let mut changed = document.clone();
                rename(&mut changed, &path, "another-name");
                assert_ne!(changed, document);
                let read = Scenario::from_json(&changed.to_string());
                // Names of machines, and what is expected of them, are made of others: they are for the user to mend.
                let told =
                    |error: &zonefall_core::scenario::Error| error.path.ends_with("machine") || error.path.starts_with("expect");
                let left = read.err().map_or(Vec::new(), |errors| errors.iter().filter(|error| !told(error)).cloned().collect());
                assert!(left.is_empty(), "{}: {path:?}: {left:?}", scenario.name);
                let derived = path[0] == key("seeds");
                assert!(derived || Scenario::from_json(&changed.to_string()).is_ok(), "{}: {path:?}", scenario.name);
            }
        }
    }

    #[test]
    fn only_whole_names_are_replaced() {
        for (text, expected) in [
            ("etcd.a.members[name=a].up", "etcd.b.members[name=b].up"),
            ("count(etcd.a.outages)", "count(etcd.b.outages)"),
            ("etcd.a-0.x", "etcd.a-0.x"),
            ("a.a-a.a", "a.a-a.b"),
            ("sum(links[from_zone=a])", "sum(links[from_zone=b])"),
        ] {
            assert_eq!(replace_word(text, "a", "b"), expected);
        }
    }
}
