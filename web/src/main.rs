//! Zonefall in a browser: one program, which is the page or its worker, depending on where it runs.

#[cfg(target_arch = "wasm32")]
fn main() {
    use zonefall_web::engine::worker;
    use zonefall_web::view::app::App;
    match worker::scope() {
        Some(scope) => worker::run(scope),
        None => {
            yew::Renderer::<App>::new().render();
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program runs in a browser: `cargo xtask serve` builds and serves it.");
}
