//! A small scenario for tests.

use crate::ids::{EtcdId, MemberId, NodeId, TiVec, VolumeId, ZoneId};
use crate::kube::KubeModel;
use crate::network_card;
use crate::options::EtcdOptions;
use crate::prices::Prices;
use crate::{
    Client, Disk, EtcdClusterSpec, Load, Member, Network, Node, Op, Path, Probe, ProbeFrom, Scenario, Target, Volume, Zone,
};
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::{Duration, Time};

/// The only cluster.
pub const CLUSTER: EtcdId = EtcdId(0);

/// Member `index` of the only cluster.
pub fn member(index: u8) -> MemberId {
    MemberId { cluster: CLUSTER, index }
}

/// `ms` milliseconds after the start.
pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Three zones `z-a`, `z-b`, `z-c`, in each a node `node-*` with a member `etcd-main-*`; the first leads. Ten minutes.
pub fn three_zones() -> Scenario {
    let names = ["a", "b", "c"];
    let path = Path { delay: Duration::from_micros(500), jitter: Latency::NONE, loss: 0.0, bytes_per_s: 1 << 30 };
    let disk = Disk { fsync: Latency::Constant(Duration::from_millis(1)), bytes_per_s: 1 << 30, iops: None };
    let per_zone = |f: &dyn Fn(u16) -> Member| (0..3).map(f).collect();
    Scenario {
        name: "test".into(),
        title: "Test".into(),
        description: String::new(),
        seed: 1,
        duration: Duration::from_secs(600),
        regions: vec!["z".into()],
        zones: names.iter().map(|n| Zone { name: format!("z-{n}"), region: 0 }).collect(),
        nodes: (0..3)
            .map(|i| Node {
                name: format!("node-{}", names[i as usize]),
                zone: ZoneId(i),
                card_bytes_per_s: network_card::DEFAULT,
            })
            .collect(),
        volumes: (0..3).map(|i| Volume { name: format!("vol-{i}"), zone: ZoneId(i), disk: disk.clone() }).collect(),
        network: Network { paths: vec![path.clone(); 9], same_host: path, tls: true, certificate_bytes: 850 },
        etcd: TiVec::from(vec![EtcdClusterSpec {
            name: "etcd-main".into(),
            options: EtcdOptions::default(),
            initial_leader: Some(0),
            revision: 0,
            database_bytes: 0,
            managed: false,
            passive: None,
            members: per_zone(&|i| Member {
                name: format!("etcd-main-{i}"),
                node: NodeId(i),
                volume: VolumeId(i),
                learner: false,
                initial: true,
                behind: None,
            }),
        }]),
        kube: KubeModel::default(),
        load_balancers: TiVec::new(),
        prices: Prices::default(),
        clients: TiVec::new(),
        faults: Vec::new(),
        random_faults: Vec::new(),
        operations: Vec::new(),
        maintenance: Vec::new(),
        probe: Probe { from: ProbeFrom::Worst, deadline: Duration::from_secs(1) },
        expect: Vec::new(),
        observe_at: Vec::new(),
        inputs: Vec::new(),
        contradictions: Vec::new(),
        warnings: Vec::new(),
    }
}

/// A client in the first zone.
pub fn client(name: &str, target: Target) -> Client {
    Client {
        name: name.into(),
        etcd: CLUSTER,
        zone: ZoneId(0),
        node: None,
        op: Op::Watch,
        target,
        load: Load::Closed { connections: 1 },
        requests: None,
        process: None,
        timeout: Duration::from_secs(7),
        silence: Duration::from_secs(8),
        retries: 1,
        start: Time::ZERO,
        stop: Time::MAX,
        server: None,
    }
}
