//! `zonefall prices`: the books; and what shoots cost, by what they survive.

use anyhow::Result;
use serde_json::{Value, json};
use zonefall_core::report::{CostKind, PriceReport, Report, ToleranceCostReport};
use zonefall_core::scenario::kube::gardener::FailureTolerance;
use zonefall_core::scenario::prices::{BookName, Check, Price};

use crate::OK;
use crate::args::Format;
use crate::output::{DIM, HEAD, print, width};
use crate::page::Page;

/// `zonefall prices`.
pub(crate) fn prices(format: Format) -> Result<u8> {
    let text = match format {
        Format::Table => books(&Page::new(width())),
        Format::Json => serde_json::to_string_pretty(&BookName::ALL.map(book_json))? + "\n",
    };
    print(&text)?;
    Ok(OK)
}

fn books(page: &Page) -> String {
    let row = |name: BookName, price: &Price| {
        let per = format!("{}/{}", price.usd, price.unit.word());
        let texts =
            [name.book().name, price.item.kind().word(), &price.what, &per, &price.date, price.check.words(), &price.source];
        texts.map(str::to_owned).to_vec()
    };
    let rows = BookName::ALL.into_iter().flat_map(|name| name.book().prices.iter().map(move |price| row(name, price)));
    let head = ["book", "kind", "what", "US dollars", "of", "how sure", "source"];
    page.whole_table(&head, rows.collect(), &[3])
        + &page.text("", &format!("\n{DIM}List prices, on demand, without discounts.{DIM:#}"))
}

fn book_json(name: BookName) -> Value {
    let book = name.book();
    let price = |price: &Price| {
        json!({
            "kind": price.item.kind(), "what": price.what, "usd": price.usd, "unit": price.unit,
            "date": price.date, "source": price.source, "check": price.check,
        })
    };
    let prices: Vec<Value> = book.prices.iter().map(price).collect();
    json!({"book": book.name, "provider": book.provider, "region": book.region, "prices": prices})
}

/// What tolerance costs, where shoots differ in it: a table for each provider.
pub(crate) fn tolerance(report: &Report, page: &Page) -> Option<String> {
    if report.tolerance_cost.is_empty() {
        return None;
    }
    let mut text = format!("{HEAD}What tolerance costs{HEAD:#} (US dollars per shoot and month of 730 h)\n");
    for provider in report.bill.iter().flat_map(|bill| bill.providers.keys()) {
        let rows: Vec<&ToleranceCostReport> = report.tolerance_cost.iter().filter(|row| row.provider == *provider).collect();
        let prices: Vec<&PriceReport> = report.prices.iter().filter(|price| price.provider == *provider).collect();
        text += &page.text("  ", &format!("\n{HEAD}{}{HEAD:#} {DIM}({}){DIM:#}", title(&prices), how_sure(&prices)));
        text += &table(&rows, page);
    }
    text += &page.text("  ", &format!("\n{DIM}{NOTE}{DIM:#}"));
    Some(text)
}

const NOTE: &str = "Shared: room on machines that no pod asked for, what a seed runs for itself and its load balancer, in equal parts \
                    for each of its shoots. Bytes: those that etcd and the scenario's clients exchange between zones.";

fn title(prices: &[&PriceReport]) -> String {
    let first = prices.first().expect("a provider has prices");
    first.region.as_ref().map_or_else(|| first.provider.clone(), |region| format!("{} {region}", first.provider))
}

/// How many of the prices are how sure.
fn how_sure(prices: &[&PriceReport]) -> String {
    let all = [Check::Seen, Check::SecondHand, Check::Memory, Check::Given];
    let count = |check: Check| (check, prices.iter().filter(|price| price.check == check).count());
    let words: Vec<String> =
        all.map(count).iter().filter(|(_, n)| *n > 0).map(|(check, n)| format!("{n} {}", check.words())).collect();
    format!("prices: {}", words.join(", "))
}

fn table(all: &[&ToleranceCostReport], page: &Page) -> String {
    let there = FailureTolerance::ALL.into_iter().filter(|tolerance| all.iter().any(|row| row.tolerance == *tolerance));
    let there: Vec<FailureTolerance> = there.collect();
    let of = |kind: Option<CostKind>, part: fn(&ToleranceCostReport) -> f64| {
        let usd = |tolerance: &FailureTolerance| {
            let rows = all.iter().filter(|row| row.tolerance == *tolerance);
            rows.filter(|row| kind.is_none_or(|kind| kind == row.kind)).map(|row| part(row)).sum::<f64>()
        };
        there.iter().map(usd).collect::<Vec<f64>>()
    };
    let own: fn(&ToleranceCostReport) -> f64 = |row| row.own_usd;
    let shared: fn(&ToleranceCostReport) -> f64 = |row| row.shared_usd;
    let rows = [
        ("machines, for its pods", of(Some(CostKind::Machine), own)),
        ("machines, shared", of(Some(CostKind::Machine), shared)),
        ("volumes", of(Some(CostKind::Volume), own)),
        ("volumes, shared", of(Some(CostKind::Volume), shared)),
        ("load balancer, shared", of(Some(CostKind::LoadBalancerHours), shared)),
        ("bytes between zones", of(Some(CostKind::CrossZone), own)),
        ("bytes between zones, shared", of(Some(CostKind::CrossZone), shared)),
        ("all", of(None, |row| row.own_usd + row.shared_usd)),
    ];
    let steps: Vec<String> = there.windows(2).map(|pair| format!("{} → {}", word(pair[0]), word(pair[1]))).collect();
    let mut head = vec![""];
    head.extend(there.iter().map(|tolerance| word(*tolerance)));
    head.extend(steps.iter().map(String::as_str));
    let row = |(what, usd): (&str, Vec<f64>)| {
        let plain = usd.iter().map(|usd| format!("{usd:.2}"));
        let steps = usd.windows(2).map(|pair| format!("{:+.2}", pair[1] - pair[0]));
        std::iter::once(what.to_owned()).chain(plain).chain(steps).collect::<Vec<_>>()
    };
    let shown = rows.into_iter().filter(|(_, usd)| usd.iter().any(|usd| *usd > 0.0));
    let numbers: Vec<usize> = (1..head.len()).collect();
    page.table(&head, shown.map(row), &numbers)
}

const fn word(tolerance: FailureTolerance) -> &'static str {
    match tolerance {
        FailureTolerance::None => "none",
        FailureTolerance::Node => "node",
        FailureTolerance::Zone => "zone",
    }
}
