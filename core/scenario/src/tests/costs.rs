//! What requests cost, as files say it.

use serde_json::json;

use super::messages::{changed, errors_of};
use super::*;
use crate::cost::{Backend, Process, RequestCost};
use crate::ids::{ClientId, EtcdId, VolumeId};
use zonefall_kernel::time::Duration;

#[test]
fn costs_are_lowered_as_they_are_written_and_only_commits_are_there_by_default() {
    let plain = Scenario::from_json(&changed("/name", json!("plain")).to_string()).unwrap();
    let (options, client) = (&plain.etcd[EtcdId(0)].options, &plain.clients[ClientId(0)]);
    assert!(options.cost.is_none() && options.backend == Some(Backend::DEFAULT) && !options.answers_before_sync);
    assert_eq!((client.requests, client.process, plain.volumes[VolumeId(0)].disk.iops), (None, None, None));

    let us = Duration::from_micros;
    let mut file = changed(
        "/etcd/0/options",
        json!({
            "cost": {"cores": 2, "per_request": "50us", "per_mib": "700us", "per_mib_read": "1.7ms", "per_key": "2.18us", "write": "88us"},
            "backend": {"limit": 500}, "answers_before_sync": true,
        }),
    );
    file["etcd"][0]["disk"] = json!({"iops": 3_000});
    file["clients"][0] = json!({
        "name": "c", "zone": "za", "op": "put", "connections": 10, "requests": 1_000,
        "process": {"per_request": "68us", "rpc_overhead": "100us"},
    });
    let scenario = Scenario::from_json(&file.to_string()).unwrap();
    let options = &scenario.etcd[EtcdId(0)].options;
    let cost = RequestCost {
        cores: 2,
        per_request: us(50),
        per_mib: us(700),
        per_mib_read: us(1_700),
        per_key: Duration::from_nanos(2_180),
        write: us(88),
    };
    assert_eq!((options.cost, options.answers_before_sync), (cost, true));
    assert_eq!(options.backend, Some(Backend { interval: us(100_000), limit: 500, syncs: 2 }));
    let client = &scenario.clients[ClientId(0)];
    let process = Process { per_request: us(68), per_mib: Duration::ZERO, rpc_overhead: us(100) };
    assert_eq!((client.requests, client.process), (Some(1_000), Some(process)));
    assert_eq!(scenario.volumes.iter().filter(|volume| volume.disk.iops == Some(3_000)).count(), 3);
}

#[test]
fn costs_that_make_no_sense_are_told() {
    let says = |pointer: &str, value, part: &str| {
        let errors = errors_of(&changed(pointer, value).to_string());
        assert!(errors.contains(part), "{pointer}: {errors}");
    };
    says("/etcd/0/options", json!({"cost": {"cores": 0}}), "etcd[0].options.cost.cores");
    says("/etcd/0/options", json!({"backend": {"interval": "0s"}}), "etcd[0].options.backend.interval");
    says("/clients/0", json!({"name": "c", "zone": "za", "op": "watch", "requests": 3}), "clients[0].requests: expected ");
    let mut pair = changed("/etcd/0/mode", json!({"learner": {}}));
    pair["etcd"][0]["members"] = json!([{"name": "m0", "node": "na"}, {"name": "m1", "node": "nb"}]);
    pair["etcd"][0]["options"] = json!({"answers_before_sync": true});
    assert!(errors_of(&pair.to_string()).contains("etcd[0].options.answers_before_sync"), "{}", errors_of(&pair.to_string()));
}
