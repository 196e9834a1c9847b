//! Protocol stories: each script in `stories/` shows one rule of raft on the real structs, without network, disk or time.
//!
//! ```text
//! stories/*.txt --commands--> Cluster { members: Raft, wire } --what each step did--> the same text, compared line by line
//! ```
//!
//! `script.rs` has the form of a story, `cluster.rs` the commands. A person checks what is printed against the paper and `raft.go`.

mod cluster;
mod script;
mod text;

use cluster::Cluster;
use script::{first_difference, stories};
use zonefall_etcd::raft::Config;

/// Adjusts the configuration of a story's members.
type Adjust = fn(&mut Config);

const BLESS: &str = "ZONEFALL_BLESS=1 cargo test -p zonefall-etcd --test raft";

const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/raft/stories");

/// The script with what raft does now.
fn tell(script: &str, adjust: Adjust) -> Result<String, String> {
    let mut cluster = Cluster::empty(adjust);
    script::tell(script, |command| cluster.run(command))
}

#[test]
fn each_story_tells_what_raft_does() {
    script::check(STORIES, BLESS, |script| tell(script, |_| {}));
}

/// The header of `raft/mod.rs` is the index of the stories.
#[test]
fn raft_names_each_story_and_no_other() {
    let header = include_str!("../../src/raft/mod.rs").lines().take_while(|line| line.starts_with("//!"));
    let words = header.flat_map(|line| line.split('`'));
    let mut named: Vec<&str> = words.filter(|word| word.strip_suffix(".txt").is_some()).collect();
    named.sort_unstable();
    named.dedup();
    let stories = stories(STORIES);
    let stored: Vec<&str> = stories.iter().map(|story| story.name.as_str()).collect();
    assert_eq!(named, stored, "left: named in core/etcd/src/raft/mod.rs, right: in core/etcd/tests/raft/stories");
}

#[test]
fn a_script_that_cannot_be_run_fails_with_its_line() {
    let check = |script: &str, expected: &str| {
        let error = tell(script, |_| {}).expect_err(script);
        assert!(error.contains(expected), "{script}: {error}");
    };
    check("# Prose.\n> cluster 3\n> sing n1\n", "3: `> sing n1`: no such command");
    check("> cluster 3\n> campaign n1 n2\n", "2: `> campaign n1 n2`: no such command");
    check("> cluster 3\n> campaign n4\n", "expected a member (n1 to n3), found n4");
    check("> cluster 3 sparse=1\n", "expected an option, found sparse=1");
    check("> cluster 3\n> tick n1 soon\n", "expected a number, found soon");
    check("> cluster 3\n> drop n1->n2\n", "no message is under way on n1->n2");
}

#[test]
fn the_first_differing_line_is_shown() {
    let script = "> cluster 3\n> campaign n1\n";
    let told = tell(script, |_| {}).expect("it can be run");
    assert_eq!(first_difference(&told, &told), None);
    let differs = first_difference(script, &told).expect("the script is without what it prints");
    assert_eq!(differs, "3: expected ``, found `  n1 campaigns for term 1`");
    let short = first_difference(&told, "> cluster 3").expect("it ends early");
    assert_eq!(short, "2: expected `> campaign n1`, found the end of the file");
}

/// A raft with a deliberate bug cannot tell the stories: it prints something else, leaves a command without messages, or panics.
#[cfg(feature = "planted-bugs")]
#[test]
fn a_planted_bug_spoils_a_story() {
    use zonefall_etcd::raft::PlantedBug;
    let check = |adjust: Adjust, expected: &str| {
        let story = stories(STORIES).into_iter().find(|story| story.name == expected).expect("it is a story");
        let told = std::panic::catch_unwind(|| tell(&story.text, adjust));
        assert!(told.ok() != Some(Ok(story.text)), "{expected} is the same with the bug");
    };
    check(|config| config.bug = Some(PlantedBug::VoteTwice), "split_vote.txt");
    check(|config| config.bug = Some(PlantedBug::CommitOldTerm), "commit_rule.txt");
}
