//! Messages in flight, as dots on their way: a canvas above the map that each frame clears and draws, outside of Yew's diff.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlElement};
use yew::prelude::*;
use zonefall_core::etcd::raft::message::Kind;
use zonefall_core::etcd::view::MessageView;
use zonefall_core::ids::EtcdId;
use zonefall_core::kernel::time::Time;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::text;
use zonefall_core::sim::view::SimulationView;

use super::layout::{Layout, way};
use super::shapes::px;
use crate::view::labels as say;
use crate::view::same::Same;

/// What is drawn.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct MessagesProps {
    pub scenario: Same<Scenario>,
    pub view: Same<SimulationView>,
    pub layout: Same<Layout>,
    pub at: Time,
    pub dark: bool,
}

/// A dot as it was last drawn, and what it says.
struct Dot {
    at: (f64, f64),
    words: String,
}

/// The canvas and the words under the pointer.
#[component]
pub(crate) fn Messages(props: &MessagesProps) -> Html {
    let (canvas, tip) = (use_node_ref(), use_node_ref());
    let dots: Rc<RefCell<Vec<Dot>>> = use_mut_ref(Vec::new);
    {
        let (canvas, dots) = (canvas.clone(), Rc::clone(&dots));
        use_effect_with(props.clone(), move |props| {
            if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                *dots.borrow_mut() = draw(&canvas, props);
            }
        });
    }
    {
        let (canvas, tip) = (canvas.clone(), tip.clone());
        use_effect_with((), move |()| {
            let sheet = canvas.cast::<HtmlElement>().and_then(|c| c.parent_element());
            let listener = sheet.map(|sheet| {
                let on = sheet.clone();
                EventListener::new(&on, "pointermove", move |event| {
                    let Some(event) = event.dyn_ref::<PointerEvent>() else { return };
                    let origin = sheet.get_bounding_client_rect();
                    let at = (f64::from(event.client_x()) - origin.left(), f64::from(event.client_y()) - origin.top());
                    if let Some(tip) = tip.cast::<HtmlElement>() {
                        show(&tip, &dots.borrow(), at);
                    }
                })
            });
            move || drop(listener)
        });
    }
    html! {
        <>
            <canvas class="messages" ref={canvas} aria-hidden="true" data-testid="messages"></canvas>
            <div class="tip" ref={tip} role="status"></div>
        </>
    }
}

/// Says what the nearest dot is, where one is near.
fn show(tip: &HtmlElement, dots: &[Dot], (x, y): (f64, f64)) {
    let near = |dot: &&Dot| (dot.at.0 - x).hypot(dot.at.1 - y);
    let dot = dots.iter().min_by(|a, b| near(a).total_cmp(&near(b))).filter(|dot| near(dot) < 12.0);
    tip.set_text_content(dot.map(|dot| dot.words.as_str()));
    if let Some(dot) = dot {
        let place = format!("translate({}px, {}px)", px(dot.at.0 + 10.0), px(dot.at.1 - 28.0));
        // A tip in the wrong place is still a tip.
        let _ = tip.style().set_property("transform", &place);
    }
}

fn draw(canvas: &HtmlCanvasElement, props: &MessagesProps) -> Vec<Dot> {
    let scale = props.layout.scale;
    let ratio = gloo::utils::window().device_pixel_ratio() * scale;
    let (w, h) = (props.layout.width, props.layout.height);
    let (pixels_w, pixels_h) = ((w * ratio) as u32, (h * ratio) as u32);
    if (canvas.width(), canvas.height()) != (pixels_w, pixels_h) {
        canvas.set_width(pixels_w);
        canvas.set_height(pixels_h);
        let style = canvas.style();
        let sizes =
            [style.set_property("width", &format!("{}px", w * scale)), style.set_property("height", &format!("{}px", h * scale))];
        debug_assert!(sizes.iter().all(Result::is_ok));
    }
    let context = canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
    let Some(context) = context else { return Vec::new() };
    let plain = context.set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0).is_ok();
    debug_assert!(plain, "a finite transform");
    context.clear_rect(0.0, 0.0, w, h);
    let mut dots = Vec::new();
    for (cluster, now) in props.view.etcd.iter_enumerated() {
        for message in &now.messages {
            let rects = &props.layout.members[cluster];
            let (from, to) = (rects[message.from as usize], rects[message.to as usize]);
            let (share, strength) = progress(message, props.at);
            if strength <= 0.0 {
                continue;
            }
            let at = way(from, to).at(share);
            context.set_global_alpha(strength);
            context.set_fill_style_str(colour(message.kind, props.dark));
            context.begin_path();
            let radius = if message.entries > 0 || message.kind == Kind::Snapshot { 4.0 } else { 3.0 };
            if context.arc(at.0, at.1, radius, 0.0, std::f64::consts::TAU).is_ok() {
                context.fill();
            }
            dots.push(Dot { at: (at.0 * scale, at.1 * scale), words: words_of(message, cluster, &props.scenario) });
        }
    }
    dots
}

/// How far a message has come (0 to 1), and how strongly it is drawn: what nobody receives fades on its way.
fn progress(message: &MessageView, now: Time) -> (f64, f64) {
    let gone = now.since(message.sent).as_secs_f64();
    match message.arrives {
        Some(arrives) if now > arrives => (1.0, 0.0),
        Some(arrives) => (gone / arrives.since(message.sent).as_secs_f64().max(1e-9), 1.0),
        None => (0.5 * (gone / 1e-3).min(1.0), (1.0 - gone / 4e-3).max(0.25)),
    }
}

/// Okabe and Ito's colours by what a message is for: entries, votes, databases, the rest.
fn colour(kind: Kind, dark: bool) -> &'static str {
    match kind {
        Kind::Append | Kind::AppendResponse | Kind::Propose => {
            if dark {
                "#56b4e9"
            } else {
                "#0072b2"
            }
        }
        Kind::PreVote | Kind::PreVoteResponse | Kind::Vote | Kind::VoteResponse | Kind::TimeoutNow => {
            if dark {
                "#ff9a4d"
            } else {
                "#d55e00"
            }
        }
        Kind::Snapshot => "#cc79a7",
        Kind::ReadIndex | Kind::ReadIndexResponse => "#009e73",
        Kind::Heartbeat | Kind::HeartbeatResponse => {
            if dark {
                "#a3a9b8"
            } else {
                "#6b7180"
            }
        }
    }
}

/// A message in words: `append (2 entries, 1.4 KiB), etcd-main-0 to etcd-main-1, term 2`.
pub(crate) fn words_of(message: &MessageView, cluster: EtcdId, scenario: &Scenario) -> String {
    let name = |index: u8| scenario.etcd[cluster].members[index as usize].name.as_str();
    let entries = match message.entries {
        0 => String::new(),
        1 => "1 entry, ".to_owned(),
        n => format!("{n} entries, "),
    };
    let lost = if message.arrives.is_none() { ", held by a blocked path" } else { "" };
    let (kind, size) = (say::message(message.kind), text::bytes(message.bytes));
    format!("{kind} ({entries}{size}), {} to {}, term {}{lost}", name(message.from), name(message.to), message.term)
}
