//! From application bytes to bytes on the wire: TLS records, TCP segments, IP and Ethernet headers, acknowledgements.

use std::ops::{Add, AddAssign, Mul};

/// Bytes of an Ethernet header.
const ETHERNET: u64 = 14;
/// Ethernet, IPv4 (20) and TCP with timestamps (32).
pub const HEADERS: u64 = ETHERNET + 20 + 32;
/// Payload of a full segment at an MTU of 1,500.
pub const SEGMENT: u64 = 1_448;
/// Segments that one ACK answers: Linux receivers coalesce what arrives together before TCP sees it (GRO); as captured, four or five
/// ACKs for 100 KiB, one for a message that fits a segment.
const SEGMENTS_PER_ACK: u64 = 24;
/// The same while a database is under way: aggregates wait for each other, up to 45 segments (64 KiB). Fitted on GEP-20's resync
/// (`docs/validation.md`).
pub const BULK_SEGMENTS_PER_ACK: u64 = 34;
/// A TLS 1.3 record with AES-GCM: header 5, content type 1, tag 16.
const TLS_RECORD: u64 = 22;
/// Most plaintext in one record.
const TLS_PLAINTEXT: u64 = 16_384;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Packets on the wire.
    pub packets: u64,
    /// Bytes of them, headers included.
    pub bytes: u64,
}

impl Burst {
    /// The packets that carry `bytes` of an application written at once.
    pub const fn of(bytes: u64, tls: bool) -> Self {
        let payload = if tls { bytes + bytes.div_ceil(TLS_PLAINTEXT) * TLS_RECORD } else { bytes };
        let packets = payload.div_ceil(SEGMENT);
        Self { packets, bytes: payload + packets * HEADERS }
    }

    /// The sum of two bursts.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }

    /// The same as IP packets: as clouds count them.
    pub const fn ip_bytes(self) -> u64 {
        self.bytes - self.packets * ETHERNET
    }

    /// The pure ACKs that answer it: one at once, and one for every [`SEGMENTS_PER_ACK`].
    #[must_use]
    pub const fn acks(self) -> Self {
        self.acks_every(SEGMENTS_PER_ACK)
    }

    /// The pure ACKs that answer a part of a database.
    #[must_use]
    pub const fn bulk_acks(self) -> Self {
        self.acks_every(BULK_SEGMENTS_PER_ACK)
    }

    const fn acks_every(self, segments: u64) -> Self {
        let packets = self.packets.div_ceil(segments);
        Self { packets, bytes: packets * HEADERS }
    }
}

impl Add for Burst {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.and(other)
    }
}

impl AddAssign for Burst {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Burst {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self { packets: self.packets * times, bytes: self.bytes * times }
    }
}
