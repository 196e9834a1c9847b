//! Bytes from zone to zone as a table: rows send, columns get.

use yew::prelude::*;
use zonefall_core::report::Report;
use zonefall_core::scenario::text::bytes;

use crate::view::same::Same;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct MatrixProps {
    pub report: Same<Report>,
}

/// The table; a cell is the more shaded the more was sent.
#[component]
pub(crate) fn Matrix(props: &MatrixProps) -> Html {
    let pairs = &props.report.zone_pairs;
    if pairs.is_empty() {
        return html! { <p class="quiet">{ "No traffic yet." }</p> };
    }
    let zones = zones(pairs.iter().map(|pair| (pair.from_zone.as_str(), pair.to_zone.as_str())));
    let most = pairs.iter().map(|pair| pair.wire_bytes).max().unwrap_or(0);
    let cell = |from: &str, to: &str| {
        let pair = pairs.iter().find(|pair| pair.from_zone == from && pair.to_zone == to);
        let inside = (from == to).then_some("inside");
        let Some(pair) = pair else { return html! { <td class={classes!("cell", "quiet", inside)}>{ "–" }</td> } };
        html! {
            <td class={classes!("cell", format!("shade-{}", shade(pair.wire_bytes, most)), inside)} data-testid={format!("matrix-{from}-{to}")}>
                <b>{ bytes(pair.wire_bytes) }</b>
                <span>{ format!("{}/s", bytes(pair.mean_wire_bytes_per_s.round() as u64)) }</span>
            </td>
        }
    };
    html! {
        <>
            { table("Bytes from zone (row) to zone (column)".to_owned(), &zones, cell) }
            <p class="quiet">{ "On the wire, in total and per second. Dashed: within a zone. Darker: more traffic." }</p>
        </>
    }
}

/// A table with a cell from each zone (row) to each (column).
pub(super) fn table(caption: String, zones: &[&str], cell: impl Fn(&str, &str) -> Html) -> Html {
    let row = |from: &&str| html! { <tr><th scope="row">{ *from }</th>{ for zones.iter().map(|to| cell(from, to)) }</tr> };
    html! {
        <table class="matrix">
            <caption>{ caption }</caption>
            <thead><tr>
                <td class="quiet">{ "from ↓ to →" }</td>
                { for zones.iter().map(|zone| html! { <th scope="col" class="number">{ *zone }</th> }) }
            </tr></thead>
            <tbody>{ for zones.iter().map(row) }</tbody>
        </table>
    }
}

/// The zones that something comes from, then those that it only goes to, each in order.
pub(super) fn zones<'a>(ways: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<&'a str> {
    let mut zones: Vec<&str> = Vec::new();
    for zone in ways.clone().map(|(from, _)| from).chain(ways.map(|(_, to)| to)) {
        if !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    zones
}

/// How strong: 4 for the most, one less for each time it is a quarter, at least 1; 0 for nothing.
pub(super) fn shade(bytes: u64, most: u64) -> u32 {
    most.checked_div(bytes).map_or(0, |times| 4_u32.saturating_sub(times.ilog(4)).max(1))
}

#[cfg(test)]
mod tests {
    use super::shade;

    #[test]
    fn shades_are_of_sizes() {
        assert_eq!([0, 1, 15, 64, 250, 251, 1_000].map(|bytes| shade(bytes, 1_000)), [0, 1, 1, 3, 3, 4, 4]);
    }
}
