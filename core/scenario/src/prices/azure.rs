//! Azure. Volumes are charged by tiers: a volume costs what the next larger tier does. Bytes between zones are free since the charge
//! that was announced for them was dropped in May 2024.

use super::Check::{Memory, Seen};
use super::{Book, Item, Price, Unit};

const MACHINES: [&str; 2] = ["2024-06", "azure.microsoft.com/pricing/details/virtual-machines/linux"];
const DISKS: [&str; 2] = ["2024-06", "azure.microsoft.com/pricing/details/managed-disks"];
const BALANCER: [&str; 2] = ["2024-06", "azure.microsoft.com/pricing/details/load-balancer"];
const BLOBS: [&str; 2] = ["2024-06", "azure.microsoft.com/pricing/details/storage/blobs"];
const TRANSFER: [&str; 2] = ["2024-05", "azure.microsoft.com/updates (no charge for data transfer between availability zones)"];

/// West Europe (Netherlands).
pub(super) const WEST_EUROPE: Book = Book {
    name: "azure-westeurope",
    provider: "azure",
    region: "westeurope",
    prices: &[
        Price::machine(2, 8, "D2s v5", 0.115, MACHINES),
        Price::machine(4, 16, "D4s v5", 0.23, MACHINES),
        Price::machine(8, 32, "D8s v5", 0.46, MACHINES),
        Price::machine(16, 64, "D16s v5", 0.92, MACHINES),
        Price::tier(4, "Premium SSD P1", 0.66, DISKS),
        Price::tier(8, "Premium SSD P2", 1.32, DISKS),
        Price::tier(16, "Premium SSD P3", 2.64, DISKS),
        Price::tier(32, "Premium SSD P4", 5.81, DISKS),
        Price::tier(64, "Premium SSD P6", 11.23, DISKS),
        Price::tier(128, "Premium SSD P10", 21.68, DISKS),
        Price::tier(256, "Premium SSD P15", 41.82, DISKS),
        Price::tier(512, "Premium SSD P20", 80.54, DISKS),
        Price::new(Item::LoadBalancerHours, "Standard Load Balancer (up to five rules)", 0.025, Unit::Hour, BALANCER, Memory),
        Price::new(Item::LoadBalancerBytes, "data processed by a Standard Load Balancer", 0.005, Unit::Gb, BALANCER, Memory),
        Price::new(Item::CrossZoneOut, "data transfer between zones", 0.0, Unit::Gb, TRANSFER, Seen),
        Price::new(Item::CrossZoneIn, "data transfer between zones", 0.0, Unit::Gb, TRANSFER, Seen),
        Price::new(Item::BackupStorage, "Blob Storage, hot, LRS", 0.0196, Unit::GibMonth, BLOBS, Memory),
        Price::new(Item::BackupRequests, "Blob Storage, hot, LRS, write operations", 0.0054, Unit::Requests, BLOBS, Memory),
    ],
};
