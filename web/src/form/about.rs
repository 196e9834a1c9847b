//! What Zonefall is, and what the scenario is about: the head of the panel.

use yew::prelude::*;

/// What Zonefall is, in a sentence.
pub const WHAT: &str = "Zonefall simulates what happens to a Kubernetes control plane when a zone, a node, a link or a disk fails: how long \
    until it works again, what is lost, and what the protection costs.";

#[derive(Clone, PartialEq, Properties)]
pub(super) struct AboutProps {
    /// The scenario's description; empty where it has none.
    pub(super) description: String,
}

/// See the module.
#[component]
pub(super) fn About(props: &AboutProps) -> Html {
    let is_open = use_state_eq(|| false);
    let whole = props.description.trim();
    let short = short(whole);
    let toggle = {
        let is_open = is_open.clone();
        move |_: MouseEvent| is_open.set(!*is_open)
    };
    html! {
        <header class="about">
            <p class="what" data-testid="what">{ WHAT }</p>
            if !whole.is_empty() {
                <p class="description" data-testid="description">{ if *is_open { whole } else { short } }</p>
            }
            if short.len() < whole.len() {
                <button type="button" class="about-more" onclick={toggle} aria-expanded={is_open.to_string()} data-testid="description-more">
                    { if *is_open { "Less" } else { "More" } }<span class="sr-only">{ " about this scenario" }</span>
                </button>
            }
        </header>
    }
}

/// Letters of a short description, about.
const SHORT: usize = 160;

/// The first sentence of a description, or its first words where that is long.
fn short(text: &str) -> &str {
    let sentence = text.find(". ").map_or(text, |end| &text[..=end]);
    if sentence.chars().count() <= SHORT {
        return sentence;
    }
    let (end, _) = sentence.char_indices().nth(SHORT).unwrap_or((sentence.len(), ' '));
    let cut = sentence[..end].rfind(' ').unwrap_or(end);
    &sentence[..cut]
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::{Scenario, bundled};

    #[test]
    fn a_description_is_short_at_first() {
        for (text, expected) in [("", ""), ("One zone.", "One zone."), ("One zone. It fails.", "One zone.")] {
            assert_eq!(short(text), expected);
        }
        let long = "word ".repeat(100);
        assert_eq!(short(&long).chars().count(), 159);
        assert_eq!(short(&"ü".repeat(500)).chars().count(), SHORT);
        for bundled in bundled() {
            let scenario = Scenario::from_json(bundled.json).unwrap();
            let short = short(&scenario.description);
            assert!((20..=SHORT).contains(&short.chars().count()), "{}: {short:?}", bundled.name);
        }
    }
}
