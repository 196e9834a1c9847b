//! Small pictures on buttons, 16 pixels square, drawn with the text's colour.

use yew::prelude::*;

/// Which picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// ▶
    Play,
    /// Two bars.
    Pause,
    /// To the start.
    Home,
    /// To the end.
    End,
    /// One event back.
    StepBack,
    /// One event on.
    StepOn,
    /// To the event of interest before.
    JumpBack,
    /// To the next event of interest.
    JumpOn,
    /// Half light, half dark.
    Theme,
    /// A grid.
    Table,
    /// +
    Plus,
    /// −
    Minus,
    /// All of it.
    Fit,
    /// A line with a gap beneath it.
    Outage,
    /// An arrow up, and one down.
    Taller,
    /// ×
    Close,
    /// A fork in the road.
    Branch,
    /// Sliders: the scenario.
    Scenario,
    /// A lens.
    Inspector,
    /// Three dots, joined.
    Share,
    /// An arrow down, to a line.
    Export,
    /// Three dots in a row.
    More,
}

/// The picture.
pub fn icon(which: Icon) -> Html {
    let (filled, stroked) = match which {
        Icon::Play => ("M4 2.5v11l9-5.5z", ""),
        Icon::Pause => ("M4 3h3v10h-3zM9 3h3v10h-3z", ""),
        Icon::Home => ("M3 3h2v10h-2zM13 3v10l-7-5z", ""),
        Icon::End => ("M11 3h2v10h-2zM3 3v10l7-5z", ""),
        Icon::StepBack => ("M10 4v8l-6-4zM11 4h1.5v8h-1.5z", ""),
        Icon::StepOn => ("M6 4v8l6-4zM3.500 4h1.5v8h-1.5z", ""),
        Icon::JumpBack => ("M8 3.500v9l-6-4.500zM14 3.500v9l-6-4.500z", ""),
        Icon::JumpOn => ("M2 3.500v9l6-4.500zM8 3.500v9l6-4.500z", ""),
        Icon::Theme => ("M8 2a6 6 0 0 1 0 12z", "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12z"),
        Icon::Table => ("", "M2.500 3.500h11v9h-11zM2.500 6.500h11M2.500 9.500h11M6.500 3.500v9"),
        Icon::Plus => ("", "M8 3.500v9M3.500 8h9"),
        Icon::Minus => ("", "M3.500 8h9"),
        Icon::Fit => ("", "M2 4v8M14 4v8M4.500 8h7M6.500 6l-2 2l2 2M9.500 6l2 2l-2 2"),
        Icon::Outage => ("", "M1.500 4.500h3.500v7h6v-7h3.500"),
        Icon::Taller => ("", "M8 2.500v11M5 5.500l3-3l3 3M5 10.500l3 3l3-3"),
        Icon::Close => ("", "M4 4l8 8M12 4l-8 8"),
        Icon::Scenario => ("", "M2 4.500h7M12.500 4.500h1.500M2 11.500h1.500M7 11.500h7M9 2.500v4h3v-4zM3.500 9.500v4h3v-4z"),
        Icon::Inspector => ("", "M7 2.500a4.500 4.500 0 1 0 0 9a4.500 4.500 0 1 0 0-9zM10.500 10.500l3.500 3.500"),
        Icon::Share => (
            "",
            "M6 7l4.500-2.500M6 9l4.500 2.500M4 6.300a1.700 1.700 0 1 0 .01 0zM12 2a1.700 1.700 0 1 0 .01 0zM12 10.600a1.700 1.700 0 1 0 .01 0z",
        ),
        Icon::Export => ("", "M8 2.500v7M5 6.500l3 3l3-3M3 13.500h10"),
        Icon::More => ("M2 6.750h2.500v2.500h-2.500zM6.750 6.750h2.500v2.500h-2.500zM11.500 6.750h2.500v2.500h-2.500z", ""),
        Icon::Branch => ("", "M5 2.500v11M5 9c0-3 6-1 6-5M9 5.500l2-2.500l2 2.500"),
    };
    html! {
        <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
            <path d={filled} /><path class="stroked" d={stroked} />
        </svg>
    }
}

/// What a button says: a word, or the picture where room is scarce (the word is still its name).
pub fn worded(which: Icon, word: &'static str) -> Html {
    html! { <>{ icon(which) }<span class="word">{ word }</span></> }
}
