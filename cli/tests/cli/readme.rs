//! What README.md quotes is what the program prints.
//!
//! In a `console` block each line that begins with `$ ` is run by a shell; the lines below it are its output, and a line `...` stands
//! for lines left out. `ZONEFALL_BLESS=1` puts what is printed now in place of what was: between two `...` as many lines as before,
//! from where the output looks most like them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

#[test]
fn the_readme_quotes_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md is there");
    let dir = workplace(&readme);
    let now = refreshed(&readme, &|command| run(command, &dir));
    if std::env::var_os("ZONEFALL_BLESS").is_some() {
        std::fs::write(&path, now).expect("README.md can be written");
        return;
    }
    let stale: Vec<_> = readme.lines().zip(now.lines()).filter(|(was, is)| was != is).take(5).collect();
    assert!(readme == now, "README.md is stale: ZONEFALL_BLESS=1 cargo test -p zonefall\n{stale:#?}");
}

/// A directory with the files that README.md speaks of.
fn workplace(readme: &str) -> PathBuf {
    let dir = super::temporary("readme");
    let shown = |place: usize| {
        let block = readme.split("```json\n").nth(place).and_then(|rest| rest.split("```").next());
        block.expect("README.md shows a scenario")
    };
    let mine = shown(1);
    std::fs::write(dir.join("shop.json"), shown(2)).expect("the file can be written");
    let file = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut scenario: Value = serde_json::from_str(mine).expect("README.md's scenario is JSON");
        change(&mut scenario);
        std::fs::write(dir.join(name), scenario.to_string()).expect("the file can be written");
    };
    file("mine.json", &|_| ());
    file("strict.json", &|s| s["expect"][0]["at_most"] = json!(1));
    file("idle.json", &|s| {
        for part in ["clients", "faults", "expect"] {
            s[part] = json!([]);
        }
    });
    file("wrong.json", &|s| {
        s["etcd"][0]["options"]["election_timeout"] = json!("1000");
        s["topology"]["nodes"][2]["zone"] = json!("az-4");
        let client = s["clients"][0].as_object_mut().expect("the client is an object");
        let rate = client.shift_remove("rate").expect("the client has a rate");
        client.insert("rat".to_owned(), rate);
    });
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    std::fs::create_dir(dir.join("scenarios")).expect("the directory can be made");
    for entry in std::fs::read_dir(scenarios).expect("there are scenarios").flatten() {
        std::fs::copy(entry.path(), dir.join("scenarios").join(entry.file_name())).expect("the file can be copied");
    }
    dir
}

/// What a command prints, on both outputs; `None`: it needs jq, and there is none.
fn run(command: &str, dir: &Path) -> Option<String> {
    let jq = || Command::new("jq").arg("--version").output().is_ok();
    if command.contains("| jq ") && !jq() {
        eprintln!("no jq here: `{command}` is not checked");
        return None;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_zonefall")).parent().expect("the program is in a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program.to_owned()).chain(std::env::split_paths(&path)));
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .env("PATH", path.expect("no directory has a colon in its name"))
        .current_dir(dir)
        .output()
        .expect("there is a shell");
    Some(String::from_utf8(output.stdout).expect("output is UTF-8"))
}

/// The text with every quoted output as `run` gives it now.
fn refreshed(text: &str, run: &dyn Fn(&str) -> Option<String>) -> String {
    let mut lines = text.lines().peekable();
    let mut fresh: Vec<String> = Vec::new();
    let mut inside = false;
    while let Some(line) = lines.next() {
        fresh.push(line.to_owned());
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            let mut quoted = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && *line != "```") {
                quoted.push(line);
            }
            match run(command) {
                Some(output) => fresh.extend(requoted(&quoted, &output.lines().collect::<Vec<_>>(), command)),
                None => fresh.extend(quoted.into_iter().map(str::to_owned)),
            }
        }
    }
    fresh.join("\n") + "\n"
}

fn is_cut(line: &str) -> bool {
    line.trim() == "..."
}

/// The parts of `output` that stand where those of `quoted` do.
fn requoted(quoted: &[&str], output: &[&str], command: &str) -> Vec<String> {
    let parts: Vec<&[&str]> = quoted.split(|line| is_cut(line)).collect();
    let mut cuts = quoted.iter().filter(|line| is_cut(line));
    let (mut fresh, mut at) = (Vec::new(), 0);
    for (k, part) in parts.iter().enumerate() {
        let last = k + 1 == parts.len();
        let (start, end) = match (k == 0, last) {
            (true, true) => (0, output.len()),
            (true, false) => (0, part.len().min(output.len())),
            (false, true) if part.is_empty() => (at, at),
            (false, true) => (output.len().saturating_sub(part.len()).max(at), output.len()),
            (false, false) => {
                let start =
                    most_alike(part, &output[at..]).unwrap_or_else(|| panic!("`{command}` prints nothing like {part:?}")) + at;
                (start, (start + part.len()).min(output.len()))
            }
        };
        fresh.extend(output[start..end].iter().map(|line| (*line).to_owned()));
        at = end;
        fresh.extend(cuts.next().map(|line| (*line).to_owned()));
    }
    fresh
}

/// Where `output` has most lines of `part`, figures aside, the first counting most; the first such place.
fn most_alike(part: &[&str], output: &[&str]) -> Option<usize> {
    let score = |start: usize| {
        let pairs = part.iter().zip(&output[start..]).enumerate().filter(|(_, (line, _))| !line.trim().is_empty());
        let alike = |a: &str, b: &str| if a == b { 3 } else { 2 * usize::from(shape(a) == shape(b)) };
        pairs.map(|(k, (a, b))| alike(a, b) * if k == 0 { 10 } else { 1 }).sum::<usize>()
    };
    let best = (0..output.len()).max_by_key(|&start| (score(start), std::cmp::Reverse(start)))?;
    (score(best) > 0).then_some(best)
}

/// A line without its figures.
fn shape(line: &str) -> String {
    line.split_whitespace().map(|word| if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word }).collect()
}

#[test]
fn quotations_keep_their_cuts() {
    let check = |quoted: &str, output: &str, expected: &str| {
        let readme = |block: &str| format!("text\n```console\n$ command\n{block}```\n");
        let fresh = refreshed(&readme(quoted), &|_| Some(output.to_owned()));
        assert_eq!(fresh, readme(expected), "{quoted}");
    };
    check("old\n", "new\nmore\n", "new\nmore\n");
    check("a 1\n...\n", "a 2\nb\n", "a 2\n...\n");
    check("...\nb 1\n  ...\nc 1\n", "a\nb 2\nx\ny\nc 2\n", "...\nb 2\n  ...\nc 2\n");
    check("...\nhead\nrow 1\n...\n", "x\nhead\nrow 2\nrow 3\n", "...\nhead\nrow 2\n...\n");
    assert_eq!(refreshed("$ command\nold\n", &|_| Some("new".to_owned())), "$ command\nold\n", "only in console blocks");
}
