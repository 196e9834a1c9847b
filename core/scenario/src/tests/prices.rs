//! Price books, and what a scenario says of prices.

use serde_json::{Value, json};

use super::kube::landscape;
use super::*;
use crate::ids::{EtcdId, KubeClusterId, MachineDeploymentId};
use crate::kube::Kind as SetKind;
use crate::prices::{Check, PriceBookName, PriceKind, Shape};

fn with_prices(prices: Value) -> Value {
    let mut raw = landscape(json!([{"name": "s", "seed": "seed", "failure_tolerance": "zone"}]));
    raw["prices"] = prices;
    raw
}

fn read(prices: Value) -> Scenario {
    Scenario::from_json(&with_prices(prices).to_string()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(raw: &Value) -> String {
    Scenario::from_json(&raw.to_string()).err().map_or_else(String::new, |errors| errors.to_string())
}

fn line(kind: &str, usd: f64, unit: &str) -> Value {
    json!({"provider": "mine", "kind": kind, "usd": usd, "unit": unit, "date": "2026-01-31", "source": "contract"})
}

/// A provider of its own, for all that is charged.
fn mine() -> Vec<Value> {
    let mut machine = line("machine", 0.5, "h");
    machine["machine"] = json!("8cpu-32gib");
    let hours = line("load_balancer_hours", 0.0, "h");
    vec![
        machine,
        hours,
        line("volume", 0.1, "GiB-month"),
        line("cross_zone_out", 0.002, "GiB"),
        line("cross_zone_in", 0.0, "GiB"),
    ]
}

#[test]
fn each_line_of_a_book_says_of_when_it_is_and_where_it_stands() {
    for name in PriceBookName::ALL {
        let book = name.book();
        assert_eq!(json!(name), json!(book.name));
        assert_eq!(book.name, format!("{}-{}", book.provider, book.region));
        for price in book.prices {
            let own = format!("{}: {}", book.name, price.what);
            assert!(price.date.starts_with("20") && !price.source.is_empty() && price.check != Check::Given, "{own}");
            assert!(price.usd.is_finite() && price.usd >= 0.0, "{own}");
        }
        // Nothing is missing, and nothing is there twice.
        for kind in PriceKind::ALL {
            assert!(book.prices.iter().any(|price| price.item.kind() == kind), "{} of {}", kind.word(), book.name);
        }
        for (k, price) in book.prices.iter().enumerate() {
            assert!(book.prices[..k].iter().all(|other| other.item != price.item), "{}: {}", book.name, price.what);
        }
    }
}

#[test]
fn what_was_seen_is_in_the_books() {
    // `defaults.csv`: "AWS cross-AZ", "GCP inter-zone", "Azure inter-AZ", "AWS gp3 us-east-1".
    let of = |name: PriceBookName, kind| name.book().prices.iter().find(|price| price.item.kind() == kind).expect("a price").usd;
    for aws in [PriceBookName::AwsEuWest1, PriceBookName::AwsUsEast1] {
        assert_eq!((of(aws, PriceKind::CrossZoneOut), of(aws, PriceKind::CrossZoneIn)), (0.01, 0.01));
    }
    let gcp = PriceBookName::GcpEuropeWest1;
    assert_eq!((of(gcp, PriceKind::CrossZoneOut), of(gcp, PriceKind::CrossZoneIn)), (0.01, 0.0));
    let azure = PriceBookName::AzureWestEurope;
    assert_eq!((of(azure, PriceKind::CrossZoneOut), of(azure, PriceKind::CrossZoneIn)), (0.0, 0.0));
    let east = PriceBookName::AwsUsEast1;
    assert_eq!((of(east, PriceKind::Volume), of(east, PriceKind::CrossZoneOut)), (0.08, 0.01));
}

#[test]
fn bytes_of_load_balancers_and_backups_have_prices_where_apis_are_used() {
    let mut raw = with_prices(json!({"custom": mine()}));
    assert_eq!(errors(&raw), "");
    raw["shoots"][0]["use"] = json!({});
    let missing = |kind| {
        format!("prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of mine for {kind}")
    };
    let kinds = ["load_balancer_bytes", "backup_storage", "backup_requests"];
    assert_eq!(errors(&raw), kinds.map(missing).join("\n"));
    let own = [line(kinds[0], 0.006, "GB"), line(kinds[1], 0.02, "GiB-month"), line(kinds[2], 0.005, "1000 requests")];
    raw["prices"]["custom"].as_array_mut().expect("an array").extend(own);
    assert_eq!(errors(&raw), "");
    raw["prices"]["custom"][7]["unit"] = json!("GiB");
    assert_eq!(errors(&raw), "prices.custom[7].unit: expected \"1000 requests\" for backup_requests; found \"GiB\"");
}

/// A cluster without Gardener has no load balancer and no backups, but volumes, and hosts if they have a size.
#[test]
fn a_cluster_needs_prices_of_what_it_has() {
    let own = |kind| line(kind, 0.01, "GB");
    let of = |cluster: Value| {
        let mut machine = line("machine", 0.4, "h");
        machine["machine"] = json!("8cpu-32gib");
        let mut raw = json!({
            "name": "plain", "duration": "1m",
            "topology": {"regions": [{"name": "r", "zones": ["a"]}]},
            "clusters": [{"name": "c", "zones": ["a"], "use": {}, "pools": [{"name": "p", "minimum": 1, "maximum": 1}]}],
            "prices": {"custom": [machine, own("cross_zone_out"), own("cross_zone_in")]},
        });
        raw["clusters"][0].as_object_mut().expect("fields").extend(cluster.as_object().expect("fields").clone());
        errors(&raw)
    };
    let missing = |what| {
        format!("prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of mine for {what}")
    };
    assert_eq!(of(json!({})), "");
    let machine = json!({"control_plane": {"machine": {"cpu": 4, "memory": "16GiB"}}});
    assert_eq!(of(machine), missing("a machine of 4cpu-16gib"));
    let volume = json!({"workloads": [{"name": "db", "kind": "stateful_set", "volume": "zonal"}]});
    assert_eq!(of(volume), missing("volume"));
}

/// Without a word about prices everything is charged by one book, or nothing: a bill without its machines would be taken for the whole.
#[test]
fn a_book_is_the_default_where_it_has_all_prices() {
    let charging = |scenario: &Scenario| -> Vec<String> {
        scenario
            .prices
            .providers
            .iter()
            .map(|own| format!("{} {}", own.name, own.region.as_deref().unwrap_or_default()))
            .collect()
    };
    let aws = read(json!({}));
    assert_eq!((charging(&aws), &aws.warnings[..]), (vec!["aws eu-west-1".to_owned()], &[][..]));
    assert_eq!(charging(&read(json!({"books": []}))), [""; 0]);
    assert_eq!(charging(&read(json!({"custom": mine()}))), ["mine "]);
    let mut odd = landscape(json!([{"name": "s", "seed": "seed"}]));
    odd["seeds"][0]["pools"][0]["machine"] = json!({"cpu": 700, "memory": "32GiB"});
    let odd = Scenario::from_json(&odd.to_string()).expect("it is right");
    let warning = "prices: expected a price of it in `prices.custom`, 0 where it is free, or `books: []` for no costs; \
                   found no price of aws for a machine of 700cpu-32gib: no costs are computed";
    assert_eq!(
        (charging(&odd).len(), odd.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()),
        (0, vec![warning.to_owned()])
    );
}

/// What a node has for pods is less than its type has.
#[test]
fn a_machine_that_is_no_type_is_charged_as_one_that_has_as_much() {
    let aws = PriceBookName::AwsEuWest1.book().charges();
    let of = |cpu_milli, gib: u64| aws.machine(Shape { cpu_milli, memory: gib << 30 }).map(|price| price.what.to_string());
    let [xlarge, large4] = ["m5.xlarge", "m5.4xlarge"].map(|what| Some(what.to_owned()));
    assert_eq!([of(4_000, 16), of(3_900, 15), of(15_800, 60), of(2_000, 33)], [xlarge.clone(), xlarge, large4.clone(), large4]);
    assert_eq!(of(15_800, 100_000), None);
}

/// A node is its members'. A volume is there from when its member is added on; one that the file names, from the start.
#[test]
fn nodes_and_volumes_of_etcd_are_charged() {
    let member = |name: &str, node: &str| json!({"name": name, "node": node});
    let etcd = |name: &str, members: Value| json!({"name": name, "members": members, "volume_size": "10GiB"});
    let named = json!({"name": "m-0", "node": "n0", "volume": "v"});
    let raw = json!({
        "name": "etcd", "duration": "1h",
        "topology": {
            "regions": [{"name": "r", "zones": ["a"]}],
            "nodes": [{"name": "n0", "zone": "a", "machine": "4cpu-16gib"}, {"name": "n1", "zone": "a"}, {"name": "n2", "zone": "a"}],
            "volumes": [{"name": "v", "zone": "a", "size": "50GiB"}, {"name": "spare", "zone": "a"}],
        },
        "etcd": [etcd("main", json!([named, member("m-1", "n1")])), etcd("events", json!([member("e-0", "n0")]))],
        "operations": [{"at": "10m", "etcd": "main", "add_member": member("m-2", "n1")}],
    });
    let prices = Scenario::from_json(&raw.to_string()).unwrap_or_else(|errors| panic!("{errors}")).prices;
    let nodes: Vec<_> = prices.nodes.iter().map(|node| (node.shape.to_string(), node.etcd.clone())).collect();
    let (main, events) = (EtcdId(0), EtcdId(1));
    let small = || "2cpu-8gib".to_owned();
    assert_eq!(nodes, [("4cpu-16gib".to_owned(), vec![main, events]), (small(), vec![main]), (small(), vec![])]);
    let volumes: Vec<_> =
        prices.volumes.iter().map(|volume| (volume.bytes >> 30, volume.from.as_secs_f64(), volume.etcd)).collect();
    let own = |from, of| (10, from, Some(of));
    assert_eq!(volumes, [(50, 0.0, Some(main)), (25, 0.0, None), own(0.0, main), own(600.0, main), own(0.0, events)]);
    let mut odd = raw.clone();
    odd["topology"]["nodes"][1]["machine"] = json!("large");
    let expected = "topology.nodes[1].machine: expected CPUs and GiB of memory, such as \"8cpu-32gib\"; found \"large\"";
    assert_eq!(errors(&odd), expected);
}

#[test]
fn books_and_prices_make_providers() {
    let mut custom = mine();
    custom.push(json!({
        "provider": "aws", "kind": "volume", "usd": 0.05, "unit": "GiB-month", "date": "2026-01", "source": "discount",
    }));
    let prices = read(json!({"books": ["aws-eu-west-1", "azure-westeurope"], "custom": custom})).prices;
    let names: Vec<&str> = prices.providers.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names, ["aws", "azure", "mine"]);
    let [aws, azure, mine] = &prices.providers[..] else { panic!("three") };
    let volume = aws.volume(25 << 30).expect("a price");
    assert_eq!((volume.usd, volume.check, aws.machine(Shape::of(8, 32)).unwrap().usd), (0.05, Check::Given, 0.428));
    assert_eq!((mine.region.as_ref(), mine.only(PriceKind::CrossZoneOut).unwrap().usd), (None, 0.002));
    // Of tiers the smallest that holds the volume.
    let tier = |gib: u64| azure.volume(gib << 30).map(|price| price.what.as_ref());
    assert_eq!(
        [tier(10), tier(25), tier(32), tier(33)].map(Option::unwrap),
        ["P3", "P4", "P4", "P6"].map(|of| format!("Premium SSD {of}"))
    );
    assert_eq!(tier(513), None);
}

#[test]
fn machines_are_charged_as_what_they_are_or_as_the_file_says() {
    let shape = |prices| {
        let scenario = read(prices);
        let cluster = &scenario.kube.clusters[KubeClusterId(0)];
        scenario.prices.shape(&cluster.machine_deployments[MachineDeploymentId(0)].template.allocatable)
    };
    assert_eq!(shape(json!({"books": ["aws-eu-west-1"]})), Shape::of(8, 32));
    assert_eq!(shape(json!({"books": ["aws-eu-west-1"], "machine": "4cpu-16gib"})), Shape::of(4, 16));
    for text in ["8cpu-32gib", "0.5cpu-1.5gib", "1024cpu-65536gib"] {
        assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
    }
    for text in ["8cpu", "8cpu-32GiB", "cpu-gib", "-1cpu-2gib", "NaNcpu-2gib", ""] {
        assert_eq!(text.parse::<Shape>(), Err(()), "{text}");
    }
}

#[test]
fn volumes_have_the_size_that_gardener_gives_them_or_the_file() {
    let mut raw = with_prices(json!({}));
    raw["shoots"][0]["components"] = json!([
        {"name": "loki", "volume_size": "7GiB"},
        {"name": "mine", "kind": "stateful_set", "volume": "zonal"},
    ]);
    let scenario = Scenario::from_json(&raw.to_string()).unwrap();
    let volumes = scenario.kube.clusters[KubeClusterId(0)]
        .workloads
        .iter()
        .filter(|workload| matches!(workload.kind, SetKind::StatefulSet { .. }));
    let sizes: Vec<(&str, u64)> = volumes.map(|own| (own.name.as_str(), own.volume.expect("a volume").bytes >> 30)).collect();
    assert_eq!(sizes, [("etcd-main", 25), ("etcd-events", 10), ("prometheus", 20), ("loki", 7), ("mine", 10)]);
    raw["shoots"][0]["components"] = json!([{"name": "kube-scheduler", "volume_size": "7GiB"}]);
    assert_eq!(
        errors(&raw),
        "shoots[0].components[0].volume_size: expected none: its pods have no volumes (`volume`); found the size of a volume"
    );
}

#[test]
fn each_mistake_has_its_message() {
    let check = |prices: Value, expected: &str| assert_eq!(errors(&with_prices(prices.clone())), expected, "{prices}");
    check(
        json!({"books": ["aws-eu-west-1", "aws-us-east-1"]}),
        "prices.books[1]: expected one book of each provider: there is another of aws already; found \"aws-us-east-1\"",
    );
    check(
        json!({"books": [], "machine": "8cpu-32gib"}),
        "prices.books: expected a book to charge machines by; or a price in `prices.custom`; found nothing",
    );
    check(
        json!({"books": ["gcp-europe-west1"], "machine": "large"}),
        "prices.machine: expected CPUs and GiB of memory, such as \"8cpu-32gib\"; found \"large\"",
    );
    check(
        json!({"books": ["gcp-europe-west1"], "machine": "300cpu-32gib"}),
        "prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of gcp for a machine of 300cpu-32gib",
    );
    check(
        json!({"custom": mine()[..2]}),
        "prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of mine for volume\n\
         prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of mine for cross_zone_out\n\
         prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of mine for cross_zone_in",
    );
    let broken = |k: usize, field: &str, value: Value| {
        let mut custom = mine();
        custom[k][field] = value;
        json!({"custom": custom})
    };
    check(broken(0, "unit", json!("GB")), "prices.custom[0].unit: expected \"h\" for machine; found \"GB\"");
    check(
        broken(2, "unit", json!("disk-month")),
        "prices.custom[2].up_to: expected the size of the largest volume in this price tier; found nothing",
    );
    check(
        broken(2, "up_to", json!("8GiB")),
        "prices.custom[2].up_to: expected no `up_to`: it is only for prices per disk-month; found \"8GiB\"",
    );
    check(
        broken(1, "date", json!("2026-13")),
        "prices.custom[1].date: expected a month or a day, such as \"2026-01\" or \"2026-01-31\"; found \"2026-13\"",
    );
    check(
        broken(0, "machine", Value::Null),
        "prices.custom[0].machine: expected CPUs and GiB of memory, such as \"8cpu-32gib\": the shape of the machine; found nothing",
    );
    check(
        broken(1, "machine", json!("x")),
        "prices.custom[1].machine: expected no value: load_balancer_hours is not a machine; found \"x\"",
    );
    check(
        broken(4, "unit", json!("GB")),
        "prices: expected prices per the same unit; found cross_zone_out of mine per GiB and cross_zone_in per GB",
    );
    check(
        broken(4, "kind", json!("cross_zone_out")),
        "prices.custom[4]: expected each price once; found a price of mine for bytes to another zone again",
    );
    let small = json!({"custom": [
        {"provider": "azure", "kind": "volume", "usd": 1, "unit": "disk-month", "up_to": "8GiB", "date": "2026-01", "source": "x"}
    ], "books": ["azure-westeurope"]});
    check(
        small,
        "prices: expected a price of it in `prices.custom`, 0 where it is free; found no price of azure for a volume of 30GiB",
    );
}
