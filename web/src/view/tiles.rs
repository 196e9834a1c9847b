//! The outcome at first sight, under the verdict: quorum, write latency, cost a month, and the API where there are control planes. Each tile
//! opens its tab.

use yew::prelude::*;
use zonefall_core::report::{ApiReport, CostKind, EtcdReport, LatencyReport, OpKind, Report};
use zonefall_core::scenario::text::{count, dollars};

use super::labels::length;
use super::same::Same;
use crate::state::{Action, Tab, UiAction};

/// What the tiles show.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct TilesProps {
    /// The report so far.
    pub report: Same<Report>,
    /// The cluster of etcd whose latency is shown.
    pub cluster: String,
    /// The provider whose bill is wanted, as [`Report::provider`] takes it.
    pub provider: Option<String>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// See the module.
#[component]
pub(crate) fn Tiles(props: &TilesProps) -> Html {
    let TilesProps { report, cluster, provider, dispatch } = props;
    let latency = report.etcd.get(cluster).and_then(|etcd| WriteLatency::of(report, etcd));
    let tiles = [
        Some(quorum(report)),
        Some(latency.as_ref().map_or_else(no_writes, WriteLatency::tile)),
        Some(cost(report, provider.as_deref())),
        api(report),
    ];
    let tile = |tile: Tile| {
        let Tile { name, value, detail, title, tab, is_bad } = tile;
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::Tab(tab)));
        let line = latency.as_ref().filter(|_| tab == Tab::Latency).map(WriteLatency::sparkline);
        html! {
            <li>
                <button class={classes!("tile", is_bad.then_some("bad"))} {onclick} {title} data-testid={format!("tile-{}", name.to_lowercase())}>
                    <span class="tile-name">{ name }</span>
                    <span class="tile-value">{ value }</span>
                    <span class="tile-detail">{ detail }</span>
                    { line }
                </button>
                if tab == Tab::Cost { { chooser(report, provider.as_deref(), dispatch) } }
            </li>
        }
    };
    html! { <ul class="tiles" aria-label="Outcome" data-testid="tiles">{ for tiles.into_iter().flatten().map(tile) }</ul> }
}

#[derive(Clone, Debug, PartialEq)]
struct Tile {
    name: &'static str,
    value: String,
    detail: String,
    /// What the figures are, in a sentence.
    title: &'static str,
    /// What it opens.
    tab: Tab,
    is_bad: bool,
}

/// Quorum of all clusters of etcd, and how many failures they tolerate at the worst moment.
fn quorum(report: &Report) -> Tile {
    let all = report.etcd.values();
    let lost = all.clone().filter(|etcd| etcd.quorum_lost_s > 0.0).count();
    let longest = all.clone().map(|etcd| etcd.quorum_lost_s).fold(0.0, f64::max);
    let value = match (lost, report.etcd.len()) {
        (0, _) => "held".to_owned(),
        (_, 1) => format!("lost for {}", length(longest)),
        (_, of) => format!("lost in {lost} of {of}, {} at most", length(longest)),
    };
    let tolerated = |which: fn(&EtcdReport) -> Option<i64>| all.clone().filter_map(which).min().map_or(0, |n| n.max(0));
    let first = tolerated(|etcd| etcd.tolerance.first().map(|now| now.failure_tolerance));
    let worst = tolerated(|etcd| etcd.tolerance.iter().map(|now| now.failure_tolerance).min());
    let detail = match (first, worst) {
        (first, worst) if first == worst => format!("{} tolerated", failures(first)),
        (first, worst) => format!("{} tolerated, {worst} at worst", failures(first)),
    };
    let title = "Whether a majority of the voters ran and was connected, and how many members may fail before it is lost";
    Tile { name: "Quorum", value, detail, title, tab: Tab::Availability, is_bad: lost > 0 }
}

fn failures(count: i64) -> String {
    if count == 1 { "1 failure".to_owned() } else { format!("{count} failures") }
}

/// The 99th percentile of writes, window by window: the highest of those whom a window has several of.
struct WriteLatency {
    /// Milliseconds; `None`: no write ended well in the window.
    windows: Vec<Option<f64>>,
    window_s: f64,
    /// From the first fault or outage to the last one's end, in seconds.
    trouble: Option<(f64, f64)>,
}

impl WriteLatency {
    fn of(report: &Report, etcd: &EtcdReport) -> Option<Self> {
        let writes: Vec<&LatencyReport> =
            etcd.latency.iter().filter(|row| matches!(row.op, OpKind::Put | OpKind::Txn | OpKind::Delete)).collect();
        let length = writes.iter().map(|row| row.windows.p99_ms.len()).max()?;
        let highest = |k: usize| {
            let all = writes.iter().filter_map(|row| row.windows.p99_ms.get(k).copied().flatten());
            all.max_by(f64::total_cmp)
        };
        let faults = report.faults.iter().map(|fault| (fault.from_s, fault.to_s));
        let troubles = faults.chain(etcd.outages.iter().map(|outage| (outage.from_s, outage.to_s)));
        let trouble = troubles.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        Some(Self { windows: (0..length).map(highest).collect(), window_s: report.latency_window_s, trouble })
    }

    /// The windows before what went wrong, during it (its first and its last window included), and after it.
    fn parts(&self) -> [&[Option<f64>]; 3] {
        let (from_s, to_s) = self.trouble.unwrap_or((f64::INFINITY, f64::INFINITY));
        let at = |s: f64| ((s / self.window_s).max(0.0) as usize).min(self.windows.len());
        let (before, rest) = self.windows.split_at(at(from_s));
        let (during, after) = rest.split_at((at(to_s) + 1).saturating_sub(before.len()).min(rest.len()));
        [before, during, after]
    }

    fn tile(&self) -> Tile {
        let [before, during, after] = self.parts().map(|part| part.iter().flatten().copied().collect::<Vec<f64>>());
        let median = |mut part: Vec<f64>| {
            part.sort_unstable_by(f64::total_cmp);
            part.get(part.len() / 2).copied()
        };
        let worst = during.into_iter().max_by(f64::total_cmp);
        let words = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), |ms| length(ms / 1e3));
        let (value, detail) = if self.trouble.is_none() {
            (words(median(before)), "write p99")
        } else {
            let three = [median(before), worst, median(after)].map(words);
            (three.join(" → "), "write p99 before → at worst → after")
        };
        let title = "99th percentile of writes in windows of the report: the median window before and after what went wrong, the worst window while it lasted";
        Tile { name: "Latency", value, detail: detail.to_owned(), title, tab: Tab::Latency, is_bad: false }
    }

    /// The windows as a line, on a logarithmic scale; a gap where no write ended well.
    fn sparkline(&self) -> Html {
        const WIDTH: f64 = 120.0;
        const HEIGHT: f64 = 20.0;
        let there = || self.windows.iter().flatten().map(|ms| libm::log10(ms.max(1e-3)));
        let (low, high) = (there().fold(f64::INFINITY, f64::min), there().fold(f64::NEG_INFINITY, f64::max));
        let (mut path, mut is_on) = (String::new(), false);
        for (k, ms) in self.windows.iter().enumerate() {
            if let Some(ms) = ms {
                let x = WIDTH * k as f64 / (self.windows.len() - 1).max(1) as f64;
                let y = HEIGHT - 1.0 - (HEIGHT - 2.0) * (libm::log10(ms.max(1e-3)) - low) / (high - low).max(0.3);
                path += &format!("{}{x:.1} {y:.1}", if is_on { "L" } else { "M" });
            }
            is_on = ms.is_some();
        }
        html! {
            <svg class="sparkline" viewBox={format!("0 0 {WIDTH} {HEIGHT}")} preserveAspectRatio="none" aria-hidden="true"><path d={path} /></svg>
        }
    }
}

fn no_writes() -> Tile {
    let title = "99th percentile of writes";
    Tile {
        name: "Latency",
        value: "–".to_owned(),
        detail: "no client writes".to_owned(),
        title,
        tab: Tab::Latency,
        is_bad: false,
    }
}

/// What a provider charges a month, and for bytes between zones of it.
fn cost(report: &Report, provider: Option<&str>) -> Tile {
    let title = "Projected monthly cost: what runs and what it sends, for 730 h at the rates of this run";
    let (value, detail) = match report.provider(provider) {
        None => ("–".to_owned(), "no prices in the scenario".to_owned()),
        Some(provider) => {
            let of = |kind: Option<CostKind>| {
                let rows = report.cost.iter().filter(|row| row.provider == provider && kind.is_none_or(|kind| row.kind == kind));
                rows.map(|row| row.per_month_usd).sum::<f64>()
            };
            let between = format!("{} of it between zones", dollars(of(Some(CostKind::CrossZone))));
            (format!("{} a month", dollars(of(None))), between)
        }
    };
    Tile { name: "Cost", value, detail, title, tab: Tab::Cost, is_bad: false }
}

/// Whose bill it is.
fn chooser(report: &Report, provider: Option<&str>, dispatch: &Callback<Action>) -> Html {
    let Some(shown) = report.provider(provider).filter(|_| report.providers().count() > 1) else { return Html::default() };
    let onchange = dispatch.reform(|event: Event| {
        Action::Ui(UiAction::Provider(event.target_unchecked_into::<web_sys::HtmlSelectElement>().value()))
    });
    let option = |provider: &str| {
        html! { <option value={provider.to_owned()} selected={provider == shown}>{ report.provider_title(provider) }</option> }
    };
    html! { <select {onchange} aria-label="Provider" data-testid="tile-provider">{ for report.providers().map(option) }</select> }
}

/// For how long API servers took no writes, where there are any.
fn api(report: &Report) -> Option<Tile> {
    let down = report.api.values().filter(|api| is_down(api)).count();
    let longest = report.api.values().map(|api| api.write_unavailable_s).fold(0.0, f64::max);
    let value = match (down, report.api.len()) {
        (_, 0) => return None,
        (0, _) => "no outage".to_owned(),
        (_, 1) => format!("{} down", length(longest)),
        (_, of) => format!("{} of {} down", count(down as u64), count(of as u64)),
    };
    let detail = if down > 0 && report.api.len() > 1 { format!("for {} at most", length(longest)) } else { "writes".to_owned() };
    let title =
        "For how long API servers did not answer writes within the probe's deadline: the mean over resources and requests";
    Some(Tile { name: "API", value, detail, title, tab: Tab::Report, is_bad: down > 0 })
}

fn is_down(api: &ApiReport) -> bool {
    api.write_unavailable_s > 0.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use zonefall_core::run;
    use zonefall_core::scenario::{Scenario, bundled};
    use zonefall_core::sim::Options;

    fn report(name: &str) -> Report {
        let json = bundled().iter().find(|scenario| scenario.name == name).unwrap().json;
        let scenario = Arc::new(Scenario::from_json(json).unwrap());
        run::run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
    }

    #[test]
    fn an_outage_is_told_at_first_sight() {
        let report = report("zone-outage");
        assert_eq!(
            (quorum(&report).value, quorum(&report).detail),
            ("held".to_owned(), "1 failure tolerated, 0 at worst".to_owned())
        );
        let latency = WriteLatency::of(&report, &report.etcd["etcd-main"]).unwrap();
        let [before, during, after] = latency.parts();
        // The zone is dark from minute 1 to 31 of 35, in windows of 10 s.
        assert_eq!((before.len(), during.len(), after.len()), (6, 181, 23));
        let value = latency.tile().value;
        let three: Vec<&str> = value.split(" → ").collect();
        assert!(three.len() == 3 && three[0].ends_with("ms") && three[1].ends_with(" s"), "{value}");
        assert_eq!(api(&report), None);
        // Three m5.large for 730 h, three volumes of 25 GiB, and bytes between zones.
        let tile = cost(&report, None);
        assert_eq!((tile.value.as_str(), tile.detail.as_str()), ("$270.36 a month", "$29.43 of it between zones"));
    }

    #[test]
    fn what_is_lost_and_what_it_costs_are_summed_over_all() {
        let two = quorum(&report("two-zones-big"));
        assert!(two.is_bad && two.value.starts_with("lost for 10 min"), "{two:?}");
        let kube = report("plain-cluster");
        let tile = cost(&kube, Some("gcp"));
        let rows = kube.cost.iter().filter(|row| row.provider == "gcp");
        assert_eq!(tile.value, format!("{} a month", dollars(rows.map(|row| row.per_month_usd).sum())));
        let api = api(&kube).unwrap();
        assert!(api.is_bad && api.value.ends_with(" s down"), "{api:?}");
        let mut silent = kube.etcd["plain/etcd"].clone();
        assert!(WriteLatency::of(&kube, &silent).is_some());
        silent.latency.clear();
        assert!(WriteLatency::of(&kube, &silent).is_none());
    }
}
