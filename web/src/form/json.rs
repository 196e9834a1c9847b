//! The document as text: line numbers, marks at the lines that have problems, jumps to them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use web_sys::{Element, HtmlTextAreaElement};
use yew::prelude::*;

use crate::state::layout::{byte_at, line_of, locate};
use crate::state::{Action, Document, DocumentAction, Problem};

/// A place in the text to go to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Jump {
    /// Each jump has another number, also to the same place.
    pub(super) number: u32,
    /// UTF-16 units, as browsers count.
    units: Range<u32>,
    /// From 0.
    line: usize,
    lines: usize,
}

impl Jump {
    /// To the place of a problem.
    pub(super) fn to(number: u32, text: &str, problem: &Problem) -> Self {
        let bytes = place(text, problem);
        let unit = |byte: usize| text[..byte].encode_utf16().count() as u32;
        let units = unit(bytes.start)..unit(bytes.end);
        Self { number, units, line: line_of(text, bytes.start).0, lines: lines(text) }
    }
}

/// Bytes of the text that a problem is about.
fn place(text: &str, problem: &Problem) -> Range<usize> {
    match problem.line_column {
        Some((line, column)) => {
            let at = byte_at(text, line, column);
            at..at
        }
        None => locate(text, &problem.path),
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count() + 1
}

#[derive(Clone, PartialEq, Properties)]
pub(super) struct JsonEditorProps {
    pub(super) document: Rc<Document>,
    pub(super) dispatch: Callback<Action>,
    pub(super) jump: Option<Jump>,
}

/// The editor.
#[component]
pub(super) fn JsonEditor(props: &JsonEditorProps) -> Html {
    let JsonEditorProps { document, dispatch, jump } = props;
    let (area, frame) = (use_node_ref(), use_node_ref());
    use_effect_with(jump.clone(), {
        let (area, frame) = (area.clone(), frame.clone());
        move |jump| {
            if let (Some(jump), Some(area), Some(frame)) = (jump, area.cast::<HtmlTextAreaElement>(), frame.cast::<Element>()) {
                area.set_selection_range(jump.units.start, jump.units.end).ok();
                area.focus().ok();
                // All lines are equally high.
                let top = area.client_height() as usize * jump.line / jump.lines;
                frame.set_scroll_top((top as i32 - frame.client_height() / 3).max(0));
            }
        }
    });
    let oninput = dispatch.reform(|event: InputEvent| {
        Action::Document(DocumentAction::Type(event.target_unchecked_into::<HtmlTextAreaElement>().value()))
    });
    let mut bad = BTreeSet::new();
    bad.extend(document.problems.iter().map(|problem| line_of(&document.text, place(&document.text, problem).start).0));
    let rows = lines(&document.text);
    html! {
        <div class="json" ref={frame}>
            { gutter(rows, &bad) }
            <textarea ref={area} class="json-text" data-testid="json" aria-label="Scenario as JSON" rows={rows.to_string()} wrap="off"
                spellcheck="false" autocapitalize="off" aria-invalid={(!bad.is_empty()).then_some("true")}
                value={document.text.to_string()} {oninput} />
        </div>
    }
}

/// Line numbers: a text of its own between each two lines with a mark, so that a long document has few elements.
fn gutter(rows: usize, bad: &BTreeSet<usize>) -> Html {
    let mut parts = Vec::new();
    let mut plain = String::new();
    for row in 0..rows {
        if bad.contains(&row) {
            parts.push(html! { { std::mem::take(&mut plain) } });
            parts.push(html! { <span class="bad">{ format!("✕ {}\n", row + 1) }</span> });
        } else {
            plain.push_str(&format!("{}\n", row + 1));
        }
    }
    html! { <pre class="json-lines" aria-hidden="true">{ for parts }{ plain }</pre> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_count_as_browsers_do() {
        let text = "{\n  \"é😀\": 1,\n  \"name\": \"x\"\n}\n";
        let problem = |path: &str, line_column| Problem { path: path.to_owned(), message: String::new(), line_column };
        let jump = Jump::to(1, text, &problem("name", None));
        assert_eq!((jump.units, jump.line, jump.lines), (24..27, 2, 5));
        let jump = Jump::to(2, text, &problem("$", Some((2, 3))));
        assert_eq!((jump.units, jump.line), (4..4, 1));
    }
}
