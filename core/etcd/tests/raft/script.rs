//! Stories: scripts whose output stands in them. Those of controllers (`core/tests/controllers`) use this file, too.
//!
//! In a story `#` begins prose and `>` a command. All other lines are what the command above them printed: `ZONEFALL_BLESS=1` writes
//! them, and a person checks them.

use std::fs;
use std::path::PathBuf;

/// A file beside the stories.
pub(crate) struct Story {
    pub(crate) name: String,
    path: PathBuf,
    pub(crate) text: String,
}

/// The files of a folder, by name.
pub(crate) fn stories(folder: &str) -> Vec<Story> {
    let paths =
        fs::read_dir(folder).expect("the folder of stories is there").map(|entry| entry.expect("its files are listed").path());
    let mut stories: Vec<Story> = paths
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a story is UTF-8");
            Story { name, path, text }
        })
        .collect();
    stories.sort_by(|a, b| a.name.cmp(&b.name));
    stories
}

/// The script with what its commands print now.
pub(crate) fn tell(script: &str, mut run: impl FnMut(&str) -> Result<Vec<String>, String>) -> Result<String, String> {
    let mut told = String::new();
    for (number, line) in (1..).zip(script.lines()).filter(|(_, line)| !is_output(line)) {
        told.push_str(line);
        told.push('\n');
        if let Some(command) = line.strip_prefix('>') {
            let printed = run(command).map_err(|error| format!("{number}: `{line}`: {error}"))?;
            for line in printed {
                told.push_str(&line);
                told.push('\n');
            }
        }
    }
    Ok(told)
}

fn is_output(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(['#', '>'])
}

/// The first line where `actual` differs from `expected`, with both.
pub(crate) fn first_difference(expected: &str, actual: &str) -> Option<String> {
    let [expected, actual] = [expected, actual].map(|text| {
        let lines = text.split('\n').map(|line| format!("`{line}`"));
        lines.chain(std::iter::once("the end of the file".to_owned()))
    });
    let differs = (1..).zip(expected.zip(actual)).find(|(_, (expected, actual))| expected != actual);
    differs.map(|(number, (expected, actual))| format!("{number}: expected {expected}, found {actual}"))
}

/// Compares each story with what its commands print now, or with `ZONEFALL_BLESS` writes that. `bless` is the command that does.
pub(crate) fn check(folder: &str, bless: &str, tell: impl Fn(&str) -> Result<String, String>) {
    let mut wrong = Vec::new();
    for Story { name, path, text } in stories(folder) {
        if path.extension().is_none_or(|extension| extension != "txt") || !text.starts_with("# ") || !text.contains("\n> ") {
            wrong.push(format!("{name}: expected a story: a `.txt` file that opens with prose (`# `) and has commands (`> `)"));
            continue;
        }
        println!("{name}");
        match tell(&text) {
            Ok(told) if !told.lines().any(is_output) => wrong.push(format!("{name}: its commands print nothing")),
            Ok(told) if std::env::var_os("ZONEFALL_BLESS").is_some() => fs::write(path, told).expect("a story can be written"),
            Ok(told) => wrong.extend(first_difference(&text, &told).map(|difference| format!("{name}:{difference}"))),
            Err(error) => wrong.push(format!("{name}:{error}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "the simulation does not do what these stories tell; to accept what it does: {bless}\n{}",
        wrong.join("\n")
    );
}
