//! What it costs: whose bill is shown, and tables by kind, by what shoots survive, of the parts, and of the prices that this rests on.

use yew::prelude::*;
use zonefall_core::report::{CostSplit, PriceReport, Report, TOLERANCE_NOTE};
use zonefall_core::scenario::text::dollars;

use super::report::rows;
use crate::state::{Action, UiAction};
use crate::view::same::Same;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct CostProps {
    pub report: Same<Report>,
    /// The provider whose bill is shown.
    pub provider: AttrValue,
}

/// All tables.
#[component]
pub(crate) fn CostTables(props: &CostProps) -> Html {
    let report = &props.report;
    html! {
        <>
            { by_kind(report) }
            { tolerance(report) }
            { for CostSplit::ALL.map(|split| parts(report, &props.provider, split)) }
            { prices(report) }
        </>
    }
}

/// Provider is shown; nothing to choose where there is one.
pub(super) fn providers(report: &Report, shown: &str, dispatch: &Callback<Action>) -> Html {
    if report.providers().count() < 2 {
        return Html::default();
    }
    let choice = |provider: &str| {
        let name = provider.to_owned();
        let onchange = dispatch.reform(move |_: Event| Action::Ui(UiAction::Provider(name.clone())));
        html! {
            <label>
                <input type="radio" name="provider" checked={provider == shown} {onchange} data-testid={format!("provider-{provider}")} />
                { report.provider_title(provider) }
            </label>
        }
    };
    html! {
        <fieldset class="switch" data-testid="providers">
            <legend class="unseen">{ "Provider" }</legend>
            { for report.providers().map(choice) }
        </fieldset>
    }
}

/// Why there is no bill.
pub(super) fn no_prices() -> Html {
    html! {
        <p class="nothing" data-testid="no-prices">
            { "No costs are computed: the scenario chooses no price book, or the default one has no price of something in it (a warning \
               says of what). Choose books in the form, under Prices." }
        </p>
    }
}

/// A month of 730 h, if it goes on as it went.
fn by_kind(report: &Report) -> Html {
    let kinds = report.cost_by_kind();
    let titles: Vec<String> = report.providers().map(|provider| report.provider_title(provider)).collect();
    let head: Vec<&str> = ["For"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let sums: Vec<f64> = (0..titles.len()).map(|i| kinds.iter().map(|(_, usd)| usd[i]).sum::<f64>()).collect();
    let all = kinds.iter().map(|(kind, usd)| (kind.describe(), usd)).chain([("all", &sums)]);
    let cells = all.map(|(what, usd)| [what.to_owned()].into_iter().chain(usd.iter().map(|usd| dollars(*usd))).collect());
    rows("Projected monthly cost, extrapolated from this run", &head, cells)
}

fn tolerance(report: &Report) -> Html {
    let tables = report.tolerance_tables();
    if tables.is_empty() {
        return Html::default();
    }
    let table = |table: &zonefall_core::report::ToleranceTable| {
        let head: Vec<&str> = ["For"].into_iter().chain(table.head.iter().map(String::as_str)).collect();
        let caption = format!("{} ({})", report.provider_title(&table.provider), report.how_sure(&table.provider));
        let cells = table.rows.iter().map(|(what, cells)| [(*what).to_owned()].into_iter().chain(cells.clone()).collect());
        rows(&caption, &head, cells)
    };
    html! {
        <section data-testid="tolerance">
            <h2>{ "Cost of failure tolerance" }</h2>
            <p class="quiet">{ "US dollars per shoot and month of 730 h." }</p>
            { for tables.iter().map(table) }
            <p class="quiet">{ TOLERANCE_NOTE }</p>
        </section>
    }
}

/// Rows of a split that are shown.
const MOST_PARTS: usize = 20;

/// What each part costs in a month, the dearest first.
fn parts(report: &Report, provider: &str, split: CostSplit) -> Html {
    let parts = report.cost_split(provider, split);
    if parts.is_empty() {
        return Html::default();
    }
    let (shown, left_out) = parts.split_at(parts.len().min(MOST_PARTS));
    let caption = format!("Projected monthly cost with {}", report.provider_title(provider));
    let more = left_out.iter().map(|(_, usd)| usd).sum();
    html! {
        <details class="split" data-testid={format!("split-{}", split.describe().replace(' ', "-"))}>
            <summary>{ format!("By {} ({})", split.describe(), parts.len()) }</summary>
            { rows(&caption, &["For", "US dollars"], shown.iter().map(|(what, usd)| vec![what.clone(), dollars(*usd)])) }
            if !left_out.is_empty() { <p class="quiet">{ format!("{} more: {} together.", left_out.len(), dollars(more)) }</p> }
        </details>
    }
}

fn prices(report: &Report) -> Html {
    let row = |price: &PriceReport| {
        let usd = format!("${}/{}", price.usd, price.unit.word());
        let texts = [price.provider.as_str(), &price.what, &usd, &price.date, price.check.describe(), &price.source];
        texts.map(str::to_owned).to_vec()
    };
    let head = ["Provider", "Price of", "US dollars", "As of", "Verified", "Source"];
    html! {
        <section data-testid="prices">{ rows("List prices, on demand, without discounts", &head, report.prices.iter().map(row)) }</section>
    }
}
