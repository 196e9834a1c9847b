//! Regions, zones, nodes and volumes, and the network between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Name, Probability, Size, Span};
use zonefall_kernel::time::Duration;

/// Regions, zones, nodes and volumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawTopology {
    /// Regions with their zones.
    #[schemars(length(min = 1, max = 64))]
    pub regions: Vec<RawRegion>,
    /// Nodes other than those of seeds.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub nodes: Vec<RawNode>,
    /// Named zonal volumes. A member without one has its own volume with the name of the member.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub volumes: Vec<RawVolume>,
}

/// A region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawRegion {
    /// Its name, such as `eu-west-1`.
    pub name: Name,
    /// Its zones, such as `eu-west-1a`; a zone's name is unique over all regions.
    #[schemars(length(min = 1, max = 64))]
    pub zones: Vec<Name>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawNode {
    /// Its name.
    pub name: Name,
    /// Zone of the node.
    pub zone: String,
    /// Shape that it is charged as: `<CPUs>cpu-<GiB>gib`.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "2cpu-8gib",
        "x-source" = "etcd-io/website@82459793: a small cluster, m4.large"
    ))]
    pub machine: Option<String>,
    /// Bandwidth of its network card: all that it sends to other machines shares it.
    #[serde(default)]
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "100TB/s", "x-default" = "10Gbit/s", "x-source" = "AWS: NetworkPerformance of m5.large to m5.4xlarge, `Up to 10 Gigabit` (seen second-hand)"))]
    pub network_bandwidth: Option<Bandwidth>,
}

/// A zonal volume: it outlives processes and nodes and never leaves its zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawVolume {
    /// Its name.
    pub name: Name,
    /// Zone of the volume.
    pub zone: String,
    /// Speed of the volume.
    #[serde(default)]
    pub disk: RawDisk,
    /// Size that it is charged by.
    #[serde(default = "volume_size")]
    #[schemars(extend("x-min" = "1MiB", "x-max" = "1PiB", "x-source" = "assumed: as etcd-main of a shoot"))]
    pub size: Size,
}

/// 25 GiB.
pub(super) const fn volume_size() -> Size {
    Size(25 << 30)
}

/// Speed of a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawDisk {
    /// Duration of one fsync, without the transfer of its bytes.
    #[schemars(extend(
        "x-max" = "1m",
        "x-source" = "assumed: a network SSD; etcd-io/website@82459793 asks for a p99 below 10 ms"
    ))]
    pub fsync: RawLatency,
    /// Sequential throughput.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-source" = "assumed, after etcd-io/website@82459793: m4.4xlarge, 250 MB/s"))]
    pub bandwidth: Bandwidth,
    /// I/O operations per second, each of up to 256 KiB.
    #[schemars(
        range(min = 1, max = 10_000_000),
        extend("x-default" = "as many as the bandwidth allows", "x-source" = "assumed; gp2 and gp3 count in 256 KiB (AWS, not verified)")
    )]
    pub iops: Option<u32>,
}

impl Default for RawDisk {
    fn default() -> Self {
        Self { fsync: RawLatency::log_normal(600, 0.3), bandwidth: Bandwidth::from_bytes_per_s(250 << 20), iops: None }
    }
}

/// A delay or service time: constant, or drawn from a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RawLatency {
    /// Constant value.
    Constant(Span),
    /// Drawn from a distribution each time.
    Drawn(RawDistribution),
}

/// Distribution of a delay or service time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDistribution {
    /// Uniform between two bounds.
    Uniform([Span; 2]),
    /// Lognormal: `median * exp(sigma * N(0, 1))`.
    LogNormal(RawLogNormal),
    /// Quantiles of a measurement at equal distances, from the minimum to the maximum, ascending; linear between them.
    Empirical(#[schemars(length(min = 2, max = 10_000))] Vec<Span>),
}

/// A lognormal distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawLogNormal {
    /// Median of the distribution.
    pub median: Span,
    /// Standard deviation of the logarithm: 0.1 is narrow, 1 is wide.
    #[schemars(range(min = 0, max = 3))]
    pub sigma: f64,
}

impl RawLatency {
    fn log_normal(median_us: u64, sigma: f64) -> Self {
        let median = Span(Duration::from_micros(median_us));
        Self::Drawn(RawDistribution::LogNormal(RawLogNormal { median, sigma }))
    }
}

/// Delays, loss, bandwidth and wire options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawNetwork {
    /// Path between two processes on one node.
    #[schemars(extend("x-source" = "assumed: loopback"))]
    pub same_host: RawPath,
    /// Path between two nodes of one zone.
    #[schemars(extend("x-source" = "assumed; latencies published for Azure VMs of one zone are below 40 us (blog.cloud63.fr)"))]
    pub same_zone: RawPath,
    /// Path between two zones of one region.
    #[schemars(extend("x-source" = "assumed; AWS zones are 0.25 to 3.37 ms apart, there and back (xkyle, 2020)"))]
    pub cross_zone: RawPath,
    /// Path between two regions.
    #[schemars(extend("x-source" = "assumed: neighbouring regions of one continent"))]
    pub cross_region: RawPath,
    /// Zone pairs with their own path.
    #[schemars(length(max = 4_096))]
    pub pairs: Vec<RawPair>,
    /// TLS between members and from clients.
    #[schemars(extend("x-source" = "GEP-20: its members are at https addresses"))]
    pub tls: bool,
}

/// One-way properties of a path. Fields that are left out have the default of the kind of path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawPath {
    /// Constant one-way delay of every packet.
    #[schemars(extend("x-max" = "1m", "x-default" = "default of its kind of path", "x-source" = "same_zone, cross_zone, cross_region"))]
    pub delay: Option<Span>,
    /// Additional one-way delay, drawn per message.
    #[schemars(extend("x-max" = "1m", "x-default" = "default of its kind of path", "x-source" = "same_zone, cross_zone, cross_region"))]
    pub jitter: Option<RawLatency>,
    /// Probability that a packet is lost.
    #[schemars(extend("x-default" = "default of its kind of path", "x-source" = "same_zone, cross_zone, cross_region"))]
    pub loss: Option<Probability>,
    /// Bandwidth of one connection.
    #[schemars(extend("x-min" = "1kB/s", "x-max" = "100TB/s", "x-default" = "default of its kind of path", "x-source" = "same_zone, cross_zone, cross_region"))]
    pub bandwidth: Option<Bandwidth>,
}

/// The path between two zones, both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawPair {
    /// Names of two zones; the same name twice means the network inside that zone.
    pub between: [String; 2],
    /// Properties that differ from the default.
    #[serde(flatten)]
    pub path: RawPath,
}

impl RawPath {
    fn usual(delay_us: u64, jitter: RawLatency, gbit_per_s: u64) -> Self {
        Self {
            delay: Some(Span(Duration::from_micros(delay_us))),
            jitter: Some(jitter),
            loss: Some(Probability(0.0)),
            bandwidth: Some(Bandwidth::from_bits_per_s(gbit_per_s * 1_000_000_000)),
        }
    }

    /// This path, what it leaves out taken from `usual`.
    pub(crate) fn or(&self, usual: &Self) -> Self {
        Self {
            delay: self.delay.or(usual.delay),
            jitter: self.jitter.clone().or_else(|| usual.jitter.clone()),
            loss: self.loss.or(usual.loss),
            bandwidth: self.bandwidth.or(usual.bandwidth),
        }
    }
}

impl Default for RawNetwork {
    fn default() -> Self {
        Self {
            same_host: RawPath::usual(20, RawLatency::Constant(Span::default()), 5),
            same_zone: RawPath::usual(150, RawLatency::log_normal(20, 0.5), 5),
            cross_zone: RawPath::usual(500, RawLatency::log_normal(50, 0.5), 5),
            cross_region: RawPath::usual(15_000, RawLatency::log_normal(500, 0.5), 1),
            pairs: Vec::new(),
            tls: true,
        }
    }
}
