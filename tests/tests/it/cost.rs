//! What things cost, by hand: quantities from the scenario and the report's links, prices from the books, and never from `cost` itself.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::report::{CostKind, CostReport, CostSplit, Report};
use zonefall_core::run::run;
use zonefall_core::scenario::prices::{PriceBookName, PriceKind, Provider, Shape};
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;

/// Hours of a month.
const MONTH_H: f64 = 730.0;

fn story() -> Value {
    let file = bundled().iter().find(|file| file.name == "cost-of-tolerance").expect("it is bundled");
    serde_json::from_str(file.json).expect("bundled scenarios are JSON")
}

fn report(json: &Value) -> Report {
    let scenario = Arc::new(Scenario::from_json(&json.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    run(&scenario, scenario.seed, Options::default(), &mut |_, _| {}, &mut |_| {})
}

fn books() -> [Provider; 3] {
    [PriceBookName::AwsEuWest1, PriceBookName::GcpEuropeWest1, PriceBookName::AzureWestEurope].map(|name| name.book().charges())
}

/// US dollars in a month of the rows that are meant.
fn usd(report: &Report, provider: &str, which: impl Fn(&CostReport) -> bool) -> f64 {
    report.cost.iter().filter(|row| row.provider == provider && which(row)).map(|row| row.per_month_usd).sum()
}

fn near(found: f64, wanted: f64, what: &str) {
    assert!((found - wanted).abs() < 1e-4 * wanted.abs().max(1.0), "{what}: {found} found, {wanted} by hand");
}

/// "Depending on the number of zones, a minimum of one additional machine per zone will be provisioned." (GEP-20, Cost Implications)
#[test]
fn each_further_zone_takes_a_machine() {
    let seed = |zones: Value, machines: u32| {
        let mut json = story();
        let pools = json!([{"name": "cpu", "minimum": machines, "maximum": 9}]);
        json["seeds"] = json!([{"name": "seed", "zones": zones, "control_plane": {"zones": ["parent"]}, "pools": pools}]);
        (json["shoots"], json["expect"], json["duration"]) = (json!([]), json!([]), json!("1h"));
        report(&json)
    };
    let (one, three) = (seed(json!(["za"]), 1), seed(json!(["za", "zb", "zc"]), 3));
    for book in books() {
        let machines = |report: &Report| usd(report, &book.name, |row| row.kind == CostKind::Machine);
        let price = book.machine(Shape::of(8, 32)).expect("a price").usd;
        near(machines(&three) - machines(&one), 2.0 * MONTH_H * price, &book.name);
    }
    near(2.0 * MONTH_H * books()[0].machine(Shape::of(8, 32)).unwrap().usd, 624.88, "two m5.2xlarge");
}

/// "4 additional PVs need to be provisioned for `etcd-main` and `etcd-events` pods." (GEP-20, Cost Implications)
#[test]
fn tolerance_takes_four_volumes_more() {
    let report = report(&story());
    // 2 of 25 GiB and 2 of 10: 70 GiB; on Azure by tiers of 32 and 16 GiB.
    let by_hand = [70.0 * 0.088, 70.0 * 0.10, 2.0 * 5.81 + 2.0 * 2.64];
    for (book, wanted) in books().iter().zip(by_hand) {
        let gib = |gib: u64| {
            let price = book.volume(gib << 30).expect("a price");
            2.0 * price.usd * if book.name == "azure" { 1.0 } else { gib as f64 }
        };
        near(gib(25) + gib(10), wanted, &book.name);
        let of = |shoot| usd(&report, &book.name, |row| row.kind == CostKind::Volume && row.shoot.as_deref() == Some(shoot));
        for tolerant in ["node-7", "zone-7"] {
            near(of(tolerant) - of("plain-7"), wanted, tolerant);
        }
    }
}

#[test]
fn bytes_between_zones_cost_what_the_links_carry() {
    let report = report(&story());
    let per_month = MONTH_H * 3_600.0 / report.simulated_s;
    for shoot in ["plain-3", "node-3", "zone-3"] {
        let its = |cluster: &str| cluster.starts_with(&format!("shoot--garden--{shoot}/"));
        let crossing = report.links.iter().filter(|link| its(&link.cluster) && link.from_zone != link.to_zone);
        let ip_bytes: u64 = crossing.map(|link| link.wire_bytes - 14 * link.packets).sum();
        assert_eq!(ip_bytes > 0, shoot == "zone-3", "{shoot}");
        for book in books() {
            let price = |kind| book.only(kind).expect("a price").usd;
            let unit = if book.name == "gcp" { (1_u64 << 30) as f64 } else { 1e9 };
            let by_hand = ip_bytes as f64 * per_month / unit * (price(PriceKind::CrossZoneOut) + price(PriceKind::CrossZoneIn));
            let found = usd(&report, &book.name, |row| row.kind == CostKind::CrossZone && row.shoot.as_deref() == Some(shoot));
            near(found, by_hand, &format!("{shoot}, {}", book.name));
        }
    }
}

#[test]
fn rows_the_bill_and_what_tolerance_costs_say_the_same() {
    let report = report(&story());
    let bill = report.bill.as_ref().expect("there are prices");
    let per_month = MONTH_H * 3_600.0 / report.simulated_s;
    near(bill.window_s, report.traffic_window_s, "windows");
    for (name, of) in &bill.providers {
        let windows = (report.simulated_s / bill.window_s).ceil() as usize;
        assert!(of.total_usd.len() == windows && of.total_usd.windows(2).all(|pair| pair[0] <= pair[1]), "{name}");
        let total = of.total_usd.last().expect("a window") * per_month;
        near(usd(&report, name, |_| true), total, name);
        // To a nano-dollar: what was charged until the end of a window is what all windows until then have added.
        let nanos = |usd: f64| (usd * 1e9).round() as u64;
        for (i, so_far) in of.total_usd.iter().enumerate() {
            let added = of.kinds.values().flat_map(|series| &series[..=i]);
            assert_eq!(nanos(*so_far), added.map(|usd| nanos(*usd)).sum::<u64>(), "{name}, window {i}");
        }
        for (kind, series) in &of.kinds {
            assert_eq!(series.len(), windows);
            // The sum is rounded to a nano-dollar, and each row to a micro-dollar a month.
            let of_kind = |row: &CostReport| row.kind == *kind && row.provider == *name;
            let rows = report.cost.iter().filter(|row| of_kind(row)).count() as f64;
            let apart = (series.iter().sum::<f64>() * per_month - usd(&report, name, of_kind)).abs();
            assert!(apart <= 0.6e-6 * rows + 0.6e-9 * per_month, "{name}, {kind:?}: {apart}");
        }
        for split in [CostSplit::Shoot, CostSplit::Component] {
            let parts = report.cost_split(name, split);
            assert!(parts.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{parts:?}");
            near(parts.iter().map(|(_, usd)| usd).sum(), total, name);
        }
        let pairs = report.cost_split(name, CostSplit::ZonePair);
        let crossing = usd(&report, name, |row| row.kind == CostKind::CrossZone);
        near(pairs.iter().map(|(_, usd)| usd).sum(), crossing, name);
        let tolerance = report.tolerance_cost.iter().filter(|row| row.provider == *name);
        near(tolerance.map(|row| f64::from(row.shoots) * (row.own_usd + row.shared_usd)).sum(), total, name);
    }
    let machines = usd(&report, "aws", |row| row.kind == CostKind::Machine);
    near(machines, 22.0 * MONTH_H * 0.428, "all machines, whoever has them");
}

#[test]
fn costs_have_nine_fields_and_are_there_where_there_are_prices() {
    let mut json = story();
    json["duration"] = json!("1h");
    let charged = report(&json);
    let found = charged.to_json();
    for row in found["cost"].as_array().expect("rows") {
        let fields: Vec<&String> = row.as_object().expect("an object").keys().collect();
        let nine = ["provider", "kind", "shoot", "component", "from_zone", "to_zone", "per_month_usd", "quantity", "unit"];
        assert_eq!(fields, nine);
        assert_eq!(row["from_zone"].is_null(), row["kind"] != "cross_zone", "{row}");
    }
    assert!(
        found["prices"].as_array().is_some_and(|rows| rows.iter().all(|row| !row["source"].is_null() && !row["check"].is_null()))
    );
    json["prices"] = json!({"books": []});
    let free = report(&json);
    let plain = free.to_json();
    assert!(["cost", "prices", "bill", "tolerance_cost"].iter().all(|field| plain.get(field).is_none()));
    assert_eq!((free.trace_hash, free.events), (charged.trace_hash, charged.events), "who charges changes nothing");
}

/// What is broken is charged as long as the cloud has it, and what replaces it from when it is there.
#[test]
fn a_machine_is_charged_until_it_is_deleted() {
    let file = bundled().iter().find(|file| file.name == "node-failure-zone").expect("it is bundled");
    let scenario = Arc::new(Scenario::from_json(file.json).expect("it is valid"));
    let (mut made, mut joined, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let mut note = |at: zonefall_core::kernel::time::Time, record: &zonefall_core::record::Record| {
        use zonefall_core::kube::record::{KubeRecord, MachineFact, NodeFact};
        if let zonefall_core::record::Record::Kube(_, fact) = record {
            match fact {
                KubeRecord::Machine(_, MachineFact::Created) => made.push(at.as_secs_f64()),
                KubeRecord::Machine(_, MachineFact::Removed) => removed.push(at.as_secs_f64()),
                KubeRecord::Node(_, NodeFact::Registered) => joined.push(at.as_secs_f64()),
                _ => {}
            }
        }
    };
    let report = run(&scenario, scenario.seed, Options::default(), &mut note, &mut |_| {});
    let ([made], [joined], [removed]) = (&made[..], &joined[..], &removed[..]) else { panic!("one machine for one") };
    // node-a1 crashes at 600 s and is given up ten minutes after it was found out of reach.
    assert!(*removed > 600.0 + 720.0 && made < joined);
    let machines = report.cost.iter().filter(|row| row.provider == "aws" && row.kind == CostKind::Machine);
    let hours: f64 = machines.map(|row| row.quantity).sum();
    let machines_s = hours * 3_600.0 * report.simulated_s / (MONTH_H * 3_600.0);
    let new_s = machines_s - 5.0 * 3_600.0 - removed;
    assert!(3_600.0 - joined < new_s && new_s < 3_600.0 - made, "{new_s} of {made} to {joined}");
}
