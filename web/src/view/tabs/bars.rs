//! Rows of bars or areas on the run's axis, with the playhead.

use yew::prelude::*;
use zonefall_core::kernel::time::Time;

use crate::view::map::shapes::px;
use crate::view::size::use_width;
use crate::view::timeline::axis::{Axis, Range};

/// Height of the axis above the rows.
pub(super) const HEAD: f64 = 20.0;

/// The area under steps, each a moment and the number from then on, with `unit` pixels for one, on a base line.
pub(super) fn area(steps: &[(f64, i64)], unit: f64, axis: &Axis, base: f64) -> String {
    let y = |now: i64| px(base - unit * now as f64);
    let x = |at_s: f64| px(axis.x(at_s).clamp(axis.left, axis.right));
    let mut path = format!("M{} {}", x(axis.range.from_s), px(base));
    let mut last = 0;
    for (at_s, now) in steps {
        path += &format!("L{} {}L{} {}", x(*at_s), y(last), x(*at_s), y(*now));
        last = *now;
    }
    path + "Z"
}

/// What is drawn.
#[derive(Clone, PartialEq, Properties)]
pub(super) struct BarsProps {
    /// Height of all rows, in pixels.
    pub height: f64,
    pub at: Time,
    pub range: Range,
    /// Draws the rows below the axis.
    pub rows: Callback<Axis, Html>,
}

/// The drawing. (Tables say the same to those who do not see it.)
#[component]
pub(super) fn Bars(props: &BarsProps) -> Html {
    let BarsProps { at, range, rows, .. } = props;
    let node = use_node_ref();
    let width = use_width(&node);
    let axis = Axis { range: *range, left: 12.0, right: (width - 24.0).max(13.0), gutter: 24.0 };
    let height = HEAD + props.height;
    let ticks = zonefall_plots::ticks(range.from_s, range.to_s, ((axis.right - axis.left) / 90.0) as usize);
    let tick = |(s, words): &(f64, String)| {
        let x = px(axis.x(*s));
        html! { <g class="tick"><line x1={x.clone()} x2={x.clone()} y1="15" y2={px(height)} /><text {x} y="11" text-anchor="middle">{ words }</text></g> }
    };
    let at_s = at.as_secs_f64();
    let x = px(axis.x(at_s));
    let now = axis.shows(at_s, at_s);
    html! {
        <div ref={node} class="bars">
            if width > 0.0 {
                <svg class="lanes" width={px(width)} height={px(height)} aria-hidden="true">
                    { for ticks.iter().map(tick) }
                    { rows.emit(axis) }
                    if now { <line class="now" x1={x.clone()} x2={x} y1="14" y2={px(height)} /> }
                </svg>
            }
        </div>
    }
}
