//! What all selectable things of the map share: how they are chosen, and the ring that shows it.

use yew::prelude::*;

use super::element_id;
use super::layout::Rect;
use super::shapes::px;
use crate::state::{Action, Panel, Selection, UiAction};

/// What every selectable thing needs.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct Pick {
    /// What it is.
    pub is: Selection,
    /// Whether it is selected.
    pub selected: bool,
    /// Whether the tabulator stops here: one thing of the map at a time.
    pub stop: bool,
    /// Whether the inspector is a sheet, which comes up when it is chosen.
    pub sheet: bool,
    /// What to do when it is chosen.
    pub dispatch: Callback<Action>,
}

impl Pick {
    /// A group that can be chosen; `name` says what a sighted person sees.
    pub(crate) fn wrap(&self, class: Classes, name: String, testid: String, inside: Html) -> Html {
        let (is, sheet, dispatch) = (self.is, self.sheet, self.dispatch.clone());
        let onclick = move |event: MouseEvent| {
            event.stop_propagation();
            dispatch.emit(Action::Select(Some(is)));
            if sheet {
                dispatch.emit(Action::Ui(UiAction::Sheet(Some(Panel::Inspector))));
            }
        };
        html! {
            <g id={element_id(is)} class={classes!("item", class, self.selected.then_some("selected"))} role="button"
                tabindex={if self.stop { "0" } else { "-1" }} aria-label={name} aria-pressed={self.selected.to_string()}
                data-testid={testid} {onclick}>{ inside }</g>
        }
    }
}

/// A box with the ring that shows focus and selection.
pub(crate) fn frame(rect: Rect, radius: f64) -> Html {
    let Rect { x, y, w, h } = rect;
    html! {
        <>
            <rect class="frame" x={px(x)} y={px(y)} width={px(w)} height={px(h)} rx={px(radius)} />
            <rect class="ring" x={px(x - 2.0)} y={px(y - 2.0)} width={px(w + 4.0)} height={px(h + 4.0)} rx={px(radius + 2.0)} />
        </>
    }
}
