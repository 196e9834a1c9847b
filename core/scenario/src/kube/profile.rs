//! What Gardener deploys: the components of a shoot's control plane and of a seed, as GEP-20 lists them ("Shoot Control Plane
//! Components", "Seed System Components", its tables of pods). Requests, sizes of
//! images and volumes, and start-up times are assumed.

use super::Component;
use super::gardener::{FailureTolerance, Recovery};
use zonefall_kernel::time::Duration;

/// A component as it is deployed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// What looks after its pods.
    pub kind: Kind,
    /// What its pods are for.
    pub part: Part,
    /// Pods, by what the control plane is to survive.
    pub replicas: Replicas,
    /// Thousandths of a CPU that each pod requests.
    pub cpu_milli: u64,
    /// MiB of memory that each pod requests.
    pub memory_mib: u64,
    /// MB of its image.
    pub image_mb: u64,
    /// Seconds until a pod that was told to run is ready.
    pub start_s: u64,
    /// GiB of the volume of each of its pods, where it is a `StatefulSet`.
    pub volume_gib: u64,
}

/// What looks after a component's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment.
    Deployment,
    /// A `StatefulSet` whose pods have a volume each.
    StatefulSet,
    /// A `DaemonSet`.
    DaemonSet,
}

/// What a component's pods are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nothing else depends on them here.
    Other,
    /// API servers of the shoot.
    ApiServer,
    /// The shoot's etcd.
    EtcdMain,
    /// The shoot's etcd for events.
    EtcdEvents,
    /// A controller of which one replica leads.
    Controller(Component),
}

/// How many pods a component has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// Always so many.
    Always(u32),
    /// One, or three where a failure is to be survived.
    Several,
    /// One, or two where recovery is by redundancy.
    Critical,
}

impl Replicas {
    /// Pods of a component.
    pub const fn count(self, tolerance: FailureTolerance, recovery: Recovery) -> u32 {
        match (self, tolerance, recovery) {
            (Self::Always(count), ..) => count,
            (Self::Several, FailureTolerance::None, _) => 1,
            (Self::Several, ..) => 3,
            (Self::Critical, _, Recovery::Redundant) => 2,
            (Self::Critical, ..) => 1,
        }
    }
}

/// How long a pod takes to stop when asked to (assumed).
pub const STOP: Duration = Duration::from_secs(2);

const fn deployment(name: &'static str, part: Part, replicas: Replicas, numbers: [u64; 4]) -> Profile {
    let [cpu_milli, memory_mib, image_mb, start_s] = numbers;
    let (kind, volume_gib) = (Kind::Deployment, 10);
    Profile { name, kind, part, replicas, cpu_milli, memory_mib, image_mb, start_s, volume_gib }
}

/// The last of the numbers are GiB of its volumes.
const fn set(name: &'static str, part: Part, replicas: Replicas, numbers: [u64; 5]) -> Profile {
    let [cpu_milli, memory_mib, image_mb, start_s, volume_gib] = numbers;
    let pods = deployment(name, part, replicas, [cpu_milli, memory_mib, image_mb, start_s]);
    Profile { kind: Kind::StatefulSet, volume_gib, ..pods }
}

const fn small(name: &'static str) -> Profile {
    deployment(name, Part::Other, Replicas::Always(1), [50, 64, 60, 5])
}

const fn controller(name: &'static str, part: Part, image_mb: u64) -> Profile {
    deployment(name, part, Replicas::Critical, [100, 128, image_mb, 5])
}

const fn system(name: &'static str, part: Part) -> Profile {
    deployment(name, part, Replicas::Always(2), [100, 128, 80, 5])
}

/// The control plane of a shoot.
pub const SHOOT: [Profile; 23] = [
    set("etcd-main", Part::EtcdMain, Replicas::Several, [300, 1_024, 150, 1, 25]),
    set("etcd-events", Part::EtcdEvents, Replicas::Several, [100, 256, 150, 1, 10]),
    deployment("kube-apiserver", Part::ApiServer, Replicas::Several, [800, 1_024, 130, 20]),
    deployment("gardener-resource-manager", Part::Other, Replicas::Always(3), [20, 64, 80, 5]),
    controller("kube-controller-manager", Part::Controller(Component::ControllerManager), 120),
    controller("kube-scheduler", Part::Controller(Component::Scheduler), 60),
    controller("cloud-controller-manager", Part::Other, 80),
    controller("machine-controller-manager", Part::Controller(Component::MachineControllerManager), 80),
    controller("csi-driver-controller", Part::Other, 120),
    controller("cluster-autoscaler", Part::Controller(Component::Autoscaler), 80),
    small("cert-controller-manager"),
    small("csi-snapshot-controller"),
    small("csi-snapshot-validation"),
    small("grafana-operators"),
    small("grafana-users"),
    small("kube-state-metrics"),
    small("shoot-dns-service"),
    small("vpa-admission-controller"),
    small("vpa-recommender"),
    small("vpa-updater"),
    small("vpn-seed-server"),
    set("prometheus", Part::Other, Replicas::Always(1), [100, 512, 100, 10, 20]),
    set("loki", Part::Other, Replicas::Always(1), [100, 512, 100, 10, 30]),
];

/// What a seed runs for itself, in its namespace `garden`.
pub const SEED: [Profile; 9] = [
    system("etcd-druid", Part::Controller(Component::Druid)),
    system("gardenlet", Part::Controller(Component::Gardenlet)),
    system("istiod", Part::Other),
    system("istio-ingressgateway", Part::Other),
    system("gardener-seed-admission-controller", Part::Other),
    system("nginx-ingress-controller", Part::Other),
    system("reversed-vpn-auth-server", Part::Other),
    system("gardener-resource-manager", Part::Other),
    Profile { kind: Kind::DaemonSet, ..deployment("node-agents", Part::Other, Replicas::Always(0), [200, 256, 100, 5]) },
];
