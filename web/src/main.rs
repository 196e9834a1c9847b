//! Zonefall in a browser. So far a page that says what Zonefall is; it simulates nothing yet.

use yew::prelude::*;
use zonefall_core::scenario::bundled;

/// The page.
#[component]
fn App() -> Html {
    let scenarios = bundled().iter().map(|scenario| html! { <li><code>{ scenario.name }</code></li> });
    html! {
        <main>
            <h1>{ "Zonefall" }</h1>
            <p class="lead">{ "What happens to my Kubernetes control plane when a zone, a node, a load balancer or a disk fails; how long \
                until it works again; and what does that safety cost?" }</p>
            <p>{ "A discrete-event simulator of highly available control planes. It runs on the command line, in tests, and soon on this page: \
                the same scenario and the same seed give the same story everywhere." }</p>
            <h2>{ "Bundled scenarios" }</h2>
            <ul>{ for scenarios }</ul>
        </main>
    }
}

fn main() {
    // The page and its worker are one program.
    #[cfg(target_arch = "wasm32")]
    if let Some(scope) = zonefall_web::engine::worker::scope() {
        zonefall_web::engine::worker::run(scope);
        return;
    }
    yew::Renderer::<App>::new().render();
}
