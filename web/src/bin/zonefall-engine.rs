//! The worker's program: the simulator, without the page. web/worker.js starts it.

#[cfg(target_arch = "wasm32")]
fn main() {
    use zonefall_web::engine::worker;
    worker::run(worker::scope().expect("it runs in a worker"));
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program runs in a browser: `cargo xtask serve` builds and serves it.");
}
