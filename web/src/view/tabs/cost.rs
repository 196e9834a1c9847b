//! What it costs, as tables: by what shoots survive, by kind, and the prices that this rests on.

use yew::prelude::*;
use zonefall_core::observe::words::dollars;
use zonefall_core::report::{PriceReport, Report, TOLERANCE_NOTE};
use zonefall_core::scenario::prices::BookName;

use super::report::rows;
use crate::view::same::Same;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct CostProps {
    pub report: Same<Report>,
}

/// All tables.
#[component]
pub(crate) fn CostTables(props: &CostProps) -> Html {
    let report = &props.report;
    html! {
        <>
            { by_kind(report) }
            { tolerance(report) }
            { prices(report) }
        </>
    }
}

/// How to ask for a bill.
pub(super) fn no_prices() -> Html {
    let books = BookName::ALL.map(|name| name.book().name).join(", ");
    html! {
        <p class="nothing" data-testid="no-prices">
            { "This scenario names no prices: add " }<code>{ "\"prices\": {\"books\": [\"aws-eu-west-1\"]}" }</code>
            { format!(" to its JSON to see what it costs (books: {books}).") }
        </p>
    }
}

/// A month of 730 h, if it goes on as it went.
fn by_kind(report: &Report) -> Html {
    let kinds = report.cost_by_kind();
    let titles: Vec<String> = report.providers().map(|provider| report.provider_title(provider)).collect();
    let head: Vec<&str> = ["For"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let sums: Vec<f64> = (0..titles.len()).map(|i| kinds.iter().map(|(_, usd)| usd[i]).sum::<f64>()).collect();
    let all = kinds.iter().map(|(kind, usd)| (kind.words(), usd)).chain([("all", &sums)]);
    let cells = all.map(|(what, usd)| [what.to_owned()].into_iter().chain(usd.iter().map(|usd| dollars(*usd))).collect());
    rows("A month, if it goes on as it went", &head, cells)
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
            <h2>{ "What tolerance costs" }</h2>
            <p class="quiet">{ "US dollars per shoot and month of 730 h." }</p>
            { for tables.iter().map(table) }
            <p class="quiet">{ TOLERANCE_NOTE }</p>
        </section>
    }
}

fn prices(report: &Report) -> Html {
    let row = |price: &PriceReport| {
        let usd = format!("${}/{}", price.usd, price.unit.word());
        let texts = [price.provider.as_str(), &price.what, &usd, &price.date, price.check.words(), &price.source];
        texts.map(str::to_owned).to_vec()
    };
    let head = ["Provider", "Price of", "US dollars", "As of", "How sure", "Source"];
    html! {
        <section data-testid="prices">{ rows("List prices, on demand, without discounts", &head, report.prices.iter().map(row)) }</section>
    }
}
