//! What happened, in a few sentences; every moment in them is a way there.

use yew::prelude::*;
use zonefall_core::report::{Phrase, Report};

use super::same::Same;
use super::words::{clock, moment};

/// What the verdict is about.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct VerdictProps {
    /// The report so far.
    pub report: Option<Same<Report>>,
    /// Whether a deed was done: the scenario's expectations are of what it says itself.
    pub forked: bool,
    /// Whether there is a scenario to have one about.
    pub loaded: bool,
    /// Whether it is final.
    pub done: bool,
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
    let paragraphs = parts.iter().map(|paragraph| {
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
    });
    let failed = props.report.as_ref().filter(|_| !props.forked).map_or(0, |r| r.expectations.iter().filter(|e| !e.ok).count());
    html! {
        <section class="verdict" aria-label="Verdict" data-testid="verdict">
            if let Some(why) = &props.gave_up { <p class="gave-up bad" role="alert" data-testid="gave-up">{ format!("✕ Given up: {why}") }</p> }
            if parts.is_empty() {
                <p class="headline quiet">{ if props.loaded { "Simulating …" } else { "Choose a scenario, or build one, and break something in it." } }</p>
            } else {
                { for paragraphs }
            }
            if !props.done && !parts.is_empty() && props.gave_up.is_none() { <p class="so-far quiet" data-testid="so-far">{ "So far; the rest is being simulated." }</p> }
            if failed > 0 { <p class="bad" data-testid="expectations-failed">{ format!("✕ {failed} of the scenario's expectations not met") }</p> }
        </section>
    }
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
