//! A bare etcd cluster as a scenario: what the laboratories have in common.

use zonefall_core::etcd::options::EtcdOptions;
use zonefall_core::ids::{NodeId, TiVec, VolumeId, ZoneId};
use zonefall_core::kernel::time::Duration;
use zonefall_core::kube::spec::KubeModel;
use zonefall_core::scenario::network_card;
use zonefall_core::scenario::prices::Prices;
use zonefall_core::scenario::{Client, Disk, EtcdClusterSpec, Member, Network, Node, Probe, ProbeFrom, Scenario, Volume, Zone};

/// One cluster, a node and a volume for each member.
#[derive(Clone, Debug)]
pub struct Bare {
    /// Names of the zones.
    pub zones: Vec<String>,
    /// The zone of each member.
    pub places: Vec<ZoneId>,
    /// Each volume's.
    pub disk: Disk,
    /// Between the zones.
    pub network: Network,
    /// Of the cluster.
    pub options: EtcdOptions,
    /// The member that leads at first.
    pub leader: u8,
    /// Who asks it.
    pub clients: Vec<Client>,
    /// Of the run.
    pub duration: Duration,
}

impl Bare {
    /// The same as a scenario without faults.
    pub fn scenario(self) -> Scenario {
        let Self { zones, places, disk, network, options, leader, clients, duration } = self;
        let each = || (0u16..).zip(&places);
        let member = |(i, _): (u16, &ZoneId)| Member {
            name: format!("etcd-main-{i}"),
            node: NodeId(i),
            volume: VolumeId(i),
            learner: false,
            initial: true,
            behind: None,
        };
        Scenario {
            name: "laboratory".into(),
            title: "A measured set-up".into(),
            description: String::new(),
            seed: 1,
            duration,
            regions: vec!["region".into()],
            zones: zones.into_iter().map(|name| Zone { name, region: 0 }).collect(),
            nodes: each()
                .map(|(i, zone)| Node { name: format!("node-{i}"), zone: *zone, card_bytes_per_s: network_card::DEFAULT })
                .collect(),
            volumes: each().map(|(i, zone)| Volume { name: format!("volume-{i}"), zone: *zone, disk: disk.clone() }).collect(),
            network,
            etcd: TiVec::from(vec![EtcdClusterSpec {
                name: "etcd-main".into(),
                options,
                initial_leader: Some(leader),
                revision: 0,
                database_bytes: 0,
                managed: false,
                passive: None,
                members: each().map(member).collect(),
            }]),
            kube: KubeModel::default(),
            prices: Prices::default(),
            clients: clients.into(),
            faults: Vec::new(),
            random_faults: Vec::new(),
            operations: Vec::new(),
            load_balancers: Vec::new().into(),
            maintenance: Vec::new(),
            probe: Probe { from: ProbeFrom::Worst, deadline: Duration::from_secs(2) },
            expect: Vec::new(),
            observe_at: Vec::new(),
            inputs: Vec::new(),
            contradictions: Vec::new(),
            warnings: Vec::new(),
        }
    }
}
