//! What files may say of volumes and disks, and of zones that are added.

use serde_json::{Value, json};

use super::messages::errors_of;
use crate::Scenario;
use crate::ids::ZoneId;
use crate::kube::volume::{VolumeSource, ZoneLookup};

/// A cluster over two zones with a workload, whose fields come first, and with fields of its own.
fn file(workload: &Value, cluster: &Value, operations: &Value) -> Value {
    let mut db = json!({"name": "db", "kind": "stateful_set", "replicas": 1});
    db.as_object_mut().expect("an object").extend(workload.as_object().expect("fields").clone());
    let mut plain = json!({
        "name": "c", "zones": ["za", "zb"], "pools": [{"name": "worker", "minimum": 2, "maximum": 2}], "workloads": [db],
    });
    plain.as_object_mut().expect("an object").extend(cluster.as_object().expect("fields").clone());
    json!({
        "name": "volumes", "duration": "1h", "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [plain], "operations": operations,
    })
}

#[test]
fn disks_are_one_pods_and_names_are_as_unique_as_the_cloud_has_them() {
    let twice = json!([{"name": "d", "zone": "za"}, {"name": "d", "zone": "zb"}]);
    for (workload, cluster, expected) in [
        (json!({"disk": {"name": "d"}}), json!({"disks": twice, "disk_lookup": "each_zone"}), ""),
        (
            json!({"disk": {"name": "d"}}),
            json!({"disks": twice}),
            "clusters[0].disks[1].name: expected a unique name: with `disk_lookup` of `regional`, names are unique across zones; found \"d\"",
        ),
        (
            json!({"disk": {"name": "d"}}),
            json!({"disks": [{"name": "d", "zone": "za"}, {"name": "d", "zone": "za"}]}),
            "clusters[0].disks[1]: expected at most one disk of each name in a zone; found \"d\" in zone za again",
        ),
        (
            json!({"disk": {"name": "e", "zone": "zx"}}),
            json!({"disks": [{"name": "d", "zone": "za"}]}),
            "clusters[0].workloads[0].disk.zone: expected the name of a zone: \"za\", \"zb\" or \"zc\" (did you mean \"za\"?); found \"zx\"\n\
             clusters[0].workloads[0].disk.name: expected the name of one of the cluster's `disks` (did you mean \"d\"?); found \"e\"",
        ),
        (
            json!({"disk": {"name": "d"}, "replicas": 2}),
            json!({"disks": [{"name": "d", "zone": "za"}]}),
            "clusters[0].workloads[0].disk: expected a StatefulSet of `clusters` with `replicas` of 1 and no `volume`: a disk can be attached to one node at a time; found a disk",
        ),
        (
            json!({"disk": {"name": "d"}}),
            json!({
                "disks": [{"name": "d", "zone": "za"}],
                "workloads": [
                    {"name": "db", "kind": "stateful_set", "disk": {"name": "d"}},
                    {"name": "other", "kind": "stateful_set", "disk": {"name": "d", "zone": "za"}},
                ],
            }),
            "clusters[0].workloads[1].disk.name: expected a disk that no other workload uses: a disk can be attached to one node at a time; found \"d\" again",
        ),
        (
            json!({"volume": "regional", "volume_binding": "immediate"}),
            json!({}),
            "clusters[0].workloads[0].volume_binding: expected a `volume` of `zonal`: a regional volume can be attached in every zone; found immediate",
        ),
        (
            json!({"volume_binding": "immediate"}),
            json!({}),
            "clusters[0].workloads[0].volume_binding: expected no `volume_binding`: it is for workloads of `clusters` that have a `volume`; found one",
        ),
    ] {
        assert_eq!(errors_of(&file(&workload, &cluster, &json!([])).to_string()), expected, "{workload}, {cluster}");
    }
}

#[test]
fn labels_of_disks_are_found_when_the_file_is_read() {
    let label = |disk: Value, cluster: Value| {
        let mut cluster = cluster;
        cluster["disks"] = json!([{"name": "d", "zone": "za"}, {"name": "d", "zone": "zb"}]);
        let text = file(&json!({"disk": disk}), &cluster, &json!([])).to_string();
        let scenario = Scenario::from_json(&text).unwrap_or_else(|errors| panic!("{errors}"));
        let volume = scenario.kube.clusters.raw[0].workloads.raw[0].volume.expect("it has a disk");
        let VolumeSource::ExistingDisk(mount) = volume.source else { panic!("{volume:?}") };
        (mount.lookup, mount.calls)
    };
    let each = || json!({"disk_lookup": "each_zone"});
    // All three zones of the region are asked, whether the cluster has nodes there or not.
    assert_eq!(label(json!({"name": "d"}), each()), (ZoneLookup::Ambiguous, 3));
    assert_eq!(label(json!({"name": "d", "zone": "zb"}), each()), (ZoneLookup::Found(ZoneId(1)), 1));
    assert_eq!(label(json!({"name": "d"}), json!({"disk_lookup": "one_zone"})), (ZoneLookup::Found(ZoneId(0)), 1));
    assert_eq!(label(json!({"name": "d", "claim": false}), each()), (ZoneLookup::DirectMount, 0));
    assert_eq!(
        label(json!({"name": "d"}), json!({"disk_lookup": "each_zone", "persistent_volume_label": false})),
        (ZoneLookup::Disabled, 0)
    );
}

#[test]
fn workload_with_a_disk_is_not_scaled_beyond_one_pod() {
    let scaled = |replicas: u32| {
        let operation = json!([{"at": "10m", "scale_workload": {"cluster": "c", "workload": "db", "replicas": replicas}}]);
        let disks = json!({"disks": [{"name": "d", "zone": "za"}]});
        errors_of(&file(&json!({"disk": {"name": "d"}}), &disks, &operation).to_string())
    };
    assert_eq!([0, 1].map(scaled), [String::new(), String::new()]);
    let expected =
        "operations[0].scale_workload.replicas: expected at most 1: a disk can be attached to one node at a time; found 2";
    assert_eq!(scaled(2), expected);
}

#[test]
fn zones_are_added_once_and_where_no_controller_makes_machines() {
    let add = |zone: &str| json!({"at": "10m", "add_zone": {"cluster": "c", "zone": zone, "pool": "worker", "nodes": 2}});
    for (cluster, operations, expected) in [
        (json!({}), json!([add("zc"), {"at": "20m", "deschedule": {"cluster": "c"}}]), ""),
        (
            json!({}),
            json!([add("za"), add("zc"), add("zc")]),
            "operations[0].add_zone.zone: expected a zone that has no nodes of the cluster, and that no earlier operation adds; found \"za\"\n\
             operations[2].add_zone.zone: expected a zone that has no nodes of the cluster, and that no earlier operation adds; found \"zc\"",
        ),
        (
            json!({"components": ["kube_controller_manager", "kube_scheduler", "machine_controller_manager"]}),
            json!([add("zc")]),
            "operations[0].add_zone.cluster: expected a cluster without `machine_controller_manager`: with it, list the zone in the pool from the start; found \"c\"",
        ),
    ] {
        assert_eq!(errors_of(&file(&json!({}), &cluster, &operations).to_string()), expected, "{operations}");
    }
}
