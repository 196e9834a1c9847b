//! Connections of Services from zone to zone: rows are the zones of clients, columns those of endpoints; and what comes of them.

use yew::prelude::*;
use zonefall_core::report::{Report, ServiceTrafficReport};
use zonefall_core::scenario::text::{count, dollars};

use super::list::and_more;
use super::matrix::{shade, table, zones};
use crate::view::labels::length;
use crate::view::same::Same;

/// Services that are shown.
const MOST_SERVICES: usize = 50;

/// What is shown.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct ServiceFlowsProps {
    pub report: Same<Report>,
}

/// A table for each Service whose clients the scenario has.
#[component]
pub(crate) fn ServiceFlows(props: &ServiceFlowsProps) -> Html {
    let all = &props.report.service_traffic;
    let several = all.iter().any(|of| of.cluster != all[0].cluster);
    html! {
        <>
            { for all.iter().take(MOST_SERVICES).map(|of| flows(of, several)) }
            { and_more(all.len().saturating_sub(MOST_SERVICES) as u64, " Services") }
        </>
    }
}

fn flows(of: &ServiceTrafficReport, several: bool) -> Html {
    let zones = zones(of.zones.iter().map(|flow| (flow.from.as_str(), flow.to.as_str())));
    let connections = |from: &str, to: &str| {
        of.zones.iter().filter(|flow| flow.from == from && flow.to == to).map(|flow| flow.connections).sum::<f64>()
    };
    let most = of.zones.iter().map(|flow| flow.connections).fold(0.0, f64::max);
    let cell = |from: &str, to: &str| {
        let (number, all) = (connections(from, to), zones.iter().map(|zone| connections(from, zone)).sum::<f64>());
        let inside = (from == to).then_some("inside");
        if number <= 0.0 {
            return html! { <td class={classes!("cell", "quiet", inside)}>{ "–" }</td> };
        }
        html! {
            <td class={classes!("cell", format!("shade-{}", shade(number as u64, most as u64)), inside)}>
                <b>{ percent(number / all) }</b>
                <span>{ count(number.round() as u64) }</span>
            </td>
        }
    };
    let name = if several { format!("{} in {}", of.service, of.cluster) } else { of.service.clone() };
    html! {
        <div data-testid={format!("service-{}", of.service)}>
            { table(format!("Service {name}: connections from zone (row) to zone (column)"), &zones, cell) }
            <p>{ sum(of) }</p>
        </div>
    }
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What comes of a Service's connections, in sentences.
fn sum(of: &ServiceTrafficReport) -> String {
    let cost: Vec<String> = of.usd_per_month.iter().map(|(name, usd)| format!("{} at {name}", dollars(*usd))).collect();
    let cost = if cost.is_empty() { String::new() } else { format!(", which cost {} a month", cost.join(" or ")) };
    let mut said = vec![
        format!(
            "{} connections; {:.1} % of those that were served left their zone{cost}.",
            count(of.connections.round() as u64),
            of.cross_zone_percent
        ),
        format!("The busiest endpoint had {:.2} times an even share.", of.greatest_load),
    ];
    if let Some(ms) = of.round_trip_ms {
        said.insert(1, format!("A packet took {} to the endpoint and back, on average.", length(ms / 1e3)));
    }
    if of.overloaded_s > 0.0 {
        let queue = count(of.longest_queue.round() as u64);
        said.push(format!("Some endpoint had too many for {}, and up to {queue} waited.", length(of.overloaded_s)));
    }
    for (number, what) in [(of.refused, "found no endpoint"), (of.failed, "found an endpoint that did not answer")] {
        if number >= 0.5 {
            said.push(format!("{} {what}.", count(number.round() as u64)));
        }
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::{Scenario, bundled};
    use zonefall_core::simulate;

    #[test]
    fn what_becomes_of_a_services_connections_is_said() {
        let text = bundled().iter().find(|bundled| bundled.name == "kube-proxy-cross-zone").expect("it is bundled").json;
        let report = simulate(Scenario::from_json(text).expect("bundled scenarios are valid"), 1);
        let said: Vec<String> = report.service_traffic.iter().map(sum).collect();
        let [plain, hints, .., queue, missing] = &said[..] else { panic!("{said:?}") };
        let cost = "which cost $21.53 at aws or $10.03 at gcp or $0 at azure a month";
        assert!(
            plain.starts_with(&format!("216,000 connections; 66.7 % of those that were served left their zone, {cost}.")),
            "{plain}"
        );
        assert!(hints.contains("; 0.0 % of those that were served left their zone"), "{hints}");
        assert!(
            queue.ends_with("had 2.00 times an even share. Some endpoint had too many for 60 min, and up to 18,000 waited."),
            "{queue}"
        );
        assert!(missing.ends_with("36,000 found no endpoint."), "{missing}");
    }
}
