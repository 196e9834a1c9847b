//! The selected thing: what it is now, what can be done to it, what happened to it and what will.

mod access;
pub mod amount;
mod buttons;
mod facts;
pub mod interventions;
mod objects;
mod pending;
mod suggestions;

use yew::prelude::*;
use zonefall_core::kernel::time::Time;
use zonefall_core::report::{Report, StoryLine};
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::view::SimulationView;

use super::kind;
use super::labels::{clock, moment};
use super::same::Same;
use crate::state::{Action, PlaybackCommand, Selection};
use buttons::Interventions;
use facts::{facts, heading, is_about};

/// Name, value, and the class of its colour.
type Fact = (&'static str, String, &'static str);

/// Events shown before and after now.
const FEW: usize = 4;

/// What the inspector shows.
#[derive(Clone, PartialEq, Properties)]
pub struct InspectorProps {
    /// The world.
    pub scenario: Option<Same<Scenario>>,
    /// The world at a moment.
    pub view: Option<Same<SimulationView>>,
    /// What knows what happens.
    pub report: Option<Same<Report>>,
    /// What is selected.
    pub selection: Option<Selection>,
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// The panel.
#[component]
pub fn Inspector(props: &InspectorProps) -> Html {
    let InspectorProps { scenario, view, report, selection, dispatch } = props;
    let (Some(scenario), Some(view), Some(is)) = (scenario, view, *selection) else {
        return html! {
            <div class="inspector-empty" data-testid="inspector-empty">
                <h2>{ "Nothing selected" }</h2>
                <p class="quiet">{ "Select a zone, node, member, link or client on the map to see its state and to inject faults: use the pointer, or \
                    Tab and the arrow keys." }</p>
                if let (Some(scenario), Some(view)) = (scenario, view) { { suggestions::section(scenario, view, report.as_deref(), dispatch) } }
                <p class="quiet">{ "A fault starts at the playhead, on a new branch; U returns to the parent branch." }</p>
            </div>
        };
    };
    let (title, kind) = heading(is, scenario);
    let rows = facts(is, scenario, view, report.as_deref()).into_iter().map(|(name, value, tone)| {
        html! { <><dt>{ name }</dt><dd class={tone}>{ value }</dd></> }
    });
    html! {
        <div class="inspector" id="inspected" tabindex="-1" data-testid="inspector">
            <h2>{ title }<span class="kind">{ kind }</span></h2>
            <dl class="facts">{ for rows }</dl>
            { access::members(is, scenario, view, dispatch) }
            { pending::panel(is, scenario, view, report.as_deref()) }
            <Interventions offers={interventions::offers(is, scenario, view, report.as_deref())} scenario={scenario.clone()} at={view.at} dispatch={dispatch.clone()} />
            if let Some(report) = report { { events_about(is, scenario, report, view.at, dispatch) } }
        </div>
    }
}

/// The last lines of the story that are about the thing, and the next ones.
fn events_about(is: Selection, scenario: &Scenario, report: &Report, now: Time, dispatch: &Callback<Action>) -> Html {
    let about: Vec<&StoryLine> = report.story.iter().filter(|line| is_about(line, is, scenario)).collect();
    let next = about.partition_point(|line| moment(line.at_s) <= now);
    let item = |line: &&StoryLine| {
        let at = moment(line.at_s);
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(at)));
        html! { <li><button class="line" {onclick}>{ kind::glyph(line) }<time>{ clock(at, 3) }</time><span>{ &line.text }</span></button></li> }
    };
    let list = |title: &str, lines: &[&StoryLine]| {
        html! {
            <>
                <h3>{ title }</h3>
                if lines.is_empty() { <p class="quiet">{ "nothing" }</p> } else { <ol class="lines">{ for lines.iter().map(item) }</ol> }
            </>
        }
    };
    html! {
        <>
            { list("Last", &about[next.saturating_sub(FEW)..next]) }
            { list("Next", &about[next..about.len().min(next + FEW)]) }
        </>
    }
}
