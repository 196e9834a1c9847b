//! The moment under the pointer in a chart, which the timeline shows too.

use yew::prelude::*;

/// Where the moment is kept, in seconds; `None`: the pointer is elsewhere.
pub type Hover = UseStateHandle<Option<f64>>;

/// What shares the moment.
#[derive(Clone, PartialEq, Properties)]
pub struct ShareHoverProps {
    /// All that may show the moment or set it.
    pub children: Html,
}

/// Shares the moment with all that is inside; only what asks for it is drawn again when the pointer moves.
#[component]
pub fn ShareHover(props: &ShareHoverProps) -> Html {
    let hover = use_state_eq(|| None::<f64>);
    html! { <ContextProvider<Hover> context={hover}>{ props.children.clone() }</ContextProvider<Hover>> }
}
