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
    /// ×
    Close,
    /// A fork in the road.
    Branch,
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
        Icon::Close => ("", "M4 4l8 8M12 4l-8 8"),
        Icon::Branch => ("", "M5 2.500v11M5 9c0-3 6-1 6-5M9 5.500l2-2.500l2 2.500"),
    };
    html! {
        <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
            <path d={filled} /><path class="stroked" d={stroked} />
        </svg>
    }
}
