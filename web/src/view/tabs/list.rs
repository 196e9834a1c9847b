//! A list, and beside it the details of what is chosen in it.

use yew::prelude::*;
use zonefall_core::scenario::text::count;

/// The list.
pub(super) struct List {
    /// What it lists.
    pub label: &'static str,
    pub testid: &'static str,
    pub caption: &'static str,
    /// Heads of its columns, and whether these are of numbers.
    pub heads: &'static [(&'static str, bool)],
    /// Its rows, each an [`entry`].
    pub rows: Html,
    /// How many more there are.
    pub more: u64,
}

/// The list, and the details of what is chosen in it.
pub(super) fn beside(list: List, label: String, testid: &'static str, details: Html) -> Html {
    let List { label: of, testid: id, caption, heads, rows, more } = list;
    let head =
        |(head, is_number): &(&'static str, bool)| html! { <th scope="col" class={is_number.then_some("number")}>{ *head }</th> };
    html! {
        <div class="recovery">
            <div class="components" tabindex="0" role="region" aria-label={of} data-testid={id}>
                <table>
                    <caption class="unseen">{ caption }</caption>
                    <thead><tr>{ for heads.iter().map(head) }</tr></thead>
                    <tbody>{ rows }</tbody>
                </table>
                { and_more(more, "") }
            </div>
            <div class="waits" tabindex="0" role="region" aria-label={label} data-testid={testid}>{ details }</div>
        </div>
    }
}

/// A row of the list: its name chooses it.
pub(super) fn entry(is_current: bool, choose: impl Fn(MouseEvent) + 'static, testid: String, name: String, cells: Html) -> Html {
    html! {
        <tr class={is_current.then_some("current")}>
            <td><button class="quiet" onclick={choose} aria-pressed={is_current.to_string()} data-testid={testid}>{ name }</button></td>
            { cells }
        </tr>
    }
}

/// `and 12 more outages`; nothing where there are no more.
pub(super) fn and_more(more: u64, what: &str) -> Html {
    if more == 0 {
        return Html::default();
    }
    html! { <p class="quiet">{ format!("and {} more{what}", count(more)) }</p> }
}
