//! `zonefall compare`: several scenarios, one table.

use std::sync::Arc;

use anyhow::Result;
use zonefall_core::compare::{Comparison, Row, Value, compare as put_together};
use zonefall_core::run::run;
use zonefall_core::scenario::text;
use zonefall_core::sim::Options;

use crate::args::{Compare, Format};
use crate::output::{print, width};
use crate::page::Page;
use crate::{OK, input};

/// Runs all, prints the table. Expectations are not judged: `zonefall run` does that.
pub(crate) fn compare(args: &Compare) -> Result<u8> {
    let mut runs = Vec::new();
    for file in &args.files {
        let scenario = Arc::new(input::scenario(Some(file))?);
        let seed = args.seed.unwrap_or(scenario.seed);
        let report = run(&scenario, seed, Options::default(), &mut |_, _| {}, &mut |_| {});
        runs.push((scenario, report));
    }
    let runs: Vec<_> = runs.iter().map(|(scenario, report)| (&**scenario, report)).collect();
    let comparison = put_together(&runs);
    print(&match args.format {
        Format::Table => table(&comparison, &Page::new(width())),
        Format::Json => serde_json::to_string_pretty(&comparison)? + "\n",
    })?;
    Ok(OK)
}

fn table(comparison: &Comparison, page: &Page) -> String {
    let head: Vec<&str> = [""].into_iter().chain(comparison.scenarios.iter().map(String::as_str)).collect();
    let rows = comparison.rows.iter().map(|row| {
        let cells = row.values.iter().map(|value| value.as_ref().map_or_else(|| "-".to_owned(), |value| cell(row, value)));
        [row.what.clone()].into_iter().chain(cells).collect()
    });
    page.table(&head, rows, &[])
}

fn cell(row: &Row, value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Number(seconds) if row.unit == "s" => text::seconds(*seconds),
        Value::Number(ms) if row.unit == "ms" => text::seconds(ms / 1e3),
        Value::Number(percent) if row.unit == "%" => text::percent(*percent),
        Value::Number(usd) if row.unit == "USD" => text::dollars(*usd),
        Value::Number(number) => number.to_string(),
    }
}
