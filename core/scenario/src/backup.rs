//! The bucket of etcd's backups as etcd-backup-restore fills and clears it for Gardener: its policy, in one place.
//!
//! Read in gardener/gardener (`pkg/component/etcd/etcd`) and gardener/etcd-backup-restore (`docs/usage/garbage_collection.md`,
//! `pkg/snapstore/s3_snapstore.go`), unless it says otherwise. Only the sidecar of the member that leads uploads (GEP-20), so nothing here
//! depends on how many members there are. Left out: compression (gzip, against JSON with base64: both unknown, so what is stored is as large
//! as the database, and as keys and values), and that rubbish is looked for every 12 h only.

use zonefall_kernel::time::Duration;

/// From one full snapshot to the next: each day, in the shoot's maintenance window.
pub const FULL_PERIOD: Duration = Duration::from_secs(86_400);
/// From one delta snapshot to the next.
pub const DELTA_PERIOD: Duration = Duration::from_secs(300);
/// Full snapshots that are kept, with one a day (policy `Exponential`): today's, those of seven days and of four weeks before.
pub const FULLS_KEPT: u64 = 1 + 7 + 4;
/// How long delta snapshots are kept: 15 days, in gardener's tests of it; those since the last full snapshot are in any case.
pub const DELTAS_KEPT: Duration = Duration::from_secs(15 * 86_400);
/// Snapshots are uploaded in parts of at most so many bytes (`minChunkSize`: from memory) ...
pub const PART_BYTES: u64 = 5 << 20;
/// ... each with a request, and as many requests as this to begin and to end the whole. (S3; other stores need one less.)
pub const UPLOAD_ENDS: u64 = 2;

/// What a bucket is charged for after a time: bytes times nanoseconds. A byte of a delta snapshot is counted when it is written, for as long
/// as it will be kept: as much as bytes that were written before are there meanwhile, where they are written evenly.
pub fn byte_ns(database_bytes: u64, written_bytes: u64, ns: u64) -> u128 {
    let fulls = u128::from(database_bytes * FULLS_KEPT) * u128::from(ns);
    fulls + u128::from(written_bytes) * u128::from(DELTAS_KEPT.as_nanos())
}

/// Requests in a day that upload snapshots; `written_bytes`: in a [`DELTA_PERIOD`].
pub fn requests_per_day(database_bytes: u64, written_bytes: u64) -> u64 {
    let upload = |bytes: u64| bytes.div_ceil(PART_BYTES) + UPLOAD_ENDS;
    upload(database_bytes) + FULL_PERIOD.as_nanos() / DELTA_PERIOD.as_nanos() * upload(written_bytes)
}
