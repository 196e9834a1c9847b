//! The scenario's panel in the page, kept from being drawn sixty times a second: it does not show the playhead.

use std::rc::Rc;

use yew::prelude::*;

use super::same::Same;
use crate::form::Configure;
use crate::state::{Action, State};

/// What the panel is given.
#[derive(Clone, Properties)]
pub(crate) struct SlotProps {
    pub state: Same<State>,
    pub dispatch: Callback<Action>,
}

impl PartialEq for SlotProps {
    /// Whether the panel would look the same: the document, how it is shown, and how its expectations fared.
    fn eq(&self, other: &Self) -> bool {
        let fared = |state: &State| state.branch().map(|b| (b.report.as_ref().map(Rc::as_ptr), b.done, b.fork.is_none()));
        let (a, b) = (&self.state, &other.state);
        Rc::ptr_eq(&a.document, &b.document)
            && a.ui.as_json == b.ui.as_json
            && fared(a) == fared(b)
            && self.dispatch == other.dispatch
    }
}

/// See the module.
#[component]
pub(crate) fn Slot(props: &SlotProps) -> Html {
    html! { <Configure state={Rc::clone(&props.state.0)} dispatch={props.dispatch.clone()} /> }
}
