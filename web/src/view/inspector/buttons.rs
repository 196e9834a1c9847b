//! What breaks and mends the selected thing: buttons, and fields for how much and how long.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gloo::events::EventListener;
use web_sys::HtmlInputElement;
use yew::prelude::*;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::scenario::fault::Amount;
use zonefall_core::scenario::{Scenario, text};

use super::amount::lasts;
use super::interventions::Offer;
use crate::engine::protocol::Intervention;
use crate::state::Action;
use crate::view::focus::{focus, focus_is_lost};
use crate::view::labels::clock;
use crate::view::same::Same;

#[derive(Clone, PartialEq, Properties)]
pub(super) struct InterventionsProps {
    pub(super) offers: Vec<Offer>,
    pub(super) scenario: Same<Scenario>,
    /// When it would happen.
    pub(super) at: Time,
    pub(super) dispatch: Callback<Action>,
}

/// What was written into the fields; it stays while other things are selected.
#[derive(Clone, Debug, Default, PartialEq)]
struct Written {
    lasts: String,
    amounts: BTreeMap<String, String>,
}

/// See the module.
#[component]
pub(super) fn Interventions(props: &InterventionsProps) -> Html {
    let InterventionsProps { offers, scenario, at, dispatch } = props;
    let written = use_state_eq(Written::default);
    let onfocusin = use_counterpart(offers);
    if offers.is_empty() {
        return Html::default();
    }
    let long = lasts(&written.lasts);
    let (repairs, breaks): (Vec<_>, Vec<_>) = offers.iter().partition(|offer| !offer.breaks);
    let (graded, plain): (Vec<_>, Vec<_>) = breaks.into_iter().partition(|offer| offer.amount().is_some());
    let on_lasts = {
        let written = written.clone();
        Callback::from(move |text| written.set(Written { lasts: text, ..(*written).clone() }))
    };
    let button = |offer: &&Offer, intervention: Result<Intervention, ()>| {
        let class = if offer.breaks { "intervention" } else { "intervention repair" };
        let label = match &long {
            Ok(Some(long)) if offer.id == "keep-stopped" => format!("Stop for {}", text::duration(*long)),
            _ => offer.label.clone(),
        };
        let disabled = intervention.is_err();
        let dispatch = dispatch.clone();
        let onclick = move |_: MouseEvent| {
            if let Ok(intervention) = &intervention {
                dispatch.emit(Action::Intervene(intervention.clone()));
            }
        };
        html! { <button key={offer.id.clone()} {class} {onclick} {disabled} title={offer.about} data-testid={format!("intervention-{}", offer.id)}>{ label }</button> }
    };
    let graded = graded.into_iter().filter_map(|offer| {
        let amount = offer.amount()?;
        let text = written.amounts.get(&offer.id).map_or(amount.usual, String::as_str);
        let intervention = with_amount(offer, amount, text, scenario);
        let oninput = {
            let (written, id) = (written.clone(), offer.id.clone());
            Callback::from(move |text| {
                let mut next = (*written).clone();
                next.amounts.insert(id.clone(), text);
                written.set(next);
            })
        };
        let whole = intervention.clone().map_err(|_| ()).and_then(|intervention| lasting(intervention, &long));
        let go = whole.clone().ok().map(|intervention| dispatch.reform(move |()| Action::Intervene(intervention.clone())));
        let id = format!("amount-{}", offer.id);
        Some(html! {
            <div key={offer.id.clone()} class="graded">
                { button(&offer, whole) }
                { field(&id, amount.label, "", text, intervention.err(), oninput, go) }
            </div>
        })
    });
    let breaks_any = offers.iter().any(|offer| offer.breaks);
    html! {
        <div class="interventions" role="group" aria-label={format!("Inject or repair a fault, at {}", clock(*at, 3))} {onfocusin} data-testid="interventions">
            <div class="repairs">{ for repairs.iter().map(|offer| button(offer, Ok(offer.intervention.clone()))) }</div>
            <div class="plain">{ for plain.iter().map(|offer| button(offer, lasting(offer.intervention.clone(), &long))) }</div>
            <div class="grades">{ for graded }</div>
            if breaks_any {
                <div class="lasting">
                    <label for="intervention-lasts">{ "for" }</label>
                    { field("intervention-lasts", "Duration; empty: until repaired", "until repaired", &written.lasts, long.clone().err(), on_lasts, None) }
                </div>
            }
        </div>
    }
}

/// The button of an intervention that is done goes away: the focus it had goes to what undoes it. Whoever has clicked elsewhere meanwhile is left
/// alone. Gives what hears which button has the focus.
#[hook]
fn use_counterpart(offers: &[Offer]) -> Callback<FocusEvent> {
    /// Whether the button that had the focus last is one that breaks.
    type Held = Rc<RefCell<Option<bool>>>;
    let held: Held = use_mut_ref(|| None);
    {
        let held = Rc::clone(&held);
        use_effect_with((), move |()| {
            let listener = EventListener::new(&gloo::utils::window(), "pointerdown", move |_| *held.borrow_mut() = None);
            move || drop(listener)
        });
    }
    {
        let held = Rc::clone(&held);
        use_effect_with(offers.to_vec(), move |_| {
            if !focus_is_lost() {
                return;
            }
            if let Some(breaks) = held.take() {
                focus(if breaks { ".interventions .repair" } else { ".interventions .intervention" });
            }
        });
    }
    Callback::from(move |event: FocusEvent| {
        let focused = event.target_dyn_into::<web_sys::Element>();
        let is = |element: &web_sys::Element, what| element.matches(what).unwrap_or(false);
        *held.borrow_mut() = focused.filter(|element| is(element, ".intervention")).map(|element| !is(&element, ".repair"));
    })
}

fn with_amount(offer: &Offer, amount: Amount, text: &str, scenario: &Scenario) -> Result<Intervention, String> {
    match &offer.intervention {
        Intervention::Inject { fault, lasts } => {
            Ok(Intervention::Inject { fault: amount.put_into(fault, text, scenario)?, lasts: *lasts })
        }
        other => Ok(other.clone()),
    }
}

/// The intervention for as long as the user says; a kill is over when the kubelet has restarted the process.
fn lasting(intervention: Intervention, long: &Result<Option<Duration>, String>) -> Result<Intervention, ()> {
    match (intervention, long) {
        (kill @ Intervention::Inject { lasts: Some(_), .. }, _) => Ok(kill),
        (Intervention::Inject { fault, .. }, Ok(lasts)) => Ok(Intervention::Inject { fault, lasts: *lasts }),
        (Intervention::Inject { .. }, Err(_)) => Err(()),
        (other, _) => Ok(other),
    }
}

/// A short field, what is wrong with it beneath; the Enter key does what the button beside it does.
fn field(
    id: &str,
    name: &'static str,
    hint: &'static str,
    text: &str,
    wrong: Option<String>,
    set: Callback<String>,
    go: Option<Callback<()>>,
) -> Html {
    let oninput = set.reform(|event: InputEvent| event.target_unchecked_into::<HtmlInputElement>().value());
    let onkeydown = move |event: KeyboardEvent| {
        if event.key() == "Enter"
            && let Some(go) = &go
        {
            event.prevent_default();
            go.emit(());
        }
    };
    let about = format!("{id}-wrong");
    let invalid = wrong.is_some().then_some("true");
    html! {
        <>
            <input id={id.to_owned()} class="amount" type="text" autocomplete="off" spellcheck="false" aria-label={name} title={name} placeholder={hint}
                value={text.to_owned()} aria-invalid={invalid} aria-describedby={wrong.is_some().then(|| about.clone())} {oninput} {onkeydown}
                data-testid={id.to_owned()} />
            if let Some(wrong) = wrong { <p id={about} class="bad wrong" role="alert">{ wrong }</p> }
        </>
    }
}
