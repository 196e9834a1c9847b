//! Prices of clouds as data: what is charged for, per what, and how sure that is.
//!
//! A book is the list prices of one region of one provider, on demand and without discounts, in US dollars. They were written down, not
//! fetched: each line says of which date it is, where to look it up, and whether it was [seen](Check) there. A scenario takes books
//! (`prices.books`) and lines of its own (`prices.custom`), which come before those of a book.

mod aws;
mod azure;
mod gcp;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::EtcdId;
use crate::kube::{KubeModel, Resources};
use zonefall_kernel::time::Time;

/// Kind of price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PriceKind {
    /// Machines, by time.
    Machine,
    /// Volumes, by size and time.
    Volume,
    /// Load balancers, by time.
    LoadBalancerHours,
    /// Bytes through load balancers, in both directions.
    LoadBalancerBytes,
    /// Bytes that leave a zone for another one of its region.
    CrossZoneOut,
    /// Bytes that a zone receives from another zone of its region.
    CrossZoneIn,
    /// Backups of etcd in a bucket, by size and time.
    BackupStorage,
    /// Requests that upload them.
    BackupRequests,
}

impl PriceKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Machine,
        Self::Volume,
        Self::LoadBalancerHours,
        Self::LoadBalancerBytes,
        Self::CrossZoneOut,
        Self::CrossZoneIn,
        Self::BackupStorage,
        Self::BackupRequests,
    ];

    /// As files have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Volume => "volume",
            Self::LoadBalancerHours => "load_balancer_hours",
            Self::LoadBalancerBytes => "load_balancer_bytes",
            Self::CrossZoneOut => "cross_zone_out",
            Self::CrossZoneIn => "cross_zone_in",
            Self::BackupStorage => "backup_storage",
            Self::BackupRequests => "backup_requests",
        }
    }
}

/// Unit of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Unit {
    /// An hour.
    #[serde(rename = "h")]
    Hour,
    /// A GiB for a month of 730 h.
    #[serde(rename = "GiB-month")]
    GibMonth,
    /// A whole volume for a month of 730 h, whatever of its tier it uses.
    #[serde(rename = "disk-month")]
    DiskMonth,
    /// 10^9 bytes.
    #[serde(rename = "GB")]
    Gb,
    /// 2^30 bytes.
    #[serde(rename = "GiB")]
    Gib,
    /// A thousand requests.
    #[serde(rename = "1000 requests")]
    Requests,
}

impl Unit {
    /// As files have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hour => "h",
            Self::GibMonth => "GiB-month",
            Self::DiskMonth => "disk-month",
            Self::Gb => "GB",
            Self::Gib => "GiB",
            Self::Requests => "1000 requests",
        }
    }
}

/// How a price was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// It was read in its source.
    Seen,
    /// It was read in a document that cites its source.
    SecondHand,
    /// It was written down from memory: verify it before you rely on it.
    Memory,
    /// The scenario defines it.
    Given,
}

impl Check {
    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::SecondHand => "seen second-hand",
            Self::Memory => "unverified",
            Self::Given => "given",
        }
    }
}

/// What tells a machine from others by its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Thousandths of a CPU.
    pub cpu_milli: u64,
    /// Bytes of memory.
    pub memory: u64,
}

impl Shape {
    /// So many CPUs and GiB.
    pub const fn of(cpus: u64, gib: u64) -> Self {
        Self { cpu_milli: cpus * 1_000, memory: gib << 30 }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}cpu-{}gib", self.cpu_milli as f64 / 1e3, self.memory as f64 / (1_u64 << 30) as f64)
    }
}

impl FromStr for Shape {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (cpus, gib) = text.strip_suffix("gib").and_then(|text| text.split_once("cpu-")).ok_or(())?;
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.001..=1e6).contains(number)).ok_or(());
        let (cpus, gib) = (number(cpus)?, number(gib)?);
        Ok(Self { cpu_milli: (cpus * 1e3).round() as u64, memory: (gib * (1_u64 << 30) as f64).round() as u64 })
    }
}

/// What exactly a line of a book is the price of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A machine.
    Machine(Shape),
    /// A volume; with `up_to`, one of a tier, which holds so many bytes.
    Volume {
        /// Bytes of the tier; `None`: charged by size.
        up_to: Option<u64>,
    },
    /// A load balancer.
    LoadBalancerHours,
    /// Bytes through it.
    LoadBalancerBytes,
    /// Bytes that leave a zone.
    CrossZoneOut,
    /// Bytes that a zone gets.
    CrossZoneIn,
    /// What a bucket holds.
    BackupStorage,
    /// Uploads to it.
    BackupRequests,
}

impl Item {
    /// Its kind.
    pub const fn kind(self) -> PriceKind {
        match self {
            Self::Machine(_) => PriceKind::Machine,
            Self::Volume { .. } => PriceKind::Volume,
            Self::LoadBalancerHours => PriceKind::LoadBalancerHours,
            Self::LoadBalancerBytes => PriceKind::LoadBalancerBytes,
            Self::CrossZoneOut => PriceKind::CrossZoneOut,
            Self::CrossZoneIn => PriceKind::CrossZoneIn,
            Self::BackupStorage => PriceKind::BackupStorage,
            Self::BackupRequests => PriceKind::BackupRequests,
        }
    }
}

/// A line of a book.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// What it is the price of.
    pub item: Item,
    /// What the provider calls that.
    pub what: Cow<'static, str>,
    /// US dollars.
    pub usd: f64,
    /// For one of these.
    pub unit: Unit,
    /// When it was so: a year, a month or a day.
    pub date: Cow<'static, str>,
    /// Where it stands.
    pub source: Cow<'static, str>,
    /// How sure it is.
    pub check: Check,
}

impl Price {
    const fn new(item: Item, what: &'static str, usd: f64, unit: Unit, [date, source]: [&'static str; 2], check: Check) -> Self {
        let (what, date, source) = (Cow::Borrowed(what), Cow::Borrowed(date), Cow::Borrowed(source));
        Self { item, what, usd, unit, date, source, check }
    }

    const fn machine(cpus: u64, gib: u64, what: &'static str, usd: f64, source: [&'static str; 2]) -> Self {
        Self::new(Item::Machine(Shape::of(cpus, gib)), what, usd, Unit::Hour, source, Check::Memory)
    }

    /// A tier of volumes that hold so many GiB.
    const fn tier(gib: u64, what: &'static str, usd: f64, source: [&'static str; 2]) -> Self {
        Self::new(Item::Volume { up_to: Some(gib << 30) }, what, usd, Unit::DiskMonth, source, Check::Memory)
    }
}

/// The list prices of one region of one provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Book {
    /// Its name, as scenarios have it.
    pub name: &'static str,
    /// The provider.
    pub provider: &'static str,
    /// The region, as the provider calls it.
    pub region: &'static str,
    /// Its lines.
    pub prices: &'static [Price],
}

impl Book {
    /// Its provider, with all its prices.
    pub fn charges(&self) -> Provider {
        Provider { name: self.provider.to_owned(), region: Some(self.region.to_owned()), prices: self.prices.to_vec() }
    }
}

/// Which book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PriceBookName {
    /// AWS, Europe (Ireland).
    #[serde(rename = "aws-eu-west-1")]
    AwsEuWest1,
    /// AWS, US East (N. Virginia).
    #[serde(rename = "aws-us-east-1")]
    AwsUsEast1,
    /// Google Cloud, Belgium.
    #[serde(rename = "gcp-europe-west1")]
    GcpEuropeWest1,
    /// Azure, West Europe.
    #[serde(rename = "azure-westeurope")]
    AzureWestEurope,
}

impl PriceBookName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AwsEuWest1, Self::AwsUsEast1, Self::GcpEuropeWest1, Self::AzureWestEurope];

    /// The book.
    pub const fn book(self) -> &'static Book {
        match self {
            Self::AwsEuWest1 => &aws::EU_WEST_1,
            Self::AwsUsEast1 => &aws::US_EAST_1,
            Self::GcpEuropeWest1 => &gcp::EUROPE_WEST1,
            Self::AzureWestEurope => &azure::WEST_EUROPE,
        }
    }
}

/// What a scenario is charged by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Providers, each of which is charged for the whole of it; none: nothing is metered.
    pub providers: Vec<Provider>,
    /// All machines are charged as such; `None`: as what they are.
    pub machine: Option<Shape>,
    /// The nodes of `topology`, which are there all the while.
    pub nodes: Vec<NodeCharge>,
    /// The volumes of `topology`, and those of members of `etcd`.
    pub volumes: Vec<VolumeCharge>,
}

/// A node that no Kubernetes cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCharge {
    /// As what it is charged.
    pub shape: Shape,
    /// The etcd clusters that have a member on it, which bear equal shares.
    pub etcd: Vec<EtcdId>,
}

/// A volume that no pod has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeCharge {
    /// Its size.
    pub bytes: u64,
    /// When it is made. It stays to the end of the run.
    pub from: Time,
    /// The etcd cluster of the member that has it first; `None`: nobody has.
    pub etcd: Option<EtcdId>,
}

impl Prices {
    /// As what a machine with so much for pods is charged.
    pub fn shape(&self, machine: &Resources) -> Shape {
        let Resources { cpu_milli, memory, .. } = *machine;
        self.machine.unwrap_or(Shape { cpu_milli, memory })
    }

    /// As what the machines are charged that are there or may come.
    pub fn shapes(&self, kube: &KubeModel) -> BTreeSet<Shape> {
        let of_pools = kube.clusters.iter().flat_map(|cluster| &cluster.machine_deployments);
        let of_pools = of_pools.map(|deployment| &deployment.template.allocatable);
        let hosts = kube.clusters.iter().filter_map(|cluster| cluster.control_plane_machine.as_ref());
        let of_nodes = self.nodes.iter().map(|node| node.shape);
        of_pools.chain(hosts).map(|machine| self.shape(machine)).chain(of_nodes).collect()
    }

    /// Sizes in bytes of the volumes that are there or may come.
    pub fn volume_sizes(&self, kube: &KubeModel) -> BTreeSet<u64> {
        let of_pods = kube.clusters.iter().flat_map(|cluster| &cluster.workloads).filter_map(|workload| workload.volume);
        of_pods.map(|volume| volume.bytes).chain(self.volumes.iter().map(|volume| volume.bytes)).collect()
    }
}

/// A provider with its prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its region, where the prices are of a book.
    pub region: Option<String>,
    /// One for each kind at least, and for each machine and each size of volume that there is.
    pub prices: Vec<Price>,
}

impl Provider {
    /// The price of a machine: its own, or else of the cheapest type in the book that has as much. (What a node has for pods is less than
    /// its type has.)
    pub fn machine(&self, shape: Shape) -> Option<&Price> {
        let holds = |price: &&Price| match price.item {
            Item::Machine(own) => price.check != Check::Given && own.cpu_milli >= shape.cpu_milli && own.memory >= shape.memory,
            _ => false,
        };
        let own = self.prices.iter().find(|price| price.item == Item::Machine(shape));
        own.or_else(|| self.prices.iter().filter(holds).min_by(|a, b| a.usd.total_cmp(&b.usd)))
    }

    /// The price of a volume: by size, or of the smallest tier that holds it.
    pub fn volume(&self, bytes: u64) -> Option<&Price> {
        let holds = |price: &&Price| match price.item {
            Item::Volume { up_to } => up_to.is_none_or(|most| bytes <= most),
            _ => false,
        };
        let order = |price: &&Price| match price.item {
            Item::Volume { up_to } => up_to,
            _ => None,
        };
        self.prices.iter().filter(holds).min_by_key(order)
    }

    /// The price of what has but one.
    pub fn only(&self, kind: PriceKind) -> Option<&Price> {
        self.prices.iter().find(|price| price.item.kind() == kind)
    }
}
