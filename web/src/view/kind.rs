//! Kinds of events: a sign, a name and a tone each.

use yew::prelude::*;
use zonefall_core::report::{StoryKind, StoryLine};

/// Sign and name (of many) of a kind.
pub(crate) fn of(kind: StoryKind) -> (&'static str, &'static str) {
    match kind {
        StoryKind::Fault => ("✕", "Faults"),
        StoryKind::Election => ("★", "Elections"),
        StoryKind::Member => ("●", "Members"),
        StoryKind::Membership => ("±", "Membership"),
        StoryKind::Snapshot => ("⇣", "Databases"),
        StoryKind::Availability => ("◐", "Availability"),
        StoryKind::Loss => ("!", "Data loss"),
        StoryKind::Node => ("■", "Nodes"),
        StoryKind::Machine => ("▣", "Machines"),
        StoryKind::Pod => ("○", "Pods"),
    }
}

/// The sign before a line, in the tone of what it says.
pub(crate) fn glyph(line: &StoryLine) -> Html {
    html! { <i class={classes!("glyph", tone(line))} aria-hidden="true">{ of(line.kind).0 }</i> }
}

fn tone(line: &StoryLine) -> &'static str {
    match (line.kind, line.completed) {
        (StoryKind::Loss, _) | (StoryKind::Fault | StoryKind::Availability, false) => "bad",
        (StoryKind::Fault | StoryKind::Availability | StoryKind::Member | StoryKind::Node | StoryKind::Pod, true) => "good",
        (StoryKind::Member | StoryKind::Node | StoryKind::Pod, false) => "warn",
        (StoryKind::Election, true) => "lead",
        (StoryKind::Election | StoryKind::Membership | StoryKind::Snapshot | StoryKind::Machine, _) => "quiet",
    }
}
