//! Protocol stories: each script in `stories/` shows one rule of raft on the real structs, without network, disk or time.
//!
//! ```text
//! stories/*.txt --commands--> Cluster { members: Raft, wire } --what each step did--> the same text, compared line by line
//! ```
//!
//! In a story `#` begins prose and `>` a command (`cluster.rs` lists them). All other lines are what the command above them printed:
//! `ZONEFALL_BLESS=1` writes them, a person checks them against the paper and `raft.go`.

mod cluster;
mod text;

use std::fs;
use std::path::PathBuf;

use cluster::Cluster;
use zonefall_etcd::raft::Config;

/// Adjusts the configuration of a story's members.
type Adjust = fn(&mut Config);

const BLESS: &str = "ZONEFALL_BLESS=1 cargo test -p zonefall-etcd --test raft";

/// Name, path and text of each file beside the stories.
fn stories() -> Vec<(String, PathBuf, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/raft/stories");
    let paths =
        fs::read_dir(folder).expect("the folder of stories is there").map(|entry| entry.expect("its files are listed").path());
    let mut stories: Vec<_> = paths
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a story is UTF-8");
            (name, path, text)
        })
        .collect();
    stories.sort();
    stories
}

/// The script with what its commands print now.
fn tell(script: &str, adjust: Adjust) -> Result<String, String> {
    let mut cluster = Cluster::empty(adjust);
    let mut told = String::new();
    for (number, line) in (1..).zip(script.lines()) {
        let command = line.strip_prefix('>');
        if command.is_some() || line.is_empty() || line.starts_with('#') {
            told.push_str(line);
            told.push('\n');
        }
        if let Some(command) = command {
            let printed = cluster.run(command).map_err(|error| format!("{number}: `{line}`: {error}"))?;
            for line in printed {
                told.push_str(&line);
                told.push('\n');
            }
        }
    }
    Ok(told)
}

/// The first line where `actual` differs from `expected`, with both.
fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let [expected, actual] = [expected, actual].map(|text| {
        let lines = text.split('\n').map(|line| format!("`{line}`"));
        lines.chain(std::iter::once("the end of the file".to_owned()))
    });
    let differs = (1..).zip(expected.zip(actual)).find(|(_, (expected, actual))| expected != actual);
    differs.map(|(number, (expected, actual))| format!("{number}: expected {expected}, found {actual}"))
}

#[test]
fn each_story_tells_what_raft_does() {
    let mut wrong = Vec::new();
    for (name, path, stored) in stories() {
        if path.extension().is_none_or(|extension| extension != "txt") || !stored.starts_with("# ") || !stored.contains("\n> ") {
            wrong.push(format!("{name}: expected a story: a `.txt` file that opens with prose (`# `) and has commands (`> `)"));
            continue;
        }
        println!("{name}");
        match tell(&stored, |_| {}) {
            Ok(told) if std::env::var_os("ZONEFALL_BLESS").is_some() => fs::write(path, told).expect("a story can be written"),
            Ok(told) => wrong.extend(first_difference(&stored, &told).map(|difference| format!("{name}:{difference}"))),
            Err(error) => wrong.push(format!("{name}:{error}")),
        }
    }
    assert!(wrong.is_empty(), "raft does not do what these stories tell; to accept what it does: {BLESS}\n{}", wrong.join("\n"));
}

/// The header of `raft/mod.rs` is the index of the stories.
#[test]
fn raft_names_each_story_and_no_other() {
    let header = include_str!("../../src/raft/mod.rs").lines().take_while(|line| line.starts_with("//!"));
    let words = header.flat_map(|line| line.split('`'));
    let mut named: Vec<&str> = words.filter(|word| word.strip_suffix(".txt").is_some()).collect();
    named.sort_unstable();
    named.dedup();
    let stories = stories();
    let stored: Vec<&str> = stories.iter().map(|(name, ..)| name.as_str()).collect();
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
        let (_, _, stored) = stories().into_iter().find(|(name, ..)| name == expected).expect("it is a story");
        let told = std::panic::catch_unwind(|| tell(&stored, adjust));
        assert!(told.ok() != Some(Ok(stored)), "{expected} is the same with the bug");
    };
    check(|config| config.bug = Some(PlantedBug::VoteTwice), "split_vote.txt");
    check(|config| config.bug = Some(PlantedBug::CommitOldTerm), "commit_rule.txt");
}
