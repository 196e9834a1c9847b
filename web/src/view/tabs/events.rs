//! What happened, in plain words: a list with a filter. Only the lines in sight are in the page.

use std::collections::BTreeSet;

use web_sys::{HtmlElement, HtmlInputElement};
use yew::prelude::*;
use zonefall_core::report::{Report, StoryKind, StoryLine};

use crate::state::{Action, PlaybackCommand, UiAction};
use crate::view::kind;
use crate::view::labels::{clock, moment};
use crate::view::map::shapes::px;
use crate::view::same::Same;
use crate::view::size::use_size;
use zonefall_core::scenario::text::count;

/// Finds the field that the filter is typed into.
pub(crate) const FILTER_FIELD: &str = "#filter-field";

/// Height of a line in pixels, before one is measured.
const LINE: f64 = 28.0;
/// Lines above and below what is in sight.
const MORE: usize = 6;

/// What the list shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct EventsProps {
    pub report: Same<Report>,
    /// Lines of the story up to the playhead.
    pub current: usize,
    pub filter: String,
    /// Kinds that are listed; none: all are.
    pub kinds: BTreeSet<StoryKind>,
    pub dispatch: Callback<Action>,
}

/// The list.
#[component]
pub(crate) fn Events(props: &EventsProps) -> Html {
    let EventsProps { report, current, filter, kinds, dispatch } = props;
    let node = use_node_ref();
    let (_, height) = use_size(&node);
    let line_height = use_state_eq(|| LINE);
    let high = *line_height;
    let top = use_state_eq(|| 0.0_f64);
    let words: Vec<String> = filter.split_whitespace().map(str::to_ascii_lowercase).collect();
    let fits = |line: &StoryLine| {
        let text = line.text.to_ascii_lowercase();
        (kinds.is_empty() || kinds.contains(&line.kind)) && words.iter().all(|word| text.contains(word))
    };
    let found: Vec<usize> = (0..report.story.len()).filter(|&i| fits(&report.story[i])).collect();
    let now = found.partition_point(|&i| i < *current).checked_sub(1);
    {
        let node = node.clone();
        // A finger needs higher lines than a pointer.
        use_effect_with((height, found.is_empty()), move |_| {
            if let Some(line) = node.cast::<HtmlElement>().and_then(|list| list.query_selector("li").ok().flatten()) {
                line_height.set(f64::from(line.client_height().max(1)));
            }
        });
    }
    {
        let node = node.clone();
        use_effect_with(now, move |now| {
            if let (Some(list), Some(now)) = (node.cast::<HtmlElement>(), *now) {
                show(&list, now, high);
            }
        });
    }
    let first = (*top / high) as usize;
    let last = found.len().min(first + (height / high) as usize + 2 + MORE);
    let first = first.saturating_sub(MORE).min(last);
    let onscroll = {
        let top = top.clone();
        move |event: Event| top.set(f64::from(event.target_unchecked_into::<HtmlElement>().scroll_top()))
    };
    let line = |place: usize| {
        let line = &report.story[found[place]];
        let at = moment(line.at_s);
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Playback(PlaybackCommand::Seek(at)));
        let current = (Some(place) == now).then_some("true");
        html! {
            <li key={place} class={classes!(now.is_some_and(|now| place > now).then_some("ahead"))} aria-setsize={found.len().to_string()}
                aria-posinset={(place + 1).to_string()}>
                <button class="line" {onclick} aria-current={current} data-testid="event">{ kind::glyph(line) }<time>{ clock(at, 3) }</time><span>{ &line.text }</span></button>
            </li>
        }
    };
    let spacer =
        |lines: usize| html! { <svg class="spacer" width="1" height={px(lines as f64 * high)} aria-hidden="true"></svg> };
    let omitted =
        if report.story_omitted > 0 { format!(" · {} more not kept", count(report.story_omitted)) } else { String::new() };
    html! {
        <div class="events">
            <div class="events-bar">
                { filter_field(filter, dispatch) }
                { chips(report, kinds, dispatch) }
                <span class="quiet" role="status" data-testid="event-count">{ format!("{} of {}{omitted}", found.len(), report.story.len()) }</span>
            </div>
            <div class="events-list" ref={node} {onscroll} tabindex="0" role="region" aria-label="Events" data-testid="events">
                { spacer(first) }
                <ol>{ for (first..last).map(line) }</ol>
                { spacer(found.len() - last) }
            </div>
        </div>
    }
}

/// Scrolls as little as brings a line into sight.
fn show(list: &HtmlElement, place: usize, high: f64) {
    let (from, room) = (f64::from(list.scroll_top()), f64::from(list.client_height()));
    let top = place as f64 * high;
    if top < from || top + high > from + room {
        list.set_scroll_top((top - room / 2.0).max(0.0) as i32);
    }
}

/// A switch for each kind of event there is.
fn chips(report: &Report, kinds: &BTreeSet<StoryKind>, dispatch: &Callback<Action>) -> Html {
    let mut there = kinds.clone();
    there.extend(report.story.iter().map(|line| line.kind));
    let chip = |which: StoryKind| {
        let (sign, name) = kind::of(which);
        let onclick = dispatch.reform(move |_: MouseEvent| Action::Ui(UiAction::Kind(which)));
        let id = format!("kind-{}", name.to_ascii_lowercase().replace(' ', "-"));
        html! {
            <button class="chip" {onclick} aria-pressed={kinds.contains(&which).to_string()} data-testid={id}>
                <span aria-hidden="true">{ sign }</span>{ name }
            </button>
        }
    };
    html! { <div class="chips" role="group" aria-label="Kinds of events">{ for there.into_iter().map(chip) }</div> }
}

fn filter_field(filter: &str, dispatch: &Callback<Action>) -> Html {
    let oninput = dispatch
        .reform(|event: InputEvent| Action::Ui(UiAction::Filter(event.target_unchecked_into::<HtmlInputElement>().value())));
    let onkeydown = |event: KeyboardEvent| {
        if event.key() == "Escape" {
            // A field that keeps the focus does no harm.
            let _ = event.target_unchecked_into::<HtmlInputElement>().blur();
        }
    };
    html! {
        <input id={&FILTER_FIELD[1..]} type="search" placeholder="Filter events ( / )" aria-label="Filter events" autocomplete="off"
            spellcheck="false" value={filter.to_owned()} {oninput} {onkeydown} data-testid="filter" />
    }
}
