//! What a scenario runs on: zones, machines, volumes, and the network between them.

use crate::ids::ZoneId;
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::Duration;

/// A zone of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Index into [`Scenario::regions`](crate::Scenario::regions).
    pub region: u16,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Where it stands.
    pub zone: ZoneId,
    /// Bytes per second that its network card carries: all that it sends to other machines.
    pub card_bytes_per_s: u64,
}

/// A zonal volume: it outlives processes and nodes, and never leaves its zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Its name, unique in the scenario.
    pub name: String,
    /// The zone it is in.
    pub zone: ZoneId,
    /// How fast it is.
    pub disk: Disk,
}

/// Speed of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// Time of one fsync, without the transfer of its bytes.
    pub fsync: Latency,
    /// Sequential throughput in bytes per second.
    pub bytes_per_s: u64,
    /// Operations per second, each of up to [`IO_BYTES`]; `None`: as many as the throughput allows.
    pub iops: Option<u64>,
}

/// Most bytes of one operation of a volume: 256 KiB.
pub const IO_BYTES: u64 = 256 << 10;

/// How one zone pair (or the inside of a zone or a host) carries packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// One-way delay that every packet has.
    pub delay: Duration,
    /// Further one-way delay, drawn per message.
    pub jitter: Latency,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Throughput of one connection in bytes per second.
    pub bytes_per_s: u64,
}

/// Delays, loss, bandwidth and wire options of the whole world.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Directed zone pairs, row-major: `paths[from * zones + to]`; the diagonal is the inside of a zone.
    pub paths: Vec<Path>,
    /// Between two endpoints on one node.
    pub same_host: Path,
    /// TLS between members and from clients.
    pub tls: bool,
    /// Bytes of a member's certificate: both sides of a handshake send theirs.
    pub certificate_bytes: u32,
}

/// Bytes of a certificate (RSA with 2,048 bits, few names): of every scenario file's.
pub const CERTIFICATE_BYTES: u32 = 850;
