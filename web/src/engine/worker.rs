//! The worker's side of the line, in a browser: hears asks, lets the session work in slices, tells.
//!
//! ```text
//!   page --message--> hear --> Session::request --> wake
//!                                                |  a message to itself: asks that came meanwhile are heard first
//!   page <--message-- tell <-- Session::work <---'  (again, until the session is idle)
//! ```
//!
//! A message to itself over a channel is the quickest way to let a browser deliver what waits: timers are held back to 4 ms each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, Performance};

use super::keyframes::Limits;
use super::protocol::{self, WorkerRequest, WorkerResponse};
use super::session::Session;

/// Work between two looks into the letter box, in milliseconds.
const SLICE_MS: f64 = 8.0;
/// Bytes of a page of wasm memory.
const PAGE_BYTES: usize = 65_536;

struct Worker {
    scope: DedicatedWorkerGlobalScope,
    clock: Performance,
    session: RefCell<Session>,
    channel: MessageChannel,
    /// A message to itself is under way.
    is_scheduled: Cell<bool>,
}

/// The scope of a worker, where this program runs in one.
pub fn scope() -> Option<DedicatedWorkerGlobalScope> {
    js_sys::global().dyn_into().ok()
}

/// Serves the page for as long as the worker lives.
///
/// # Panics
/// Where the browser has no clock or no channels, which every one that runs WebAssembly has.
pub fn run(scope: DedicatedWorkerGlobalScope) {
    std::panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&format!("the simulator crashed: {panic}"))));
    let clock = scope.performance().expect("a worker has a clock");
    let channel = MessageChannel::new().expect("a worker has channels");
    let session = RefCell::new(Session::new(Limits::default()));
    let worker = Rc::new(Worker { scope, clock, session, channel, is_scheduled: Cell::new(false) });
    let listener = Rc::clone(&worker);
    EventListener::new(&worker.scope, "message", move |event| listener.on_message(event.unchecked_ref())).forget();
    let works = Rc::clone(&worker);
    EventListener::new(&worker.channel.port1(), "message", move |_| works.work()).forget();
    worker.channel.port1().start();
    worker.respond(&WorkerResponse::Ready { build: protocol::BUILD.to_owned() });
}

impl Worker {
    fn on_message(&self, event: &MessageEvent) {
        // The page sends nothing else; what another script might is no ask.
        let request = event.data().dyn_ref::<Uint8Array>().and_then(|bytes| protocol::read::<WorkerRequest>(&bytes.to_vec()));
        if let Some(request) = request {
            self.session.borrow_mut().request(request);
            self.schedule();
        }
    }

    fn schedule(&self) {
        if !self.is_scheduled.replace(true) {
            self.channel.port2().post_message(&JsValue::NULL).expect("a channel within the worker");
        }
    }

    fn work(&self) {
        self.is_scheduled.set(false);
        let mut session = self.session.borrow_mut();
        let memory_bytes = core::arch::wasm32::memory_size::<0>() * PAGE_BYTES;
        for response in session.work(|| self.clock.now(), SLICE_MS, memory_bytes) {
            self.respond(&response);
        }
        if !session.is_idle() {
            self.schedule();
        }
    }

    fn respond(&self, response: &WorkerResponse) {
        self.scope.post_message(&Uint8Array::from(&protocol::write(response)[..])).expect("bytes can be posted");
    }
}
