//! What the figures were measured on.

use std::process::Command;

/// Prints processor, system, compiler, node and the load at the start.
pub(crate) fn print() {
    let cores = std::thread::available_parallelism().map_or_else(|_| "?".to_owned(), |n| n.to_string());
    println!("processor  {}, {cores} cores", processor());
    println!("system     {} {}", std::env::consts::OS, std::env::consts::ARCH);
    println!("compiler   {}", version("rustc"));
    println!("node       {}", version("node"));
    if let Some(load) = read("/proc/loadavg") {
        println!("load       {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "));
    }
    println!("Times are processor time; min, median and max over the rounds, ratios the median of each round's.");
}

fn processor() -> String {
    let text = read("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn version(program: &str) -> String {
    let output = Command::new(program).arg("--version").output();
    output.map_or_else(|_| "not found".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
