//! Google Cloud. Bytes between zones are charged to the sender alone, and by the GiB.

use super::Check::{Memory, SecondHand};
use super::{Book, Item, Price, Unit};

const MACHINES: [&str; 2] = ["2024-06", "cloud.google.com/compute/vm-instance-pricing"];
const DISKS: [&str; 2] = ["2024-06", "cloud.google.com/compute/disks-image-pricing"];
const BUCKET: [&str; 2] = ["2024-06", "cloud.google.com/storage/pricing"];
const NETWORK: [&str; 2] = ["2024-06", "cloud.google.com/vpc/network-pricing"];
const ZONES: [&str; 2] = ["2025", "third-party guides, after cloud.google.com/vpc/network-pricing"];

/// The region in Belgium.
pub(super) const EUROPE_WEST1: Book = Book {
    name: "gcp-europe-west1",
    provider: "gcp",
    region: "europe-west1",
    prices: &[
        Price::machine(2, 8, "n2-standard-2", 0.1068, MACHINES),
        Price::machine(4, 16, "n2-standard-4", 0.2137, MACHINES),
        Price::machine(8, 32, "n2-standard-8", 0.4274, MACHINES),
        Price::machine(16, 64, "n2-standard-16", 0.8548, MACHINES),
        Price::new(Item::Volume { up_to: None }, "pd-balanced", 0.10, Unit::GibMonth, DISKS, Memory),
        Price::new(Item::LoadBalancerHours, "forwarding rule (of the first five)", 0.025, Unit::Hour, NETWORK, Memory),
        Price::new(Item::LoadBalancerBytes, "data processed by a forwarding rule", 0.008, Unit::Gib, NETWORK, Memory),
        Price::new(Item::CrossZoneOut, "egress to another zone of the region", 0.01, Unit::Gib, ZONES, SecondHand),
        Price::new(Item::CrossZoneIn, "ingress", 0.0, Unit::Gib, ZONES, SecondHand),
        Price::new(Item::BackupStorage, "Cloud Storage Standard", 0.020, Unit::GibMonth, BUCKET, Memory),
        Price::new(Item::BackupRequests, "Cloud Storage, class A operations", 0.005, Unit::Requests, BUCKET, Memory),
    ],
};
