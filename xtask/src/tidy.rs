//! Rules about the repository that no compiler knows, each with its reason beside it.
//!
//! ```text
//! git ls-files --> File { path, text } --> every rule --> complaints, all at once
//! ```
//!
//! A rule is a pure function of one file, or of all of them; only [`tracked_files`] touches the disk. What a lint can say is said
//! in Cargo.toml and core/clippy.toml, not here.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::circles::circles;
use crate::layers;
use crate::root;
use crate::steps::Outcome;

/// A tracked file; `text` is empty where it is not UTF-8.
struct File {
    path: String,
    bytes: u64,
    text: String,
}

/// What a rule has to say: where, and what would be right.
type Complaints = Vec<String>;

/// Rules of one file.
const FILE_RULES: [fn(&File) -> Complaints; 13] = [
    length,
    opening,
    unfinished,
    determinism,
    citation,
    every_field,
    size,
    machine_paths,
    registries,
    manifests,
    one_word,
    vocabulary,
    phrases,
];

/// The step: every rule on every file.
pub(crate) fn run() -> Outcome {
    let files = tracked_files(root())?;
    let complaints = complaints(&files);
    if complaints.is_empty() {
        return Ok(Some(format!("{} files", files.len())));
    }
    bail!("{} places are not tidy\n  {}", complaints.len(), complaints.join("\n  "))
}

fn complaints(files: &[File]) -> Complaints {
    let each = files.iter().flat_map(|file| FILE_RULES.iter().flat_map(move |rule| rule(file)));
    let texts = texts(files);
    let architecture = [layers::upward(&texts), layers::documented(&texts), circles(&texts)].concat();
    each.chain(scenarios_are_listed(files)).chain(architecture).collect()
}

fn texts(files: &[File]) -> Vec<(&str, &str)> {
    files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect()
}

/// Writes what is generated from all files: the graph of layers.
pub(crate) fn bless() -> Result<()> {
    layers::bless(&texts(&tracked_files(root())?))
}

/// Words of the project's own dialect, and the field's terms that replaced them.
const DIALECT: [(&str, &str); 31] = [
    ("Plane", "KubeCluster"),
    ("Deed", "Intervention"),
    ("deed", "intervention"),
    ("Cx", "ClusterCtx"),
    ("Surroundings", "KubeCtx or ClientCtx"),
    ("Dialect", "Config"),
    ("Passage", "RestorePhase"),
    ("Standing", "MemberState"),
    ("Newcomer", "JoinStep"),
    ("Strength", "ConnectedVoters"),
    ("MemberOrder", "ContainerEvent"),
    ("Fleet", "MachineTables"),
    ("Hazard", "OrphanedContainer"),
    ("hazards", "orphaned_containers"),
    ("Acts", "ControllerActive"),
    ("Reign", "Leadership"),
    ("Teller", "RecordDescriber"),
    ("Happening", "Incident"),
    ("Money", "CostObserver"),
    ("Aim", "FaultTarget"),
    ("Seat", "ServerAttachment"),
    ("glance", "view"),
    ("helpless", "unschedulable_pods"),
    ("disturbed", "service_changed"),
    ("heed", "invalidate"),
    ("carry_out", "apply_effects"),
    ("thaw", "unfreeze"),
    ("parked", "deferred"),
    ("hand_over", "rpc_overhead or transfer_leadership"),
    ("zone_cut", "zone_partition"),
    ("node_cut", "node_partition"),
];

/// Files that know old names, to read what was written with them.
const OLD_NAMES: [&str; 4] = ["core/scenario/src/renames", "tests/fixtures/", "tests/tests/it/old_names", "xtask/src/tidy.rs"];

/// Identifiers and fields of scenario files use the field's terms.
fn vocabulary(file: &File) -> Complaints {
    let knows_old = OLD_NAMES.iter().any(|prefix| file.path.starts_with(prefix));
    let is_scenario = file.path.starts_with("scenarios/");
    file.find((file.is_rust() || is_scenario) && !knows_old, |line| {
        // What stands between quotes is text in Rust, a field in JSON.
        let code: String = line.split("//").next()?.split('"').step_by(if is_scenario { 1 } else { 2 }).collect();
        let is_field = |old: &str| old.starts_with(char::is_lowercase);
        let mut listed = DIALECT.iter().filter(|(old, _)| !is_scenario || is_field(old));
        let (old, new) = listed.find(|(old, _)| words(&code).any(|word| word == *old))?;
        Some(format!("{old}: the field says {new}"))
    })
}

/// Phrases that users once read, and what they read now.
const PHRASES: [(&str, &str); 33] = [
    ("is made", "is created"),
    ("is gone", "is deleted, has stopped or is lost"),
    ("gone for", "unavailable for"),
    ("goes to", "is bound to"),
    ("is to end", "is terminating"),
    ("is to have", "is scaled to"),
    ("finds no node", "is unschedulable"),
    ("is sent clients", "is ready"),
    ("hears", "receives data from, or observes"),
    ("can do nothing", "is inactive"),
    ("could do nothing", "was inactive"),
    ("none served", "unavailable for"),
    ("served by nobody", "unavailable for"),
    ("always there", "always available"),
    ("whole again", "fully redundant"),
    ("could lose no member", "without fault tolerance"),
    ("members it could lose", "members that etcd can lose"),
    ("ran on though", "orphaned containers"),
    ("runs on, cut off", "still runs on an unreachable node"),
    ("asks whether it would win", "starts a pre-vote"),
    ("asks for votes", "campaigns"),
    ("told to stop", "stopped gracefully"),
    ("turned away", "rejected"),
    ("got worse", "degraded"),
    ("stale read", "serializable read"),
    ("as written", "original"),
    ("Further tries", "Retries"),
    ("mend", "repair, or fix"),
    ("block incoming", "block inbound"),
    ("block outgoing", "block outbound"),
    ("from memory", "unverified"),
    ("anew", "again"),
    ("; wanted", "expected X; found Y"),
];

/// Texts of the program use the field's terms. What only a developer reads may use other words: tests and panics.
fn phrases(file: &File) -> Complaints {
    const PANICS: [&str; 5] = ["expect(", "assert", "panic!(", "unreachable!(", "reason = "];
    let read_by_users = ["core/", "cli/src/", "plots/src/", "web/src/"].iter().any(|prefix| file.path.starts_with(prefix));
    let is_test = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
    let tests = file.text.lines().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(usize::MAX);
    let is_own = |(at, line): &(usize, &str)| *at < tests && !PANICS.iter().any(|mark| line.contains(mark));
    let knows_old = OLD_NAMES.iter().any(|prefix| file.path.starts_with(prefix));
    if !file.is_rust() || !read_by_users || is_test || knows_old {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate().filter(is_own);
    let found = lines.filter_map(|(at, line)| {
        let texts: Vec<&str> = line.split("//").next()?.split('"').skip(1).step_by(2).collect();
        let holds = |phrase: &str| texts.iter().any(|text| has_phrase(text, phrase));
        let (old, new) = PHRASES.iter().find(|(old, _)| holds(old))?;
        Some(format!("{}:{}: \"{old}\": the field says {new}", file.path, at + 1))
    });
    found.collect()
}

/// Whether a text has a phrase as whole words, in either case.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (text.to_ascii_lowercase(), phrase.to_ascii_lowercase());
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut places = text.match_indices(&phrase);
    places.any(|(at, _)| is_end(text[..at].chars().next_back()) && is_end(text[at + phrase.len()..].chars().next()))
}

/// A comment of one word says nothing that the name beside it does not.
fn one_word(file: &File) -> Complaints {
    if !file.is_rust() {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let comment = |at: usize| lines.get(at).and_then(|line| line.strip_prefix("/// "));
    let is_word = |text: &str| text.trim_end_matches('.').chars().all(|c| c.is_alphabetic() || c == '-');
    let alone = |at: usize| comment(at + 1).is_none() && (at == 0 || comment(at - 1).is_none());
    let found = (0..lines.len()).filter(|at| comment(*at).is_some_and(is_word) && alone(*at));
    let complain = |at: usize| format!("{}:{}: a comment of one word: say what it is in a phrase", file.path, at + 1);
    found.map(complain).collect()
}

/// Packages depend one way only.
fn manifests(file: &File) -> Complaints {
    layers::manifest(&file.path, &file.text)
}

/// What git tracks or would track, but for what is deleted.
fn tracked_files(top: &Path) -> Result<Vec<File>> {
    let mut git = Command::new("git");
    let output = git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(top).output();
    let output = output.context("git is missing, and the tidy rules ask it which files are the project's")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let paths = String::from_utf8(output.stdout).context("a file's name is not UTF-8")?;
    let paths = paths.split_terminator('\0').filter(|path| top.join(path).is_file());
    paths
        .map(|path| {
            let content = std::fs::read(top.join(path)).with_context(|| path.to_owned())?;
            let bytes = content.len() as u64;
            Ok(File { path: path.to_owned(), bytes, text: String::from_utf8(content).unwrap_or_default() })
        })
        .collect()
}

/// A file that does not fit a head is two files.
fn length(file: &File) -> Complaints {
    const MOST: usize = 500;
    let lines = file.text.lines().count();
    if !file.is_rust() || lines <= MOST {
        return Vec::new();
    }
    vec![format!("{}: {lines} lines, at most {MOST}: split it", file.path)]
}

/// Every module opens with what it is and why.
fn opening(file: &File) -> Complaints {
    let opened = file.text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("//!"));
    if !file.is_rust() || opened {
        return Vec::new();
    }
    vec![format!("{}: opens without a `//!` that says what the module is", file.path)]
}

/// A mark of unfinished work says what is left and why it may stay: a bare one is forgotten.
fn unfinished(file: &File) -> Complaints {
    const MARKS: [&str; 4] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
    const LEAST_REASON: usize = 20;
    file.find(file.is_rust(), |line| {
        let comment = &line[line.find("//")?..];
        let mark = MARKS.into_iter().find(|mark| words(comment).any(|word| word == *mark))?;
        let (_, reason) = comment.split_once(mark)?;
        (reason.trim().len() < LEAST_REASON).then(|| format!("{mark} without its reason beside it"))
    })
}

/// The engine sees neither clock nor machine. core/clippy.toml bans types and methods; whole modules only this rule can. Unit tests
/// in files of their own may read the repository's files, and no more.
fn determinism(file: &File) -> Complaints {
    const TYPES: [&str; 4] = ["HashMap", "HashSet", "Instant", "SystemTime"];
    const MODULES: [&str; 7] = ["fs", "env", "thread", "net", "process", "os", "io"];
    const IN_TESTS: [&str; 2] = ["fs", "env"];
    let is_test = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
    let permitted = |module: &str| is_test && IN_TESTS.contains(&module);
    file.find(file.is_rust() && file.path.starts_with("core/"), |line| {
        let code = line.split("//").next()?;
        let import = code.trim_start().starts_with("use std::{");
        let banned_type = words(code).find(|word| TYPES.contains(word));
        let banned_module = MODULES.iter().filter(|module| !permitted(module)).find(|module| {
            code.split("std::").skip(1).any(|rest| words(rest).next() == Some(module) && rest.starts_with(**module))
                || import && words(code).any(|word| word == **module)
        });
        let banned = banned_type.map(ToOwned::to_owned).or_else(|| banned_module.map(|module| format!("std::{module}")))?;
        Some(format!("{banned} has no place in the engine: same seed, same trace, on every platform"))
    })
}

/// One invariant per file, and each says which property of which paper or document it encodes.
fn citation(file: &File) -> Complaints {
    let invariant = file.path.starts_with("core/src/invariant/") && file.text.contains("impl Property for ");
    let header = || file.text.lines().take_while(|line| line.starts_with("//!")).collect::<String>();
    if !invariant || ["§", "ection ", "igure "].iter().any(|mark| header().contains(mark)) {
        return Vec::new();
    }
    vec![format!("{}: its `//!` cites no section (`§5.4.1`, `section`, `Figure 3`) of a paper or document", file.path)]
}

/// The worker sends reports in a form without names of fields: where one is left out, the page cannot read the others.
fn every_field(file: &File) -> Complaints {
    let is_sent = file.path.starts_with("core/src/report/") || file.path.starts_with("web/src/engine/");
    file.find(is_sent, |line| {
        let left_out = line.split("//").next()?.contains("skip_serializing");
        left_out.then(|| {
            "a field that is left out makes the worker's message unreadable: leave it out in `Report::to_json`".to_owned()
        })
    })
}

/// A clone stays small.
fn size(file: &File) -> Complaints {
    const MOST: u64 = 1_000_000;
    if file.bytes <= MOST {
        return Vec::new();
    }
    vec![format!("{}: {} bytes, at most {MOST}", file.path, file.bytes)]
}

/// What is committed works on every machine, and tells nothing of one.
fn machine_paths(file: &File) -> Complaints {
    const TOPS: [&str; 7] = ["home", "root", "Users", "work", "farm", "mnt", "workspace"];
    file.find(true, |line| {
        let absolute = line.match_indices('/').filter(|(at, _)| {
            let before = line[..*at].chars().next_back();
            before.is_none_or(|c| !(c.is_alphanumeric() || "._-/*})]~>".contains(c)))
        });
        let mut paths = absolute.filter_map(|(at, _)| line[at + 1..].split_once('/'));
        let (top, _) = paths.find(|(top, _)| TOPS.contains(top))?;
        Some(format!("/{top}/... is a path of one machine"))
    })
}

/// Whoever clones can build: every package comes from crates.io.
fn registries(file: &File) -> Complaints {
    const CRATES_IO: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    file.find(file.path.ends_with("Cargo.lock"), |line| {
        (line.starts_with("source = ") && line != CRATES_IO).then(|| format!("{line}: not crates.io"))
    })
}

/// A story nobody can find is not told: README names each, and the programs carry each.
fn scenarios_are_listed(files: &[File]) -> Complaints {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let names = files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("scenarios/")?.strip_suffix(".json")?;
        (name != "schema").then_some(name)
    });
    names
        .flat_map(|name| {
            let places = [("README.md", format!("{name}.json")), (BUNDLED, format!("\"{name}\""))];
            places.into_iter().filter_map(move |(place, mention)| {
                (!text(place).contains(&mention)).then(|| format!("{place}: does not name scenarios/{name}.json"))
            })
        })
        .collect()
}

/// Where the scenarios that every program carries are listed.
const BUNDLED: &str = "core/scenario/src/bundled.rs";

impl File {
    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// The complaints of `rule` about single lines, each with its place, if the file `applies`.
    fn find(&self, applies: bool, rule: impl Fn(&str) -> Option<String>) -> Complaints {
        let lines = self.text.lines().enumerate().filter(|_| applies);
        lines.filter_map(|(at, line)| Some(format!("{}:{}: {}", self.path, at + 1, rule(line)?))).collect()
    }
}

/// The identifiers and words of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), bytes: text.len() as u64, text: text.to_owned() }
    }

    #[test]
    fn the_repository_is_tidy() {
        let found = complaints(&tracked_files(root()).expect("git lists the files"));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn each_rule_finds_what_it_bans_and_nothing_else() {
        let check = |rule: fn(&File) -> Complaints, path: &str, text: &str, expected: usize| {
            let found = rule(&file(path, text));
            assert_eq!(found.len(), expected, "{path}: {text}: {found:?}");
        };
        check(length, "a.rs", &"\n".repeat(500), 0);
        check(length, "a.rs", &"\n".repeat(501), 1);
        check(length, "a.json", &"\n".repeat(501), 0);
        check(opening, "a.rs", "\n//! What.\n", 0);
        check(opening, "a.rs", "use x;\n", 1);
        check(unfinished, "a.rs", concat!("x(); // TO", "DO"), 1);
        check(unfinished, "a.rs", concat!("// TO", "DO: when the autoscaler knows node groups, ask it"), 0);
        check(unfinished, "a.rs", concat!("let HA", "CK = 1; // fine"), 0);
        check(determinism, "core/src/a.rs", "use std::collections::{BTreeMap, HashMap};", 1);
        check(determinism, "core/src/a.rs", "use std::{fmt, fs};", 1);
        check(determinism, "core/src/a.rs", "let x = std::env::var(\"X\");", 1);
        check(determinism, "core/src/a.rs", "use std::fmt; // not std::fs, and no HashMap", 0);
        check(determinism, "core/src/a.rs", "std::iter::once(fs)", 0);
        check(determinism, "core/src/a/tests.rs", "std::fs::read(x)", 0);
        check(determinism, "core/src/a/tests.rs", "std::thread::spawn(x)", 1);
        check(determinism, "cli/src/a.rs", "use std::fs;", 0);
        check(citation, "core/src/invariant/a.rs", "//! Raft, §5.4.\nimpl Property for A {}", 0);
        check(citation, "core/src/invariant/a.rs", "//! Raft.\n\n/// §5\nimpl Property for A {}", 1);
        check(citation, "core/src/invariant/logs.rs", "//! What the properties share.\n", 0);
        check(every_field, "core/src/report/a.rs", "#[serde(skip_serializing_if = \"x\")]", 1);
        check(every_field, "core/scenario/src/a.rs", "#[serde(skip_serializing_if = \"x\")]", 0);
        check(machine_paths, "a.md", concat!("see /ho", "me/me/x"), 1);
        check(machine_paths, "a.md", concat!("see `/ro", "ot/x`"), 1);
        check(machine_paths, "a.md", concat!("see https://a.example/ho", "me/x, wo", "rk/wo", "rk/x, ./ro", "ot/"), 0);
        check(one_word, "a.rs", concat!("//", "/ Which.\nx: u8,\n//", "/ Which member.\ny: u8,\n"), 1);
        check(one_word, "a.rs", concat!("//", "/ A member that\n//", "/ leads.\nx: u8,\n"), 0);
        check(vocabulary, "a.rs", concat!("struct Pla", "ne;"), 1);
        check(vocabulary, "a.rs", concat!("struct Pla", "net; // a Pla", "ne"), 0);
        check(vocabulary, "scenarios/a.json", concat!("\"zone_", "cut\""), 1);
        check(phrases, "core/src/a.rs", "let x = \"{name} goes to {}\";", 1);
        check(phrases, "core/src/a.rs", "let x = \"commented\"; // mend\n.expect(\"goes to\")\n#[cfg(test)]\n\"goes to\"", 0);
        check(phrases, "core/src/tests/a.rs", "let x = \"goes to\";", 0);
        check(registries, "Cargo.lock", "source = \"git+https://a.example\"", 1);
    }

    #[test]
    fn a_scenario_must_be_named_in_both_places() {
        let scenario = || file("scenarios/a.json", "{}");
        let listed = [scenario(), file("README.md", "`a.json`"), file(BUNDLED, "\"a\"")];
        assert!(scenarios_are_listed(&listed).is_empty());
        assert_eq!(scenarios_are_listed(&[scenario(), file("README.md", ""), file("scenarios/schema.json", "")]).len(), 2);
    }
}
