//! The timeline: transport, the lanes of the report, and the playhead, which pointer and keyboard move.
//!
//! ```text
//!   Transport          (drawn each frame: the time)
//!   Paint              (drawn when the report, the range or the width changes)
//!     Playhead         (drawn each frame: one line)
//! ```

pub(crate) mod access_lanes;
pub mod axis;
pub mod lanes;
mod paint;
mod transport;
pub mod zoom;

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::Report;

use super::icon::{Icon, icon};
use super::labels::{clock, moment};
use super::same::Same;
use super::size::use_width;
use crate::state::{Action, PlaybackCommand};
use axis::{Axis, Range};
use paint::{HoverLine, Paint, Playhead};
pub use transport::Progress;
pub(crate) use transport::TIME_FIELD;
use transport::Transport;
use zoom::Zoom;

/// What the timeline shows.
#[derive(Clone, PartialEq, Properties)]
pub struct TimelineProps {
    /// The report so far.
    pub report: Option<Same<Report>>,
    /// Name of the cluster whose lanes are shown.
    pub cluster: String,
    /// End of the run.
    pub end: Time,
    /// How far it is simulated; `None`: to the end.
    pub progress: Option<Progress>,
    /// The playhead.
    pub at: Time,
    /// Whether the playhead moves.
    pub playing: bool,
    /// Whether it stopped by itself at an event of interest.
    pub arrived: bool,
    /// Simulated seconds per second.
    pub speed: f64,
    /// What is shown.
    pub range: Range,
    /// A narrow screen.
    pub narrow: bool,
    /// Another range is wanted.
    pub on_range: Callback<Range>,
    /// The same, in words.
    pub on_zoom: Callback<Zoom>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// The timeline.
#[component]
pub fn Timeline(props: &TimelineProps) -> Html {
    let node = use_node_ref();
    let width = use_width(&node);
    let TimelineProps { report, cluster, end, progress, at, range, narrow, .. } = props.clone();
    let live = progress.map(|progress| progress.now);
    let axis = Axis::new(range, width);
    let height = paint::height(report.as_deref(), &cluster, narrow);
    let seek = {
        let (node, dispatch) = (node.clone(), props.dispatch.clone());
        move |event: &PointerEvent| {
            let Some(element) = node.cast::<web_sys::Element>() else { return };
            let x = f64::from(event.client_x()) - element.get_bounding_client_rect().left();
            dispatch.emit(Action::Playback(PlaybackCommand::Seek(axis.at(x))));
        }
    };
    let onpointerdown = {
        let (seek, node) = (seek.clone(), node.clone());
        move |event: PointerEvent| {
            if event.button() == 0 {
                // (The event's own target is the page: Yew listens there.) Without capture the drag ends at the edge: no harm.
                let _ = node.cast::<web_sys::Element>().map(|own| own.set_pointer_capture(event.pointer_id()));
                seek(&event);
            }
        }
    };
    let onpointermove = move |event: PointerEvent| {
        if event.buttons() & 1 == 1 {
            seek(&event);
        }
    };
    let onwheel = wheel(props, axis, &node);
    let onkeydown = slider_keys(props);
    html! {
        <section class="timeline" aria-label="Timeline" data-testid="timeline">
            <div class="timeline-bar">
                <Transport {at} {end} playing={props.playing} speed={props.speed} {progress} arrived={props.arrived} dispatch={props.dispatch.clone()} />
                { zoom_buttons(props) }
            </div>
            <div class="scrubber" ref={node} role="slider" tabindex="0" aria-label="Playhead" aria-valuemin="0"
                aria-valuemax={end.as_secs_f64().to_string()} aria-valuenow={at.as_secs_f64().to_string()} aria-valuetext={clock(at, 3)}
                {onpointerdown} {onpointermove} {onwheel} {onkeydown} data-testid="scrubber">
                if width > 0.0 {
                    <Paint {report} {cluster} {axis} {live} {narrow} />
                    <Playhead {axis} {at} {height} {narrow} />
                    <HoverLine {axis} {height} />
                }
            </div>
        </section>
    }
}

fn wheel(props: &TimelineProps, axis: Axis, node: &NodeRef) -> Callback<WheelEvent> {
    let (node, on_range, end) = (node.clone(), props.on_range.clone(), props.end);
    Callback::from(move |event: WheelEvent| {
        // A plain wheel scrolls the page; with Ctrl (a pinch on a touch pad) it zooms.
        let Some(element) = node.cast::<web_sys::Element>().filter(|_| event.ctrl_key()) else { return };
        event.prevent_default();
        let about = axis.seconds(f64::from(event.client_x()) - element.get_bounding_client_rect().left());
        on_range.emit(axis.range.zoomed(libm::pow(2.0, (event.delta_y() / 200.0).clamp(-1.0, 1.0)), about, end));
    })
}

fn slider_keys(props: &TimelineProps) -> Callback<KeyboardEvent> {
    let (dispatch, at, range, end) = (props.dispatch.clone(), props.at, props.range, props.end);
    Callback::from(move |event: KeyboardEvent| {
        let page = match event.key().as_str() {
            "PageUp" => 0.05,
            "PageDown" => -0.05,
            "ArrowUp" => 0.005,
            "ArrowDown" => -0.005,
            _ => return,
        };
        event.prevent_default();
        let to = (at.as_secs_f64() + page * range.length()).clamp(0.0, end.as_secs_f64());
        dispatch.emit(Action::Playback(PlaybackCommand::Seek(moment(to))));
    })
}

fn zoom_buttons(props: &TimelineProps) -> Html {
    let button = |which: Icon, name: &'static str, keys: &'static str, zoom: Zoom, id: &'static str| {
        let TimelineProps { range, end, at, report, cluster, .. } = props;
        let idle = zoom.of(*range, at.as_secs_f64(), *end, report.as_deref(), cluster) == *range;
        let onclick = props.on_zoom.reform(move |_: MouseEvent| zoom);
        html! {
            <button class="tool" {onclick} aria-label={name} title={format!("{name} ({keys})")} disabled={idle} data-testid={id}>{ icon(which) }</button>
        }
    };
    html! {
        <div class="buttons zoom" role="group" aria-label="Zoom">
            { button(Icon::Outage, "Show the outage", "Z", Zoom::Outage, "zoom-outage") }
            { button(Icon::Minus, "Zoom out", "-", Zoom::Out, "zoom-out") }
            { button(Icon::Plus, "Zoom in", "+", Zoom::In, "zoom-in") }
            { button(Icon::Fit, "Show the whole run", "0", Zoom::All, "zoom-fit") }
        </div>
    }
}
