//! The page's end of the line to the worker: spawns it, asks, hears, says when it is lost, and replaces it.
//!
//! ```text
//!   ask --(waits until Ready)--> Worker --message--> heard(Tell)
//!                                  |  error event, or no pong for five seconds
//!                                  '--> terminate, heard(Lost(why)); `restart` spawns anew
//! ```
//!
//! The worker is spawned through web-sys: gloo-worker hides both what the watch-dog needs, `terminate` and the error event.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use gloo::timers::callback::Interval;
use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, Event, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::protocol::{self, WorkerRequest, WorkerResponse};
use super::watchdog::{Watchdog, WatchdogAction};

/// Where the worker's program is, seen from the page.
const SCRIPT: &str = "./worker.js";
/// The document's event, after which loader.js has the page kept.
const READY: &str = "zonefall-ready";
/// Between two ticks of the watch-dog, in milliseconds.
const TICK_MS: u32 = 1_000;

/// What the page hears.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerMessage {
    /// The worker says something. Never [`WorkerResponse::Ready`] or [`WorkerResponse::Pong`]: they are between this and the worker.
    Response(WorkerResponse),
    /// The worker was lost, with all that was loaded; why, in plain words that can follow a colon.
    /// [`Remote::restart`] starts another.
    Lost(String),
}

/// The line to the worker. It stays open as long as one clone lives.
#[derive(Clone)]
pub struct Remote(Rc<Shared>);

struct Shared {
    on_message: Box<dyn Fn(WorkerMessage)>,
    line: RefCell<Line>,
}

/// One worker; it ends with its line. `None` where none could be started.
#[derive(Default)]
struct Line {
    worker: Option<Worker>,
    watchdog: Watchdog,
    /// Asked before it was ready.
    waiting: Vec<WorkerRequest>,
    /// They end with the line.
    _listeners: Vec<EventListener>,
    _ticks: Option<Interval>,
}

impl Remote {
    /// Spawns the worker. `heard` is called for whatever comes from it, never from within a call of this type's functions.
    pub fn spawn(on_message: impl Fn(WorkerMessage) + 'static) -> Self {
        let shared = Rc::new(Shared { on_message: Box::new(on_message), line: RefCell::default() });
        shared.connect();
        Self(shared)
    }

    /// Asks the worker something, as soon as it listens.
    pub fn request(&self, request: WorkerRequest) {
        let mut line = self.0.line.borrow_mut();
        if line.watchdog.is_ready() { line.post(&request) } else { line.waiting.push(request) }
    }

    /// Replaces the worker by a new one, to which nothing is loaded.
    pub fn restart(&self) {
        self.0.connect();
    }
}

impl Shared {
    /// Puts a new worker in the place of the old one.
    fn connect(self: &Rc<Self>) {
        let worker = spawn();
        let line = match &worker {
            Ok(worker) => Line {
                worker: Some(worker.clone()),
                watchdog: Watchdog::default(),
                waiting: Vec::new(),
                _listeners: vec![
                    self.listen(worker, "message", |shared, event| shared.receive(event.unchecked_ref())),
                    self.listen(worker, "error", |shared, event| shared.lost(&error_words(event))),
                    self.listen(worker, "messageerror", |shared, _| shared.lost("its message could not be read")),
                ],
                _ticks: Some(self.ticks()),
            },
            Err(_) => Line::default(),
        };
        let old = self.line.replace(line);
        if let Some(old) = &old.worker {
            old.terminate();
        }
        // This may run inside a listener of the old line, which must not be dropped under its own feet.
        gloo::timers::callback::Timeout::new(0, move || drop(old)).forget();
        if let Err(why) = worker {
            let shared = Rc::clone(self);
            let why = format!("it could not be started: {}", js_words(&why));
            gloo::timers::callback::Timeout::new(0, move || (shared.on_message)(WorkerMessage::Lost(why))).forget();
        }
    }

    fn listen(self: &Rc<Self>, worker: &Worker, event: &'static str, react: fn(&Rc<Self>, &Event)) -> EventListener {
        let (shared, from) = (Rc::downgrade(self), worker.clone());
        EventListener::new(worker, event, move |event| {
            // A worker that was replaced has nothing to say any more.
            let Some(shared) = shared.upgrade() else { return };
            if shared.line.borrow().worker.as_ref() == Some(&from) {
                react(&shared, event);
            }
        })
    }

    fn ticks(self: &Rc<Self>) -> Interval {
        let shared = Rc::downgrade(self);
        Interval::new(TICK_MS, move || {
            if let Some(shared) = shared.upgrade() {
                shared.tick();
            }
        })
    }

    fn tick(self: &Rc<Self>) {
        let bark = self.line.borrow_mut().watchdog.tick();
        match bark {
            WatchdogAction::Quiet => {}
            WatchdogAction::Ping(n) => self.line.borrow_mut().send(&WorkerRequest::Ping(n)),
            WatchdogAction::Lost => self.lost("it stopped responding"),
        }
    }

    fn receive(self: &Rc<Self>, event: &MessageEvent) {
        let response = event.data().dyn_ref::<Uint8Array>().and_then(|bytes| protocol::read(&bytes.to_vec()));
        match response {
            Some(WorkerResponse::Ready { build }) if build != protocol::BUILD => {
                self.lost("it is of another version than this page: load the page again");
            }
            Some(WorkerResponse::Ready { .. }) => {
                let mut line = self.line.borrow_mut();
                line.watchdog.ready();
                for request in std::mem::take(&mut line.waiting) {
                    line.post(&request);
                }
                announce();
            }
            Some(WorkerResponse::Pong(n)) => self.line.borrow_mut().watchdog.pong(n),
            Some(response) => {
                self.line.borrow_mut().watchdog.message_received();
                (self.on_message)(WorkerMessage::Response(response));
            }
            None => self.lost("its message could not be read"),
        }
    }

    fn lost(self: &Rc<Self>, why: &str) {
        let line = self.line.take();
        let why = if line.watchdog.is_ready() { why.to_owned() } else { format!("it did not start: {why}") };
        if let Some(worker) = &line.worker {
            worker.terminate();
        }
        // This runs inside a listener of the line, which must not be dropped under its own feet.
        gloo::timers::callback::Timeout::new(0, move || drop(line)).forget();
        (self.on_message)(WorkerMessage::Lost(why));
    }
}

impl Line {
    fn post(&mut self, request: &WorkerRequest) {
        self.watchdog.message_received();
        self.send(request);
    }

    fn send(&mut self, request: &WorkerRequest) {
        if let Some(worker) = &self.worker {
            worker.post_message(&Uint8Array::from(&protocol::write(request)[..])).expect("bytes can be posted");
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.terminate();
        }
    }
}

/// Tells loader.js that all that the page needs is here.
fn announce() {
    if let Ok(event) = Event::new(READY) {
        // Whether somebody listens is theirs.
        let _ = gloo::utils::document().dispatch_event(&event);
    }
}

fn spawn() -> Result<Worker, JsValue> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    Worker::new_with_options(SCRIPT, &options)
}

fn error_words(event: &Event) -> String {
    let message = event.dyn_ref::<ErrorEvent>().map(ErrorEvent::message).filter(|message| !message.is_empty());
    let message = message.unwrap_or_else(|| "its program could not be loaded".to_owned());
    message.trim_start_matches("Uncaught ").trim_start_matches("Error: ").trim_end_matches('.').to_owned()
}

fn js_words(value: &JsValue) -> String {
    value.dyn_ref::<js_sys::Error>().map_or_else(|| "no reason given".to_owned(), |error| error.message().into())
}
