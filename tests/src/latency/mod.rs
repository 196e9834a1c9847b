//! Latency and throughput of etcd as its benchmark tool measured them on AWS (`oracles/etcd_network_latency.csv`), simulated row by row.
//!
//! ```text
//!  file --row--> rows --Little's law--> left out | kept --laboratory--> simulated --study--> within its bound? in its order?
//! ```
//!
//! Any file of that form will do; what is inferred (where the client stands, how many keys there are) is inferred from the file.

pub mod laboratory;
pub mod row;
pub mod study;

use zonefall_core::ids::{TiSlice, TiVec, ZoneId};

use row::{Op, Row};

/// Throughput and latency of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Requests per second.
    pub qps: f64,
    /// Mean latency in milliseconds.
    pub latency_ms: f64,
}

/// What holds for all rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Bench {
    /// Zones, at least three.
    pub zones: TiVec<ZoneId, String>,
    /// Where the client is taken to stand.
    pub client: ZoneId,
    /// Mean latency of a local read by zone, in milliseconds: what that rests on.
    pub reads: Vec<(String, f64)>,
    /// Keys that were put, by the size of their values.
    keys: Vec<(u32, u32)>,
}

impl Bench {
    /// What the rows of a file have in common.
    ///
    /// # Errors
    /// Where nothing tells where the client stands, or how many keys there are.
    pub fn of(rows: &[Row]) -> Result<Self, String> {
        let mut zones: TiVec<ZoneId, String> = rows.iter().map(|row| row.zone.clone()).collect();
        zones.sort();
        zones.dedup();
        let reads = local_reads(rows, &zones);
        let nearest = reads.iter().min_by(|a, b| a.1.total_cmp(&b.1)).ok_or("no row tells where the client stands")?;
        let client = zones.position(|zone| *zone == nearest.0).ok_or("no zone")?;
        zones.extend((zones.len()..3).map(|k| format!("zone-{k}")));
        let bench = Self { zones, client, reads, keys: keys(rows) };
        for row in rows.iter().filter(|row| matches!(row.op, Op::Range { all: true, .. })) {
            if bench.keys.iter().all(|(bytes, _)| *bytes != row.value_bytes) {
                return Err(format!("line {}: nothing tells how many keys of {} B there are", row.line, row.value_bytes));
            }
        }
        Ok(bench)
    }

    fn zone(&self, name: &str) -> ZoneId {
        self.zones.position(|zone| zone == name).expect("a zone of some row")
    }

    fn population(&self, value_bytes: u32) -> u32 {
        self.keys.iter().find(|(bytes, _)| *bytes == value_bytes).expect("checked when the file was read").1
    }
}

/// Mean latency by zone of what is nothing but the way: a single client's reads from the asked member's own data, of the smallest value
/// there is. (Where a file has none, of all that a single client did; or of everything.)
fn local_reads(rows: &[Row], zones: &TiSlice<ZoneId, String>) -> Vec<(String, f64)> {
    let all = || rows.iter().filter(|row| row.is_consistent());
    let single = || all().filter(|row| row.clients == 1);
    let local = || single().filter(|row| row.op == Op::Range { all: false, linearizable: false });
    let choices: [Vec<&Row>; 3] = [local().collect(), single().collect(), all().collect()];
    let chosen = choices.into_iter().find(|rows| !rows.is_empty()).unwrap_or_default();
    let smallest = chosen.iter().map(|row| row.value_bytes).min();
    let of_zone = |zone: &String| {
        let reads = chosen.iter().filter(|row| row.zone == *zone && Some(row.value_bytes) == smallest);
        let all: Vec<f64> = reads.map(|row| row.latency_ms).collect();
        (!all.is_empty()).then(|| (zone.clone(), all.iter().sum::<f64>() / all.len() as f64))
    };
    zones.iter().filter_map(of_zone).collect()
}

/// Keys and the size of their values that the document puts before it reads all of them.
const PUT: [(u32, u32); 2] = [(256, 100_000), (1_000_000, 1_000)];

/// A range of all keys comes after the puts of the same size, of which each run begins with the first key again.
fn keys(rows: &[Row]) -> Vec<(u32, u32)> {
    let mut keys = PUT.to_vec();
    for row in rows.iter().filter(|row| row.op == Op::Put) {
        let count = row.requests as u32;
        match keys.iter_mut().find(|(bytes, _)| *bytes == row.value_bytes) {
            Some((_, most)) => *most = count.max(*most),
            None => keys.push((row.value_bytes, count)),
        }
    }
    keys
}
