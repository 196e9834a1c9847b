//! What happened, in a few sentences; every moment in them is a way there.

use yew::prelude::*;
use zonefall_core::report::{ComponentReport, OutageKind, Paragraph, Phrase, Report};
use zonefall_core::scenario::text::count;

use super::labels::{clock, length, moment};
use super::same::Same;
use super::size::use_size;

/// What the verdict is about.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct VerdictProps {
    /// The report so far.
    pub report: Option<Same<Report>>,
    /// Whether somebody intervened: the scenario's expectations are of what it says itself.
    pub forked: bool,
    /// Whether there is a scenario to have one about.
    pub loaded: bool,
    /// Whether it is final.
    pub done: bool,
    /// Whether the simulator has stopped, and waits for the user.
    pub stopped: bool,
    /// Why the branch was given up.
    pub gave_up: Option<String>,
    /// A moment is to be seen: the cluster it is of, and when, in seconds.
    pub on_visit: Callback<(String, f64)>,
}

/// The first sentence large, the others after it.
#[component]
pub(crate) fn Verdict(props: &VerdictProps) -> Html {
    let parts = props.report.as_ref().map(|report| report.verdict_parts()).unwrap_or_default();
    let several = parts.len() > 1;
    // Where there is Kubernetes, its APIs and pods come first, and clusters of etcd that did well are one sentence.
    let kube = props.report.as_ref().filter(|report| !report.api.is_empty());
    let (of_etcd, of_kube): (Vec<_>, Vec<_>) = parts.iter().partition(|paragraph| paragraph.about_etcd);
    let is_well = |paragraph: &&Paragraph| kube.is_some_and(|report| did_well(report, &paragraph.cluster));
    let all_etcd = of_etcd.len();
    let (well, parts_told): (Vec<_>, Vec<_>) = of_etcd.into_iter().partition(is_well);
    // Of many control planes there is one paragraph, which speaks of their etcd clusters, too.
    let summed_up = kube.is_some_and(|report| report.api.len() > of_kube.len());
    let told = if summed_up || kube.is_some() && parts_told.len() > MOST_TOLD { 0 } else { parts_told.len() };
    let paragraph = |paragraph: &Paragraph| {
        let (first, rest) = paragraph.sentences.split_first().map_or((&[][..], &[][..]), |(f, r)| (f.as_slice(), r));
        html! {
            <div class="verdict-cluster">
                <p class="headline">
                    if several { <span class="cluster-name">{ &paragraph.cluster }</span>{ " " } }
                    { sentence(first, &paragraph.cluster, &props.on_visit) }
                </p>
                <p class="more">{ for rest.iter().map(|s| html! { <>{ sentence(s, &paragraph.cluster, &props.on_visit) }{ " " }</> }) }</p>
            </div>
        }
    };
    let (body, overflows, is_open) = (use_node_ref(), use_state_eq(|| false), use_state_eq(|| false));
    // Another size is another drawing, after which it is measured again.
    let _ = use_size(&body);
    {
        let (body, overflows, is_open) = (body.clone(), overflows.setter(), *is_open);
        use_effect(move || {
            // Open, it has all the room it needs, and the way back stays.
            if let Some(body) = body.cast::<web_sys::Element>().filter(|_| !is_open) {
                overflows.set(body.scroll_height() > body.client_height() + 4);
            }
        });
    }
    let toggle = {
        let is_open = is_open.clone();
        move |_: MouseEvent| is_open.set(!*is_open)
    };
    let failed = props.report.as_ref().filter(|_| !props.forked).map_or(0, |r| r.expectations.iter().filter(|e| !e.ok).count());
    html! {
        <section class={classes!("verdict", is_open.then_some("open"))} aria-label="Verdict" data-testid="verdict">
            <div class="verdict-body" ref={body} tabindex={overflows.then_some("0")}>
            if let Some(why) = &props.gave_up { <p class="gave-up bad" role="alert" data-testid="gave-up">{ format!("✕ Aborted: {why}") }</p> }
            if parts.is_empty() {
                <p class="headline quiet">{ waits(props) }</p>
            } else {
                { headlines(props.report.as_deref()) }
                { for of_kube.into_iter().map(paragraph) }
                if let Some(report) = kube { { of_pods(report) } }
                { for parts_told[..told].iter().copied().map(paragraph) }
                if let Some(report) = kube.filter(|_| !summed_up && told < parts_told.len()) { { troubled(report, parts_told.len()) } }
                if !summed_up { { others(well.len(), all_etcd) } }
                // Of one provider the tile says it.
                if let Some(month) = props.report.as_ref().filter(|report| report.providers().count() > 1).and_then(|report| report.month()) { <p class="more" data-testid="month">{ month }</p> }
            }
            if !props.done && !parts.is_empty() && props.gave_up.is_none() { <p class="so-far quiet" data-testid="so-far">{ preliminary(props.stopped) }</p> }
            if failed > 0 { <p class="bad" data-testid="expectations-failed">{ format!("✕ {failed} of the scenario's expectations not met") }</p> }
            </div>
            if *overflows {
                <button class="verdict-more" onclick={toggle} aria-expanded={is_open.to_string()} data-testid="verdict-more">
                    { if *is_open { "Less" } else { "More" } }
                </button>
            }
        </section>
    }
}

/// Why there is no verdict yet.
fn waits(props: &VerdictProps) -> &'static str {
    match (props.loaded, props.stopped) {
        (false, _) => "Choose or build a scenario, and inject a fault.",
        (true, false) => "Simulating …",
        (true, true) => "Not simulated: the simulator has stopped.",
    }
}

fn preliminary(stopped: bool) -> &'static str {
    if stopped { "Preliminary: the simulator has stopped." } else { "Preliminary: the simulation is still running." }
}

/// Clusters that have paragraphs of their own beside pods.
const MOST_TOLD: usize = 2;

/// Whether there is nothing to tell of a cluster of etcd.
fn did_well(report: &Report, cluster: &str) -> bool {
    report.etcd.get(cluster).is_some_and(|etcd| etcd.outages.is_empty() && etcd.rpo.lost_entries == 0)
}

/// What is not there at all, and what became of workloads: the worst large.
fn headlines(report: Option<&Report>) -> Html {
    let sentences = report.map(Report::headlines).unwrap_or_default();
    sentences.split_first().map_or_else(Html::default, |(first, rest)| {
        html! {
            <div class="verdict-cluster">
                <p class="headline bad" data-testid="verdict-headline">{ first }</p>
                { for rest.iter().map(|text| html! { <p class="more">{ text }</p> }) }
            </div>
        }
    })
}

/// What became of the pods.
fn of_pods(report: &Report) -> Html {
    let sum = |count: fn(&ComponentReport) -> u64| report.components.iter().map(count).sum::<u64>();
    let (lost, back) = (sum(|c| c.lost), sum(|c| c.recovered));
    let longest = report.recovery.iter().filter(|r| r.completed).map(|r| r.duration_s).fold(0.0, f64::max);
    let (headline, rest) = match (lost, lost - back) {
        (0, _) => ("No pod was lost.".to_owned(), String::new()),
        (_, 0) => (format!("{} lost; all recovered.", pods(lost)), String::new()),
        (_, stays) => {
            (format!("{} lost; {back} recovered.", pods(lost)), format!("{} did not recover before the end. ", pods(stays)))
        }
    };
    let longest = if back > 0 { format!("The slowest recovery took {}.", length(longest)) } else { String::new() };
    html! {
        <div class="verdict-cluster">
            <p class="headline" data-testid="verdict-pods">{ headline }</p>
            <p class="more">{ rest }{ longest }</p>
        </div>
    }
}

fn pods(count: u64) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

/// What is said of clusters of etcd that are too many to tell of each.
fn troubled(report: &Report, troubled: usize) -> Html {
    let lost: u64 = report.etcd.values().map(|etcd| etcd.rpo.lost_entries).sum();
    let outages = report.etcd.values().flat_map(|etcd| &etcd.outages).filter(|o| o.kind == OutageKind::Write);
    let longest = outages.map(|o| o.unavailable_s).fold(0.0, f64::max);
    let lost = if lost > 0 { format!(" and {} committed entries lost", count(lost)) } else { String::new() };
    let text = format!(
        "{troubled} of {} etcd clusters had outages, with writes unavailable for {} at most{lost}.",
        report.etcd.len(),
        length(longest)
    );
    html! { <p class="more">{ text }</p> }
}

/// What is said of clusters of etcd that did well.
fn others(well: usize, all: usize) -> Html {
    let which = match well {
        0 => return Html::default(),
        1 if all == 1 => "etcd".to_owned(),
        _ if well == all => format!("all {all} etcd clusters"),
        _ => format!("{well} of {all} etcd clusters"),
    };
    html! { <p class="more">{ format!("Writes and linearizable reads of {which} were always available, and nothing was lost.") }</p> }
}

fn sentence(phrases: &[Phrase], cluster: &str, on_visit: &Callback<(String, f64)>) -> Html {
    let phrase = |phrase: &Phrase| match phrase.at_s {
        None => html! { { &phrase.text } },
        Some(at_s) => {
            let cluster = cluster.to_owned();
            let onclick = on_visit.reform(move |_: MouseEvent| (cluster.clone(), at_s));
            let title = format!("go to {}", clock(moment(at_s), 3));
            html! {
                <button class="moment" {onclick} title={title.clone()} aria-label={format!("{}, {title}", phrase.text)}
                    data-testid="verdict-moment">{ &phrase.text }</button>
            }
        }
    };
    phrases.iter().map(phrase).collect()
}
