//! etcd on the hosts of a cluster's control plane: its members are added and removed as those of any other etcd.

use std::sync::Arc;

use serde_json::json;

use crate::ids::NodeId;
use crate::kernel::time::{Duration, Time};
use crate::kube::record::{KubeRecord, Replica, ServerFact};
use crate::record::Record;
use crate::run::run_checked;
use crate::scenario::Scenario;
use crate::sim::{Options, Stepping};

#[test]
fn a_member_that_lost_its_volume_is_replaced() {
    let file = json!({
        "name": "replaced", "duration": "20m",
        "topology": {"regions": [{"name": "r", "zones": ["za", "zb", "zc"]}]},
        "clusters": [{"name": "plain", "zones": ["za", "zb", "zc"], "pools": [{"name": "w", "minimum": 3, "maximum": 3}]}],
        "faults": [{"at": "5m", "kind": "volume_lost", "volume": "plain/etcd-2"}],
        "operations": [
            {"at": "10m", "etcd": "plain/etcd", "remove_member": "etcd-2"},
            {"at": "11m", "etcd": "plain/etcd", "add_member": {"name": "etcd-2", "node": "plain-control-plane-2", "learner": true}},
            {"at": "12m", "etcd": "plain/etcd", "promote_member": "etcd-2"},
        ],
    });
    let scenario = Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("{errors}")));
    let host = NodeId(scenario.nodes.iter().position(|node| node.name == "plain-control-plane-2").expect("a host") as u16);
    let minutes = |m: u64| Time::ZERO + Duration::from_secs(60 * m);
    for stepping in [Stepping::FastForward, Stepping::EveryEvent] {
        let mut facts = Vec::new();
        let report = run_checked(&scenario, 1, Options { stepping, ..Options::default() }, &mut |at, record| {
            if let Record::Kube(_, KubeRecord::ApiServer(Replica::Host(node), fact)) = record
                && *node == host
                && at > Time::ZERO
            {
                facts.push((at, *fact));
            }
        });
        assert_eq!(report.violations, [], "{stepping:?}");
        assert!(report.etcd["plain/etcd"].write_unavailable_s <= 0.0, "two of three are a majority");
        let when = |wanted: ServerFact| facts.iter().find(|(_, fact)| *fact == wanted).map(|(at, _)| *at);
        let (lost, back) = (when(ServerFact::Ready(false)), when(ServerFact::Ready(true)));
        assert!(lost.is_some_and(|at| minutes(5) < at && at < minutes(6)), "its member is gone: {facts:?}");
        assert!(when(ServerFact::Etcd(Some(3))).is_some_and(|at| at > minutes(12)), "a learner serves nobody: {facts:?}");
        assert!(back.is_some_and(|at| minutes(12) < at && at < minutes(13)), "{facts:?}");
    }
}
