//! The web page: served while one works on it, or built as it is shipped.
//!
//! ```text
//! index.html --trunk--> cargo build, wasm-bindgen --> a folder --wasm-opt, list, compress--> dist/
//!                                                       `--> trunk serves it on 127.0.0.1
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::steps::{self, Outcome};
use crate::tools::{self, node::Node};
use crate::{root, target_dir};

/// The programs within the folder of a built page: its own, and its worker's.
const PROGRAMS: [&str; 2] = ["zonefall-web_bg.wasm", "zonefall-engine_bg.wasm"];

/// `cargo xtask serve [--release] [--port N]`.
pub(crate) fn serve(args: &[String]) -> Result<()> {
    const USAGE: &str = "usage: cargo xtask serve [--release] [--port N]";
    let mut port = 8080_u16;
    let mut release = false;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--release" => release = true,
            "--port" => port = args.next().and_then(|port| port.parse().ok()).context(USAGE)?,
            other => bail!("unknown argument `{other}`; {USAGE}"),
        }
    }
    let mut trunk = trunk("serve")?;
    trunk.args(["--address", "127.0.0.1", "--port", &port.to_string()]);
    if release {
        trunk.arg("--release");
    }
    eprintln!("when it is built, the page is at http://127.0.0.1:{port}/ (after a change load it again; Ctrl+C ends)");
    steps::replace_with(&mut trunk)
}

/// `cargo xtask dist`.
pub(crate) fn dist() -> Result<()> {
    let sizes = build(&root().join("dist"), &mut steps::check)?;
    println!("dist/ is ready for any static host: {sizes}");
    Ok(())
}

/// The step: the page builds.
pub(crate) fn step() -> Outcome {
    let page = page()?;
    eprintln!("{}", page.printed.trim_end());
    Ok(Some(page.sizes.clone()))
}

/// A page that was built.
pub(crate) struct Page {
    /// How large it is.
    sizes: String,
    /// What the tools printed.
    printed: String,
}

/// The page as it is shipped, in [`folder`]: built at most once by one call of `cargo xtask`, by whoever asks first; others wait.
pub(crate) fn page() -> Result<&'static Page> {
    static BUILT: OnceLock<Result<Page, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let mut printed = String::new();
        let sizes = build(&folder(), &mut |command| {
            printed += &steps::capture(command)?;
            Ok(())
        });
        sizes.map(|sizes| Page { sizes, printed }).map_err(|error| format!("{error:#}"))
    });
    built.as_ref().map_err(|error| anyhow!("{error}"))
}

/// Where tests and benchmarks have the page built.
pub(crate) fn folder() -> PathBuf {
    target_dir().join("page")
}

/// Builds the page as it is shipped into a folder, and says how large it is.
fn build(folder: &Path, run: &mut dyn FnMut(&mut Command) -> Result<()>) -> Result<String> {
    run(trunk("build")?.args(["--release", "--dist"]).arg(folder))?;
    let programs = PROGRAMS.map(|program| folder.join(program));
    let node = match tools::node::node() {
        Ok(node) => node,
        Err(error) => {
            eprintln!("Node.js cannot be had, the page is larger without, and needs its host at each visit: {error:#}");
            let mut bytes = 0;
            for program in &programs {
                bytes += std::fs::metadata(program)?.len();
            }
            return Ok(format!("its programs have {} KiB, not shrunk by wasm-opt", bytes.div_ceil(1024)));
        }
    };
    for program in &programs {
        wasm_opt(&node, program, run).unwrap_or_else(|error| {
            eprintln!("wasm-opt cannot be had, the page is a little larger without: {error:#}");
        });
    }
    finish(&node, folder)
}

/// trunk, with all that it calls.
fn trunk(command: &str) -> Result<Command> {
    tools::wasm_target()?;
    let mut trunk = Command::new("trunk");
    // Found through this path, not through that of this process: a command looks its program up in the environment it is given.
    tools::with_path(&mut trunk, tools::cargo_tools::trunk()?)?;
    // trunk takes NO_COLOR=1, as the world writes it, for an invalid argument.
    trunk.arg(command).current_dir(root()).env_remove("NO_COLOR");
    Ok(trunk)
}

/// Shrinks a program in place. That takes a minute, so the last result is kept with the program it came from.
fn wasm_opt(node: &Node, program: &Path, run: &mut dyn FnMut(&mut Command) -> Result<()>) -> Result<()> {
    // What Rust's wasm32-unknown-unknown takes for granted; a program that went through wasm-bindgen no longer says it itself.
    const FEATURES: [&str; 6] =
        ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"];
    let kept = target_dir().join("wasm-opt");
    let name = program.file_stem().and_then(|name| name.to_str()).context("a program has a name")?;
    let (large, small) = (kept.join(format!("{name}.large.wasm")), kept.join(format!("{name}.small.wasm")));
    let same = |a: &Path, b: &Path| matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b);
    if !(same(program, &large) && small.is_file()) {
        std::fs::create_dir_all(&kept)?;
        // Until it is shrunk, nothing is known to be the result of anything.
        let _ = std::fs::remove_file(&small);
        std::fs::copy(program, &large)?;
        let mut command = node.command();
        command.arg(node.package("binaryen")?.join("bin/wasm-opt")).arg("-O3").arg(&large).arg("-o").arg(&small);
        run(command.args(FEATURES.map(|feature| format!("--enable-{feature}"))))?;
    }
    std::fs::copy(&small, program)?;
    Ok(())
}

/// Writes the list of a folder's files, for the service worker, and compressed ones beside them. The sizes of all, in words.
fn finish(node: &Node, folder: &Path) -> Result<String> {
    const SCRIPTS: [&str; 2] = [include_str!("list.mjs"), include_str!("compress.mjs")];
    let mut printed = String::new();
    for script in SCRIPTS {
        let mut command = node.command();
        let output = command.args(["--input-type=module", "--eval", script]).arg(folder).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the files of {} cannot be listed and compressed", folder.display());
        printed += &String::from_utf8_lossy(&output.stdout);
    }
    Ok(printed.trim().to_owned())
}
