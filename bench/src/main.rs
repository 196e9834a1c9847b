//! Benchmarks of Zonefall: the kernel beside its peers, the engine, a landscape of control planes, a month of them, wasm beside native.
//!
//! Everything is measured in one run, in turn, and printed with its spread. Aims are said to be reached or missed, never asserted:
//! that depends on the machine. What is asserted is that the work was right: M/M/1 agrees with theory, all contenders handled the
//! same events in the same order, wasm computed what native did.

mod engine;
mod hold;
mod landscape;
mod machine;
mod measure;
mod mm1;
mod month;
mod wasm;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask bench [--quick] [SECTION...]

Sections: mm1, hold, engine, landscape, month, wasm; all of them where none is named.
--quick takes about a minute, the full run ten.";

const SECTIONS: [&str; 6] = ["mm1", "hold", "engine", "landscape", "month", "wasm"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = arguments.iter().find(|a| *a != "--quick" && !SECTIONS.contains(&a.as_str())) {
        let help = ["--help", "-h"].contains(&unknown.as_str());
        if !help {
            eprintln!("error: unknown argument `{unknown}`\n");
        }
        eprintln!("{USAGE}");
        return if help { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let all = !SECTIONS.iter().any(|section| arguments.iter().any(|a| a == section));
    let wanted = |section: &str| all || arguments.iter().any(|argument| argument == section);
    let rounds = if quick { 5 } else { 15 };

    machine::print();
    if wanted("mm1") {
        mm1::bench(rounds, if quick { 1_000_000 } else { 5_000_000 });
    }
    if wanted("hold") {
        let events = if quick { 200_000 } else { 1_000_000 };
        hold::bench(&[1_000, 32_000, 1_000_000], hold::Effort { rounds, events });
    }
    if wanted("engine") {
        engine::bench(rounds, if quick { 1 } else { 5 });
    }
    if wanted("landscape") {
        landscape::bench(if quick { 1 } else { 3 });
    }
    if wanted("month") {
        month::bench(if quick { 1 } else { 3 });
    }
    if wanted("wasm")
        && let Err(error) = wasm::bench(rounds, if quick { 1 } else { 5 })
    {
        eprintln!("error: wasm beside native was not measured: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
