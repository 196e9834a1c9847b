//! Play, pause, step, jump, speed, and the time, which can be typed over.

use web_sys::HtmlInputElement;
use yew::prelude::*;
use zonefall_core::kernel::time::Time;

use crate::state::{Action, PlaybackCommand};
use crate::view::icon::{Icon, icon};
use crate::view::labels::{clock, parse_moment};

/// The usual speeds, in simulated seconds per second.
pub(crate) const SPEEDS: [f64; 17] =
    [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0];

/// Finds the field that the time is typed into.
pub(crate) const TIME_FIELD: &str = "#time-field";

/// What the row shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct TransportProps {
    pub at: Time,
    pub end: Time,
    pub playing: bool,
    pub speed: f64,
    /// What is not simulated to its end.
    pub progress: Option<Progress>,
    pub arrived: bool,
    pub dispatch: Callback<Action>,
}

/// The row of buttons.
#[component]
pub(crate) fn Transport(props: &TransportProps) -> Html {
    let TransportProps { at, end, playing, speed, progress, arrived, dispatch } = props.clone();
    let play_on = dispatch.reform(|_: MouseEvent| Action::Playback(PlaybackCommand::PlayOn));
    html! {
        <div class="transport">
            <Buttons {playing} dispatch={dispatch.clone()} />
            <Speed {speed} dispatch={dispatch.clone()} />
            <TimeField {at} {speed} dispatch={dispatch.clone()} />
            <span class="of quiet">{ format!("of {}", clock(end, 0)) }</span>
            if arrived {
                <button class="play-on" onclick={play_on} title="Play to the next event of interest" data-testid="play-on">{ "Play on" }</button>
            }
            if let Some(progress) = progress { <Simulating ..SimulatingProps { progress, end, dispatch } /> }
        </div>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct ButtonsProps {
    playing: bool,
    dispatch: Callback<Action>,
}

#[component]
fn Buttons(props: &ButtonsProps) -> Html {
    let button = |which: Icon, command: PlaybackCommand, name: &'static str, keys: &'static str, id: &'static str| {
        let onclick = props.dispatch.reform(move |_: MouseEvent| Action::Playback(command.clone()));
        html! {
            <button class={classes!("tool", id)} {onclick} aria-label={name} title={format!("{name} ({keys})")} data-testid={id}>{ icon(which) }</button>
        }
    };
    let (play, name) = if props.playing { (Icon::Pause, "Pause") } else { (Icon::Play, "Play") };
    html! {
        <div class="buttons" role="group" aria-label="Playback">
            { button(Icon::Home, PlaybackCommand::Home, "To the start", "Home", "home") }
            { button(Icon::JumpBack, PlaybackCommand::Jump(false), "Previous event of interest", "Shift+←", "jump-back") }
            { button(Icon::StepBack, PlaybackCommand::Step(false), "Previous event", "←", "step-back") }
            { button(play, PlaybackCommand::Toggle, name, "Space", "play") }
            { button(Icon::StepOn, PlaybackCommand::Step(true), "Next event", "→", "step-on") }
            { button(Icon::JumpOn, PlaybackCommand::Jump(true), "Next event of interest", "Shift+→", "jump-on") }
            { button(Icon::End, PlaybackCommand::End, "To the end", "End", "end") }
        </div>
    }
}

#[derive(Clone, PartialEq, Properties)]
struct SpeedProps {
    speed: f64,
    dispatch: Callback<Action>,
}

#[component]
fn Speed(props: &SpeedProps) -> Html {
    let onchange = props.dispatch.reform(|event: Event| {
        let value = event.target_unchecked_into::<web_sys::HtmlSelectElement>().value();
        Action::Playback(PlaybackCommand::Speed(serde_json::from_str(&value).unwrap_or(1.0)))
    });
    let own = (!SPEEDS.contains(&props.speed)).then_some(props.speed);
    let option = |speed: f64| {
        html! { <option value={speed.to_string()} selected={(speed - props.speed).abs() < f64::EPSILON}>{ words(speed) }</option> }
    };
    html! {
        <label class="speed">
            <span class="unseen">{ "Speed" }</span>
            <select {onchange} title="Speed ([ and ])" data-testid="speed">{ for SPEEDS.into_iter().chain(own).map(option) }</select>
        </label>
    }
}

/// A speed as it is said: `0.001x`, `1,000x`.
fn words(speed: f64) -> String {
    if speed >= 1.0 {
        format!("{}x", zonefall_core::scenario::text::count(speed.round() as u64))
    } else {
        format!("{}x", (speed * 1e4).round() / 1e4)
    }
}

#[derive(Clone, PartialEq, Properties)]
struct TimeFieldProps {
    at: Time,
    speed: f64,
    dispatch: Callback<Action>,
}

#[component]
fn TimeField(props: &TimeFieldProps) -> Html {
    let typed = use_state_eq(|| None::<String>);
    let shown = clock(props.at, if props.speed < 0.1 { 6 } else { 3 });
    let value = (*typed).clone().unwrap_or_else(|| shown.clone());
    let bad = typed.as_ref().is_some_and(|text| parse_moment(text).is_none());
    let onfocus = {
        let typed = typed.clone();
        move |event: FocusEvent| {
            typed.set(Some(shown.clone()));
            event.target_unchecked_into::<HtmlInputElement>().select();
        }
    };
    let oninput = {
        let typed = typed.clone();
        move |event: InputEvent| typed.set(Some(event.target_unchecked_into::<HtmlInputElement>().value()))
    };
    let onblur = {
        let typed = typed.clone();
        move |_| typed.set(None)
    };
    let onkeydown = {
        let dispatch = props.dispatch.clone();
        move |event: KeyboardEvent| {
            let field = event.target_unchecked_into::<HtmlInputElement>();
            let done = match event.key().as_str() {
                "Enter" => {
                    parse_moment(&field.value()).map(|at| dispatch.emit(Action::Playback(PlaybackCommand::Seek(at)))).is_some()
                }
                "Escape" => true,
                _ => false,
            };
            if done {
                event.prevent_default();
                // A field that keeps the focus does no harm.
                let _ = field.blur();
            }
        }
    };
    html! {
        <input class="time" id={&TIME_FIELD[1..]} type="text" inputmode="text" autocomplete="off" spellcheck="false" aria-label="Time; type a time to go to it"
            title="Go to a time (G)" aria-invalid={bad.to_string()} {value} {onfocus} {oninput} {onblur} {onkeydown} data-testid="time" />
    }
}

/// How far a branch is simulated that is not at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated up to here.
    pub now: Time,
    /// Simulated seconds per second; `None`: nothing is known of it yet.
    pub rate: Option<f64>,
    /// The user has stopped it.
    pub halted: bool,
}

#[derive(Clone, PartialEq, Properties)]
struct SimulatingProps {
    progress: Progress,
    end: Time,
    dispatch: Callback<Action>,
}

/// Progress in simulated time, its rate, and how to stop it or go on. The style sheet shows it after a second: most runs take less.
#[component]
fn Simulating(props: &SimulatingProps) -> Html {
    let SimulatingProps { progress: Progress { now, rate, halted }, end, dispatch } = props;
    let percent = (100.0 * now.as_secs_f64() / end.as_secs_f64().max(1e-9)).floor();
    let word = if *halted { "Stopped at" } else { "Simulating" };
    let rate = rate.filter(|_| !halted).map_or_else(String::new, |rate| format!(" at {}", words(rate)));
    let latest = dispatch.reform(|_: MouseEvent| Action::Playback(PlaybackCommand::End));
    let halt = {
        let halted = *halted;
        dispatch.reform(move |_: MouseEvent| Action::Halt(!halted))
    };
    let title = format!("{} of {} simulated{rate}: go to the latest moment", clock(*now, 0), clock(*end, 0));
    html! {
        <span class="simulating" data-testid="simulating">
            <button onclick={latest} {title}>{ format!("{word} {percent} %{rate}") }</button>
            <button onclick={halt} data-testid="halt">{ if *halted { "Go on" } else { "Cancel" } }</button>
        </span>
    }
}
