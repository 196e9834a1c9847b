//! Fields: labels, inputs, problems beside them, and the edits they make.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

use serde_json::Value;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;
use zonefall_core::scenario::{defaults, render};

use crate::state::{Action, Document, DocumentAction, Path, State, Step};

/// What fields need, and what they leave: which paths have a field.
pub(super) struct FormCtx<'a> {
    pub(super) state: &'a State,
    pub(super) document: &'a Document,
    pub(super) dispatch: &'a Callback<Action>,
    /// Id of the field of each path.
    fields: RefCell<BTreeMap<String, String>>,
}

/// How a value is written into the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// Text; nothing removes the field.
    Text,
    /// The name of a thing: what refers to it follows.
    Name,
    /// A number, or the text where it is none (and zonefall-core says what would be right).
    Number,
    /// Names, with commas between them.
    Names,
    /// JSON, or the text where it is none.
    Json,
}

/// A path: `etcd/0/name`.
pub(super) fn at(text: &str) -> Path {
    let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index);
    text.split('/').map(step).collect()
}

/// The id (and `data-testid`) of what belongs to a path: `form-nodes-0-zone`.
pub(super) fn id_of(path: &[Step]) -> String {
    let mut id = "form".to_owned();
    for (k, step) in path.iter().enumerate() {
        match step {
            Step::Key(key) if k == 0 && key == "topology" => {}
            Step::Key(key) => id.extend(["-", key]),
            Step::Index(index) => id.extend(["-", &index.to_string()]),
        }
    }
    id
}

/// What stands where nothing is written: the default, as zonefall-core tells it.
fn default_of(path: &[Step]) -> &'static str {
    static DEFAULTS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let all = DEFAULTS.get_or_init(|| {
        let plain = |path: &str| match (path.find('['), path.find(']')) {
            (Some(open), Some(close)) => format!("{}[]{}", &path[..open], &path[close + 1..]),
            _ => path.to_owned(),
        };
        let mut all = BTreeMap::new();
        all.extend(defaults().into_iter().rev().map(|row| (plain(&row.path), row.value)));
        all
    });
    let mut plain = String::new();
    for step in path {
        match step {
            Step::Key(key) if plain.is_empty() => plain.push_str(key),
            Step::Key(key) => plain.extend([".", key]),
            Step::Index(_) => plain.push_str("[]"),
        }
    }
    all.get(&plain).map_or("", String::as_str)
}

/// A value as a field shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What a field's text is in the document.
fn written(text: &str, kind: As) -> Option<Value> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let parsed = serde_json::from_str::<Value>(text).ok();
    match kind {
        As::Text | As::Name => Some(text.into()),
        As::Number => Some(parsed.filter(Value::is_number).unwrap_or_else(|| text.into())),
        As::Names => Some(text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()),
        As::Json => Some(parsed.unwrap_or_else(|| text.into())),
    }
}

impl<'a> FormCtx<'a> {
    pub(super) fn new(state: &'a State, dispatch: &'a Callback<Action>) -> Self {
        Self { state, document: &state.document, dispatch, fields: RefCell::default() }
    }

    /// What stands at a path.
    pub(super) fn get(&self, path: &str) -> &'a Value {
        const NOTHING: &Value = &Value::Null;
        let value: &'a Value = &self.document.value;
        at(path)
            .iter()
            .try_fold(value, |value, step| match step {
                Step::Key(key) => value.get(key),
                Step::Index(index) => value.get(*index),
            })
            .unwrap_or(NOTHING)
    }

    /// Items of the list at a path.
    pub(super) fn list(&self, path: &str) -> &'a [Value] {
        self.get(path).as_array().map_or(&[], Vec::as_slice)
    }

    /// Names of the things in the list at a path.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        self.list(path).iter().map(|item| shown(item.get("name").unwrap_or(&Value::Null))).collect()
    }

    /// All zones.
    pub(super) fn zones(&self) -> Vec<String> {
        let regions = self.list("topology/regions").iter();
        regions.flat_map(|region| region.get("zones").and_then(Value::as_array).into_iter().flatten()).map(shown).collect()
    }

    /// The id of the field that a problem is shown at.
    pub(super) fn field_of(&self, path: &str) -> Option<String> {
        let fields = self.fields.borrow();
        let inside = |field: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        fields.iter().filter(|(field, _)| inside(field)).max_by_key(|(field, _)| field.len()).map(|(_, id)| id.clone())
    }

    /// How many problems there are in (or below) a place.
    fn problems_in(&self, path: &str) -> usize {
        let place = render(&at(path));
        self.document.problems.iter().filter(|problem| problem.path.starts_with(&place)).count()
    }

    /// The problems of this very place, for an input to be described by; those below it too, where it is a `leaf`.
    fn problems_at(&self, path: &[Step], id: &str, leaf: bool) -> Option<Html> {
        let place = render(path);
        self.fields.borrow_mut().insert(place.clone(), id.to_owned());
        let here = |found: &str| {
            let rest = found.strip_prefix(&place);
            rest.is_some_and(|rest| rest.is_empty() || leaf && rest.starts_with(['.', '[']))
        };
        let mut all = self.document.problems.iter().filter(|problem| here(&problem.path)).peekable();
        all.peek()?;
        let lines = all.map(|problem| html! { <span>{ &problem.message }</span> });
        Some(html! { <p class="field-error" id={format!("{id}-error")} data-testid={format!("{id}-error")}>{ for lines }</p> })
    }

    /// The problems of a list or object as a whole.
    pub(super) fn group(&self, path: &str) -> Html {
        let path = at(path);
        let id = format!("{}-list", id_of(&path));
        let problems = self.problems_at(&path, &id, false);
        html! { <div {id} tabindex="-1" class="group">{ problems }</div> }
    }

    fn labelled(&self, path: &[Step], label: &str, input: impl FnOnce(String, bool) -> Html) -> Html {
        let id = id_of(path);
        let problems = self.problems_at(path, &id, true);
        html! {
            <div class={classes!("field", problems.is_some().then_some("bad"))}>
                <label for={id.clone()}>{ label }</label>
                { input(id, problems.is_some()) }
                { problems }
            </div>
        }
    }

    /// A line of text with the unit in it, as people write it.
    pub(super) fn text(&self, path: &str, label: &str, kind: As) -> Html {
        let value = match (kind, self.get(path)) {
            (As::Names, Value::Array(names)) => names.iter().map(shown).collect::<Vec<_>>().join(", "),
            (_, value) => shown(value),
        };
        let path = at(path);
        let on_commit = {
            let (path, dispatch) = (path.clone(), self.dispatch.clone());
            Callback::from(move |text: String| {
                let action = match (kind, written(&text, kind)) {
                    (As::Name, Some(Value::String(name))) => DocumentAction::Rename(path.clone(), name),
                    // Without a name, what refers to it would be lost.
                    (As::Name, _) => return,
                    (_, value) => DocumentAction::Set(path.clone(), value),
                };
                dispatch.emit(Action::Document(action));
            })
        };
        let placeholder = default_of(&path);
        self.labelled(&path, label, |id, bad| html! { <Line {id} {value} {placeholder} {bad} {on_commit} /> })
    }

    /// One of several. Each option is what is written and how it reads; `None` in front removes the field.
    pub(super) fn choice(&self, path: &str, label: &str, none: Option<&str>, options: &[(String, String)]) -> Html {
        let field = at(path);
        let set = move |word: String| DocumentAction::Set(field.clone(), (!word.is_empty()).then(|| word.into()));
        let mut all: Vec<_> = none.map(|none| (String::new(), none.to_owned())).into_iter().collect();
        all.extend_from_slice(options);
        self.select(path, label, &shown(self.get(path)), &all, set)
    }

    /// One of several, by a rule of its own.
    pub(super) fn select(
        &self,
        path: &str,
        label: &str,
        value: &str,
        options: &[(String, String)],
        edit: impl Fn(String) -> DocumentAction + 'static,
    ) -> Html {
        let path = at(path);
        let onchange = self
            .dispatch
            .reform(move |event: Event| Action::Document(edit(event.target_unchecked_into::<HtmlSelectElement>().value())));
        let option = |(word, label): &(String, String)| {
            html! { <option value={word.clone()} selected={word == value}>{ label }</option> }
        };
        // What is not among them is shown all the same: the problem beside it says what would be right.
        let unknown = !options.iter().any(|(word, _)| word == value);
        let other = unknown.then(|| html! { <option value={value.to_owned()} selected=true>{ if value.is_empty() { "choose …" } else { value } }</option> });
        self.labelled(&path, label, |id, bad| {
            let describedby = bad.then(|| format!("{id}-error"));
            html! {
                <select id={id.clone()} data-testid={id} {onchange} aria-invalid={bad.then_some("true")} aria-describedby={describedby}>
                    { other }{ for options.iter().map(option) }
                </select>
            }
        })
    }

    /// Yes, or as by default.
    pub(super) fn check(&self, path: &str, label: &str) -> Html {
        let default = default_of(&at(path)) == "true";
        let checked = self.get(path).as_bool().unwrap_or(default);
        let path = at(path);
        let onchange = self.dispatch.reform({
            let path = path.clone();
            move |event: Event| {
                let checked = event.target_unchecked_into::<HtmlInputElement>().checked();
                Action::Document(DocumentAction::Set(path.clone(), (checked != default).then(|| checked.into())))
            }
        });
        self.labelled(&path, label, |id, bad| {
            let describedby = bad.then(|| format!("{id}-error"));
            html! { <input type="checkbox" id={id.clone()} data-testid={id} {checked} {onchange} aria-describedby={describedby} /> }
        })
    }

    /// Some of several words, in their order; `usual`: those that it is where nothing is written.
    pub(super) fn checks(&self, path: &str, label: &str, words: Vec<&'static str>, usual: &'static Value) -> Html {
        let words: Rc<[&str]> = words.into();
        let written = match self.get(path) {
            Value::Null => usual,
            written => written,
        };
        let place = at(path);
        let has = move |list: &Value, word: &str| list.as_array().is_some_and(|list| list.iter().any(|own| own == word));
        let one = |word: &'static str| {
            let (id, checked) = (format!("{}-{word}", id_of(&place)), has(written, word));
            let onchange = {
                let (place, written, words) = (place.clone(), written.clone(), Rc::clone(&words));
                self.dispatch.reform(move |event: Event| {
                    let checked = event.target_unchecked_into::<HtmlInputElement>().checked();
                    let is_in = |own: &&&str| if **own == word { checked } else { has(&written, own) };
                    let list: Value = words.iter().filter(is_in).copied().collect();
                    Action::Document(DocumentAction::Set(place.clone(), (list != *usual).then_some(list)))
                })
            };
            html! {
                <label class="check" for={id.clone()}>
                    <input type="checkbox" id={id.clone()} data-testid={id} {checked} {onchange} />{ word }
                </label>
            }
        };
        let id = id_of(&place);
        html! {
            <fieldset class="checks wide">
                <legend>{ label }</legend>
                { for words.iter().map(|word| one(word)) }
                { self.problems_at(&place, &id, true) }
            </fieldset>
        }
    }

    /// A button that edits.
    pub(super) fn button(&self, id: String, label: &str, name: &str, action: DocumentAction) -> Html {
        let onclick = self.dispatch.reform(move |_: MouseEvent| Action::Document(action.clone()));
        html! {
            <button type="button" class="quiet" data-testid={id} aria-label={name.to_owned()} title={name.to_owned()} {onclick}>{ label }</button>
        }
    }

    /// Removes an item of a list.
    pub(super) fn remove(&self, path: &str, name: &str) -> Html {
        let path = at(path);
        self.button(format!("{}-remove", id_of(&path)), "×", &format!("Remove {name}"), DocumentAction::Set(path, None))
    }

    /// Adds an item to a list.
    pub(super) fn add(&self, path: &str, label: &str, item: Value) -> Html {
        let path = at(path);
        self.button(
            format!("{}-add", id_of(&path)),
            &format!("+ {label}"),
            &format!("Add {label}"),
            DocumentAction::Push(path, item),
        )
    }

    /// A part of the form that folds.
    pub(super) fn section(&self, path: &str, title: &str, says: &str, open: bool, body: Html) -> Html {
        let problems = match self.problems_in(path) {
            0 => None,
            1 => Some("1 problem".to_owned()),
            n => Some(format!("{n} problems")),
        };
        html! {
            <details class="form-section" {open} data-testid={format!("section-{}", path.replace('/', "-"))}>
                <summary>
                    <span class="section-title">{ title }</span>
                    <span class="section-says">{ says }</span>
                    { problems.map(|text| html! { <span class="badge bad">{ text }</span> }) }
                </summary>
                <div class="section-body">{ body }</div>
            </details>
        }
    }
}

#[derive(Clone, PartialEq, Properties)]
struct LineProps {
    id: String,
    value: String,
    placeholder: &'static str,
    bad: bool,
    on_commit: Callback<String>,
}

/// A line of text. What is being typed stays while the page is drawn anew around it, until it is done.
#[component]
fn Line(props: &LineProps) -> Html {
    let draft = use_state(|| None::<String>);
    let text = |input: HtmlInputElement| input.value();
    let oninput = {
        let draft = draft.clone();
        Callback::from(move |event: InputEvent| draft.set(Some(text(event.target_unchecked_into()))))
    };
    let onchange = {
        let (draft, on_commit) = (draft.clone(), props.on_commit.clone());
        Callback::from(move |event: Event| {
            draft.set(None);
            on_commit.emit(text(event.target_unchecked_into()));
        })
    };
    let LineProps { id, placeholder, bad, .. } = props.clone();
    let value = draft.as_ref().unwrap_or(&props.value).clone();
    let describedby = bad.then(|| format!("{id}-error"));
    html! {
        <input type="text" id={id.clone()} data-testid={id} {value} {placeholder} {oninput} {onchange} spellcheck="false"
            aria-invalid={bad.then_some("true")} aria-describedby={describedby} />
    }
}

/// Words that read as they are written.
pub(super) fn plain<T: AsRef<str>>(words: &[T]) -> Vec<(String, String)> {
    words.iter().map(|word| (word.as_ref().to_owned(), word.as_ref().to_owned())).collect()
}

/// A name that none of `taken` has: `node-3`.
pub(super) fn fresh(prefix: &str, first: usize, taken: &[String]) -> String {
    let mut names = (first..).map(|k| format!("{prefix}{k}"));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}
