//! The page's program: all but the simulator, which runs in a worker and is a program of its own (`bin/zonefall-engine.rs`). So the
//! map waits for half of what is sent; what it shows of a moment, such as who leads, comes from the simulator.

#[cfg(target_arch = "wasm32")]
fn main() {
    yew::Renderer::<zonefall_web::view::app::App>::new().render();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program runs in a browser: `cargo xtask serve` builds and serves it.");
}
