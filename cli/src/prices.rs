//! `zonefall prices`: the books; and what shoots cost, by what they survive.

use anyhow::Result;
use serde_json::{Value, json};
use zonefall_core::report::{Report, TOLERANCE_NOTE};
use zonefall_core::scenario::prices::{Price, PriceBookName};

use crate::OK;
use crate::args::Format;
use crate::output::{DIM, HEAD, print, width};
use crate::page::Page;

/// `zonefall prices`.
pub(crate) fn prices(format: Format) -> Result<u8> {
    let text = match format {
        Format::Table => books(&Page::new(width())),
        Format::Json => serde_json::to_string_pretty(&PriceBookName::ALL.map(book_json))? + "\n",
    };
    print(&text)?;
    Ok(OK)
}

fn books(page: &Page) -> String {
    let row = |name: PriceBookName, price: &Price| {
        let per = format!("{}/{}", price.usd, price.unit.word());
        let texts =
            [name.book().name, price.item.kind().word(), &price.what, &per, &price.date, price.check.describe(), &price.source];
        texts.map(str::to_owned).to_vec()
    };
    let rows = PriceBookName::ALL.into_iter().flat_map(|name| name.book().prices.iter().map(move |price| row(name, price)));
    let head = ["book", "kind", "item", "US dollars", "date", "verified", "source"];
    page.whole_table(&head, rows.collect(), &[3])
        + &page.text("", &format!("\n{DIM}List prices, on demand, without discounts.{DIM:#}"))
}

fn book_json(name: PriceBookName) -> Value {
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

/// Cost of failure tolerance, where shoots differ in it: a table for each provider.
pub(crate) fn tolerance(report: &Report, page: &Page) -> Option<String> {
    let tables = report.tolerance_tables();
    if tables.is_empty() {
        return None;
    }
    let mut text = format!("{HEAD}Cost of failure tolerance{HEAD:#} (US dollars per shoot and month of 730 h)\n");
    for table in tables {
        let (title, how_sure) = (report.provider_title(&table.provider), report.how_sure(&table.provider));
        text += &page.text("  ", &format!("\n{HEAD}{title}{HEAD:#} {DIM}({how_sure}){DIM:#}"));
        let head: Vec<&str> = [""].into_iter().chain(table.head.iter().map(String::as_str)).collect();
        let rows = table.rows.into_iter().map(|(what, cells)| [what.to_owned()].into_iter().chain(cells).collect());
        let numbers: Vec<usize> = (1..head.len()).collect();
        text += &page.table(&head, rows, &numbers);
    }
    text += &page.text("  ", &format!("\n{DIM}{TOLERANCE_NOTE}{DIM:#}"));
    Some(text)
}
