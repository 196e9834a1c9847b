//! A topology of one's own: zones, members, how far apart, what they tolerate.

use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::Dialog;
use crate::form::build::{LONGEST_ROUND_TRIP, Size, Tolerance, build};
use crate::state::layout::layout;
use crate::state::{Action, DocumentAction, UiAction};
use crate::view::inspector::amount::lasts;

#[derive(Clone, PartialEq, Properties)]
pub(crate) struct NewTopologyProps {
    /// Where actions go.
    pub dispatch: Callback<Action>,
}

/// The dialog. What is chosen in it is its own; the scenario is another one when it is built.
#[component]
pub(crate) fn NewTopology(props: &NewTopologyProps) -> Html {
    let size = use_state_eq(Size::default);
    let round_trip = use_state_eq(String::new);
    let on_close = props.dispatch.reform(|()| Action::Ui(UiAction::NewTopology(false)));
    let read = lasts(&round_trip).and_then(|long| match long {
        Some(long) if long > LONGEST_ROUND_TRIP => Err("Use 2m at most".to_owned()),
        long => Ok(long),
    });
    let choice = |id: &'static str, label: &'static str, options: &[usize], value: usize, with: fn(Size, usize) -> Size| {
        let option = |n: &usize| html! { <option value={n.to_string()} selected={*n == value}>{ n }</option> };
        let options = options.iter().map(option).collect();
        select(id, label, options, &size, move |size, chosen| chosen.parse().map_or(size, |n| with(size, n)))
    };
    let tolerances = Tolerance::ALL.iter().map(|of| {
        html! { <option value={of.name()} selected={*of == size.tolerance}>{ of.label() }</option> }
    });
    let tolerances = select("new-tolerance", "Failure tolerance", tolerances.collect(), &size, |size, chosen| {
        let tolerance = Tolerance::ALL.into_iter().find(|of| of.name() == chosen).unwrap_or(size.tolerance);
        Size { tolerance, ..size }
    });
    let oninput = {
        let set = round_trip.setter();
        move |event: InputEvent| set.set(event.target_unchecked_into::<HtmlInputElement>().value())
    };
    let onsubmit = {
        let (dispatch, size, read) = (props.dispatch.clone(), *size, read.clone());
        move |event: SubmitEvent| {
            event.prevent_default();
            if let Ok(round_trip) = read {
                dispatch.emit(Action::Ui(UiAction::NewTopology(false)));
                let text = layout(&build(Size { round_trip, ..size }));
                dispatch.emit(Action::Document(DocumentAction::Open(text)));
            }
        }
    };
    let wrong = read.err();
    html! {
        <Dialog label="New topology" testid="new-topology-dialog" {on_close}>
            <h2>{ "New topology" }</h2>
            <form class="new-topology" autocomplete="off" {onsubmit}>
                { choice("new-regions", "Regions", &[1, 2, 3], size.regions, |size, regions| Size { regions, ..size }) }
                { choice("new-zones", "Zones per region", &[1, 2, 3, 4, 5], size.zones, |size, zones| Size { zones, ..size }) }
                { choice("new-members", "etcd members", &[1, 3, 5, 7], size.members, |size, members| Size { members, ..size }) }
                <div class="field">
                    <label for="new-round-trip">{ "Round trip between zones" }</label>
                    <input id="new-round-trip" type="text" spellcheck="false" placeholder="1.1ms" value={(*round_trip).clone()} {oninput}
                        aria-invalid={wrong.is_some().then_some("true")} aria-describedby={wrong.is_some().then_some("new-round-trip-wrong")}
                        data-testid="new-round-trip" />
                    if let Some(wrong) = &wrong { <p id="new-round-trip-wrong" class="bad wrong" role="alert">{ wrong }</p> }
                </div>
                <div class="wide">{ tolerances }</div>
                <p class="wide" role="status" data-testid="new-outcome">{ size.outcome() }</p>
                <p class="wide quiet">{ "It replaces the scenario that is open; Undo brings that back. After a minute the leader's zone or node fails for five minutes." }</p>
                <button type="submit" class="primary wide" disabled={wrong.is_some()} data-testid="new-build">{ "Create" }</button>
            </form>
        </Dialog>
    }
}

/// A list to choose from; `with` puts what was chosen into the size.
fn select(
    id: &'static str,
    label: &'static str,
    options: Html,
    size: &UseStateHandle<Size>,
    with: impl Fn(Size, &str) -> Size + 'static,
) -> Html {
    let size = size.clone();
    let onchange = move |event: Event| size.set(with(*size, &event.target_unchecked_into::<HtmlSelectElement>().value()));
    html! {
        <div class="field">
            <label for={id}>{ label }</label>
            <select {id} data-testid={id} {onchange}>{ options }</select>
        </div>
    }
}
