//! Stories of controllers: each script in `stories/` shows a rule of one controller in a small cluster.
//!
//! ```text
//! stories/*.txt --commands--> World { scenario, Run } --records and objects in words--> the same text, compared line by line
//! ```
//!
//! `world.rs` lists the commands. A line `# Controller: X` names the controller. A person checks what is printed against the source of
//! Kubernetes, machine-controller-manager, the autoscaler, Gardener or etcd-druid that the story names.

#[path = "../../etcd/tests/raft/script.rs"]
mod script;
mod world;

use std::collections::BTreeSet;

use script::{first_difference, stories};
use world::World;
use zonefall_core::sim::Stepping;

const BLESS: &str = "ZONEFALL_BLESS=1 cargo test -p zonefall-core --test controllers";
const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controllers/stories");

/// The files with the table of controllers.
const TABLES: [&str; 4] = [
    include_str!("../../kube/src/controller/mod.rs"),
    include_str!("../../gardener/src/lib.rs"),
    include_str!("../../rollout/src/lib.rs"),
    include_str!("../../src/sim/controllers.rs"),
];

/// The script with what the simulation does now.
fn tell(script: &str) -> Result<String, String> {
    tell_as(script, Stepping::FastForward)
}

fn tell_as(script: &str, stepping: Stepping) -> Result<String, String> {
    let mut world = World::new(stepping);
    script::tell(script, |command| world.run(command))
}

#[test]
fn each_story_tells_what_the_controller_does() {
    script::check(STORIES, BLESS, tell);
}

/// Fast-forward skips no line.
#[test]
fn each_story_is_the_same_event_by_event() {
    for story in stories(STORIES) {
        let [fast, every] = [Stepping::FastForward, Stepping::EveryEvent].map(|stepping| tell_as(&story.text, stepping));
        assert_eq!(fast, every, "{}", story.name);
    }
}

/// The types in the table of controllers, by their factories.
fn controllers() -> BTreeSet<&'static str> {
    let factories = TABLES.iter().flat_map(|text| text.lines()).filter(|line| !line.trim_start().starts_with("//"));
    let before = factories.flat_map(|line| line.split_inclusive("::factory")).filter_map(|part| part.strip_suffix("::factory"));
    before.filter_map(|path| path.rsplit(|c: char| !c.is_alphanumeric()).next()).collect()
}

#[test]
fn each_controller_of_the_table_has_a_story() {
    let named: Vec<(String, Option<String>)> = stories(STORIES)
        .into_iter()
        .map(|story| {
            let line = story.text.lines().find_map(|line| line.strip_prefix("# Controller: "));
            (story.name, line.and_then(|line| line.split([' ', ',', '.']).next()).map(str::to_owned))
        })
        .collect();
    let controllers = controllers();
    for (story, controller) in &named {
        let found = controller.as_deref().unwrap_or("nothing");
        assert!(
            controllers.contains(found),
            "{story}: expected a line `# Controller: X` with one of {controllers:?}, found {found}"
        );
    }
    let told: BTreeSet<&str> = named.iter().filter_map(|(_, controller)| controller.as_deref()).collect();
    let missing: Vec<_> = controllers.difference(&told).collect();
    assert!(missing.is_empty(), "expected a story in {STORIES} about each controller, found none about {missing:?}");
}

/// The files of [`TABLES`] name all controllers that a cluster has.
#[test]
fn the_table_of_controllers_is_read_completely() {
    let mut running = Vec::new();
    for site in [
        "seed s a1 b1 c1 {\"controllers\": {\"descheduler\": {}}}",
        "cluster c a1 {\"services\": [{\"name\": \"web\", \"pods\": \"app\"}], \"workloads\": [{\"name\": \"db\", \"kind\": \"stateful_set\"}], \
         \"zone_aware_updates\": [{\"workload\": \"db\", \"max_unavailable\": 1, \"dry_run\": true}], \
         \"alarms\": [{\"name\": \"a\"}], \"automatic_rollbacks\": [{\"workload\": \"db\", \"alarm\": \"a\"}], \
         \"zone_disruption_budgets\": [{\"name\": \"db\", \"pods\": \"app=db\", \"max_unavailable\": 1}]}",
    ] {
        let mut world = World::new(Stepping::FastForward);
        world.run(site).expect("it can run");
        world.run("until 1s").expect("it runs");
        running.extend(world.controllers());
    }
    running.sort();
    running.dedup();
    let known = controllers();
    assert!(running.len() == known.len() && running.iter().all(|name| known.contains(name.as_str())), "{running:?}, {known:?}");
}

#[test]
fn a_script_that_cannot_be_run_fails_with_its_line() {
    let check = |script: &str, expected: &str| {
        let error = tell(script).expect_err(script);
        assert!(error.contains(expected), "{script}: {error}");
    };
    check("# Prose.\n> cluster c a1\n> sing\n", "3: `> sing`: no such command");
    check("> until 5m\n", "1: `> until 5m`: $");
    check("> cluster c a1\n> until soon\n", "expected a time such as 10m, found soon");
    check("> cluster c a1\n> until 5m cows\n", "expected a kind of records");
    check("> cluster c a1\n> workload {\"nam\": 1}\n> until 1m\n", "nam");
    check("> cluster c a1\n> until 2m\n> workload {\"name\": \"web\"}\n", "after the run began");
    check("> cluster c a1\n> until 2m\n> until 1m\n", "expected a time after 2:00.000, found 1m");
    assert!(first_difference("> a\n", "> b\n").is_some());
}
