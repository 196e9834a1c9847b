//! A chart: drawn by zonefall-plots on a canvas; the cursor and the values under it lie above.

use plotters::prelude::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{CloseUp, EtcdReport, Report};
use zonefall_core::scenario::text::{bytes, dollars};
use zonefall_plots::bill::Charged;
use zonefall_plots::{Frame, Look, Margins, Theme, availability, bill, latency, traffic};

use crate::state::{Action, PlaybackCommand};
use crate::view::hover::Hover;
use crate::view::labels::{clock, length, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::size::use_size;
use crate::view::timeline::axis::{Axis, Range};

/// Which chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Time without each service.
    Availability,
    /// Percentiles of the requests.
    Latency,
    /// Bytes between zones.
    Traffic,
    /// What a provider has charged.
    Bill(AttrValue),
}

impl Kind {
    fn name(&self) -> String {
        match self {
            Self::Availability => "Unavailable time".to_owned(),
            Self::Latency => "Latency of requests".to_owned(),
            Self::Traffic => "Traffic between zones".to_owned(),
            Self::Bill(provider) => format!("The running bill of {provider}"),
        }
    }

    /// What the values are; `window_s`: of how long.
    fn columns(&self, window_s: f64) -> String {
        match self {
            Self::Availability => "unavailable so far".to_owned(),
            Self::Latency => format!("p50 / p90 / p99 of {}", length(window_s)),
            Self::Traffic => format!("on the wire, mean of {}", length(window_s)),
            Self::Bill(_) => "so far".to_owned(),
        }
    }
}

/// What is drawn.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct ChartProps {
    pub kind: Kind,
    pub report: Same<Report>,
    pub close_up: Option<Same<CloseUp>>,
    pub cluster: String,
    pub at: Time,
    pub range: Range,
    pub dark: bool,
    pub tables: bool,
    pub dispatch: Callback<Action>,
}

/// Name and value of a series, and how its line looks, where it has one.
type Value = (String, String, Option<Look>);

/// Chart, cursor and values; or a table.
#[component]
pub(crate) fn Chart(props: &ChartProps) -> Html {
    let node = use_node_ref();
    let (width, height) = use_size(&node);
    let hover = use_context::<Hover>();
    {
        let hover = hover.clone();
        // The pointer leaves a chart that goes away, too.
        use_effect_with((), move |()| move || hover.iter().for_each(|hover| hover.set(None)));
    }
    let ChartProps { kind, report, close_up, cluster, at, range, dark, tables, dispatch } = props.clone();
    let Some(etcd) = report.etcd.get(&cluster) else { return Html::default() };
    let axis = Axis::new(range, width);
    let hovered = hover.as_ref().and_then(|hover| **hover);
    let shown = hovered.unwrap_or(at.as_secs_f64()).min(report.simulated_s);
    let moment_at = {
        let node = node.clone();
        move |event: &MouseEvent| {
            let left = node.cast::<Element>()?.get_bounding_client_rect().left();
            Some(axis.seconds(f64::from(event.client_x()) - left))
        }
    };
    let onpointermove = {
        let (hover, moment_at) = (hover.clone(), moment_at.clone());
        move |event: PointerEvent| hover.iter().for_each(|hover| hover.set(moment_at(&event)))
    };
    let onpointerleave = move |_: PointerEvent| hover.iter().for_each(|hover| hover.set(None));
    let onclick = move |event: MouseEvent| {
        if let Some(s) = moment_at(&event) {
            dispatch.emit(Action::Playback(PlaybackCommand::Seek(moment(s))));
        }
    };
    let values = values(&kind, &report, close_up.as_deref(), &cluster, shown);
    let window_s = close_up.as_ref().map_or(report.latency_window_s, |part| part.window_s);
    let left_half = axis.x(shown) < f64::midpoint(axis.left, axis.right);
    // Of a bill only the sum lies upon the chart: the kinds are under it, with their colours.
    let charged = if let Kind::Bill(provider) = &kind { bill::so_far(&report, provider, shown) } else { Vec::new() };
    let upon = if charged.is_empty() { &values[..] } else { &values[..1] };
    let words = values.iter().map(|(name, value, _)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
    let label = format!("{}: {words}", kind.name());
    let value = |(name, value, look): &Value| {
        html! { <li><span>{ look.map(|look| sample(&look)) }{ name }</span><b>{ value }</b></li> }
    };
    let plot = html! {
        <div class="plot" role="img" aria-label={label}>
            if width > 0.0 {
                <Plot kind={kind.clone()} report={report.clone()} {close_up} cluster={cluster.clone()} {range} {dark} {width} {height} />
                { cursor(&axis, shown, height) }
            }
        </div>
    };
    html! {
        <>
            <div class="charting">
                <div class="chart" ref={node} {onpointermove} {onpointerleave} onclick={(!tables).then_some(onclick)} data-testid="chart">
                    if tables { { table(&kind, shown, &values, etcd) } } else { { plot } }
                </div>
                if !tables {
                    <ul class={classes!("values", left_half.then_some("right"))} aria-hidden="true" data-testid="values">
                        <li><strong>{ clock(moment(shown), 3) }</strong><span>{ kind.columns(window_s) }</span></li>
                        { for upon.iter().map(value) }
                    </ul>
                }
            </div>
            if !tables && !charged.is_empty() { { legend(&charged) } }
        </>
    }
}

/// A piece of a series' line.
fn sample(look: &Look) -> Html {
    html! {
        <svg class="sample" width="20" height="8"><line x1="0" x2="18" y1="4" y2="4" stroke={look.stroke()} stroke-dasharray={look.dashes()} stroke-width="3" /></svg>
    }
}

/// Kinds of costs with the colour that they have in the chart. (Its name says the same.)
fn legend(charged: &[Charged]) -> Html {
    let kind = |of: &Charged| {
        let colour = format!("colour-{}", of.kind as usize);
        html! { <li><i class={classes!("swatch", colour)}></i>{ of.kind.describe() }{ " " }<b>{ told(of.usd, of.per_hour_usd) }</b></li> }
    };
    html! { <ul class="legend" aria-hidden="true" data-testid="legend">{ for charged.iter().map(kind) }</ul> }
}

/// What has been charged, and what an hour costs at that moment.
fn told(usd: f64, per_hour_usd: f64) -> String {
    format!("{} at {}/h", dollars(usd), dollars(per_hour_usd))
}

fn cursor(axis: &Axis, s: f64, height: f64) -> Html {
    if !axis.shows(s, s) {
        return Html::default();
    }
    let x = px(axis.x(s));
    html! {
        <svg class="cursor" width={px(axis.right + 1.0)} height={px(height)} aria-hidden="true"><line x1={x.clone()} x2={x} y1="0" y2={px(height)} /></svg>
    }
}

/// What the chart shows at a moment, by name.
fn values(kind: &Kind, report: &Report, close_up: Option<&CloseUp>, cluster: &str, at_s: f64) -> Vec<Value> {
    match kind {
        Kind::Availability => {
            let all = report.etcd.get(cluster).map(|etcd| availability::unavailable_s(etcd, at_s)).into_iter().flatten();
            all.map(|(name, gone, look)| (name.to_owned(), length(gone), Some(look))).collect()
        }
        Kind::Traffic => {
            let all = traffic::rates(report, close_up, at_s).into_iter().enumerate();
            all.map(|(i, (name, rate))| (name, format!("{}/s", bytes(rate as u64)), Some(Look::of(i)))).collect()
        }
        Kind::Bill(provider) => {
            let so_far = bill::so_far(report, provider, at_s);
            let (usd, per_hour_usd) =
                so_far.iter().fold((0.0, 0.0), |(usd, per_hour), of| (usd + of.usd, per_hour + of.per_hour_usd));
            let kinds = so_far.iter().map(|of| (of.kind.describe().to_owned(), told(of.usd, of.per_hour_usd), None));
            std::iter::once(("all".to_owned(), told(usd, per_hour_usd), None)).chain(kinds).collect()
        }
        Kind::Latency => {
            // Of a sample few paths have an answer in each window.
            let answered = |(name, of, look): (String, [Option<f64>; 3], Look)| match of {
                [Some(p50), Some(p90), Some(p99)] => Some((name, format!("{p50:.1} / {p90:.1} / {p99:.1} ms"), Some(look))),
                _ => None,
            };
            let rows: Vec<_> = latency::at(report, close_up, cluster, at_s).into_iter().filter_map(answered).collect();
            if rows.is_empty() { vec![("no answer".to_owned(), "none".to_owned(), None)] } else { rows }
        }
    }
}

fn table(kind: &Kind, at_s: f64, values: &[Value], cluster: &EtcdReport) -> Html {
    let what = if *kind == Kind::Latency { " (median / 90 % / 99 %)" } else { "" };
    let caption = format!("{}{what} at {}", kind.name(), clock(moment(at_s), 3));
    let rows = values.iter().map(|(name, value, _)| html! { <tr><td>{ name }</td><td class="number">{ value }</td></tr> });
    let outages = cluster.outages.iter().filter(|_| *kind == Kind::Availability).map(|o| {
        html! { <tr><td>{ format!("{}: {}", crate::view::labels::outage(o.kind), o.root_cause) }</td><td class="number">{ o.length() }</td></tr> }
    });
    html! {
        <div class="tables" tabindex="0" role="region" aria-label={kind.name()}>
            { crate::view::map::table(&caption, &["What", "Value"], rows.chain(outages).collect()) }
        </div>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct PlotProps {
    kind: Kind,
    report: Same<Report>,
    close_up: Option<Same<CloseUp>>,
    cluster: String,
    range: Range,
    dark: bool,
    width: f64,
    height: f64,
}

/// The canvas; drawn when what it shows changes, never because the playhead moves.
#[component]
fn Plot(props: &PlotProps) -> Html {
    let canvas = use_node_ref();
    {
        let canvas = canvas.clone();
        use_effect_with(props.clone(), move |props| {
            if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                draw(canvas, props);
            }
        });
    }
    html! { <canvas ref={canvas} aria-hidden="true"></canvas> }
}

fn draw(canvas: HtmlCanvasElement, props: &PlotProps) {
    let PlotProps { kind, report, close_up, cluster, range, dark, width, height } = props;
    let ratio = gloo::utils::window().device_pixel_ratio();
    canvas.set_width((width * ratio) as u32);
    canvas.set_height((height * ratio) as u32);
    let (left, right) = Axis::gutters(*width);
    let margins = Margins { left: left as i32, right: right as i32, top: 22, bottom: 12 };
    let frame = Frame {
        from_s: range.from_s,
        to_s: range.to_s,
        margins: Some(margins),
        theme: if *dark { Theme::DARK } else { Theme::LIGHT },
        scale: ratio,
        titled: false,
    };
    let Some(area) = CanvasBackend::with_canvas_object(canvas).map(IntoDrawingArea::into_drawing_area) else { return };
    let close_up = close_up.as_deref();
    let drawn = match kind {
        Kind::Availability => availability::draw(report, cluster, &frame, &area),
        Kind::Latency => latency::draw_over_time(report, close_up, cluster, &frame, &area),
        Kind::Traffic => traffic::draw(report, close_up, &frame, &area),
        Kind::Bill(provider) => bill::draw(report, provider, &frame, &area),
    };
    debug_assert!(drawn.is_ok(), "a canvas takes every line");
}
