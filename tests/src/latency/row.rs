//! Rows of a file of the form of `oracles/etcd_network_latency.csv`.

use std::fmt;

/// The columns of such a file, in order.
const HEADER: &str =
    "src_line,op,n,value_bytes,conns,clients,seq_keys,consistency,target,qps,mean_latency_ms,zone,server,topology";

/// How many members stand in how many zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One member.
    Single,
    /// Three in one zone.
    OneZone,
    /// One in each of three zones.
    ThreeZones,
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "sn-sz",
            Self::OneZone => "mn-sz",
            Self::ThreeZones => "mn-mz",
        })
    }
}

/// What each request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// To write a key.
    Put,
    /// To read one key, or all of them.
    Range {
        /// Whether all keys are read.
        all: bool,
        /// The latest.
        linearizable: bool,
    },
}

/// One run of etcd's benchmark tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its line in the document.
    pub line: u32,
    /// What was asked.
    pub op: Op,
    /// Requests in all.
    pub requests: u64,
    /// Bytes of each value.
    pub value_bytes: u32,
    /// Clients, each with one request under way.
    pub clients: u32,
    /// Whether a member was asked that leads.
    pub of_leader: bool,
    /// Requests per second.
    pub qps: f64,
    /// Mean latency in milliseconds.
    pub latency_ms: f64,
    /// Where that member stands.
    pub zone: String,
    /// The cluster.
    pub topology: Topology,
}

impl Row {
    /// How far requests per second x latency is off the number of clients (Little's law), as a share.
    pub fn little(&self) -> f64 {
        self.qps * self.latency_ms / 1e3 / f64::from(self.clients) - 1.0
    }

    /// Whether figures of a closed loop can be so.
    pub fn is_consistent(&self) -> bool {
        self.little().abs() <= 0.10
    }

    /// Whether another row differs in the cluster and in whom of it was asked alone.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (self.op, self.value_bytes, self.clients, self.requests) == (other.op, other.value_bytes, other.clients, other.requests)
    }

    /// In words, such as `PUT 256 B, 1 client, leader, mn-mz, eu-west-1a`.
    pub fn describe(&self) -> String {
        let op = match self.op {
            Op::Put => "PUT",
            Op::Range { all: false, linearizable: true } => "RANGE (l)",
            Op::Range { all: false, linearizable: false } => "RANGE (s)",
            Op::Range { all: true, linearizable: true } => "RANGE of all (l)",
            Op::Range { all: true, linearizable: false } => "RANGE of all (s)",
        };
        let role = if self.of_leader { "leader" } else { "follower" };
        let clients = if self.clients == 1 { "client" } else { "clients" };
        let Self { value_bytes, clients: count, topology, zone, .. } = self;
        format!("{op} {value_bytes} B, {count} {clients}, {role}, {topology}, {zone}")
    }
}

/// The rows of a file.
///
/// # Errors
/// What is not understood.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let header = lines.next().unwrap_or_default();
    if header.trim() != HEADER {
        return Err(format!("the header is {header:?}, not {HEADER:?}"));
    }
    lines.map(|line| row(line).map_err(|why| format!("{why}: {line}"))).collect()
}

fn row(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [src_line, op, n, value_bytes, _, clients, seq_keys, consistency, target, qps, latency, zone, _, topology] = fields[..]
    else {
        return Err(format!("{} fields", fields.len()));
    };
    let linearizable = match consistency {
        "l" | "" => true,
        "s" => false,
        other => return Err(format!("unknown consistency {other:?}")),
    };
    let op = match (op, seq_keys) {
        ("PUT", _) => Op::Put,
        ("RANGE", "true") => Op::Range { all: false, linearizable },
        ("RANGE", "false") => Op::Range { all: true, linearizable },
        other => return Err(format!("unknown op and seq_keys {other:?}")),
    };
    let of_leader = match target {
        "leader" => true,
        other if other.starts_with("follower") => false,
        other => return Err(format!("unknown target {other:?}")),
    };
    let topology = match topology {
        "sn-sz" => Topology::Single,
        "mn-sz" => Topology::OneZone,
        "mn-mz" => Topology::ThreeZones,
        other => return Err(format!("unknown topology {other:?}")),
    };
    let row = Row {
        line: number(src_line)?,
        op,
        requests: number(n)?,
        value_bytes: number(value_bytes)?,
        clients: number(clients)?,
        of_leader,
        qps: number(qps)?,
        latency_ms: number(latency)?,
        zone: zone.to_owned(),
        topology,
    };
    let measured = row.requests > 0 && row.clients > 0 && row.qps > 0.0 && row.latency_ms > 0.0;
    if measured { Ok(row) } else { Err("nothing was measured".to_owned()) }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text:?}"))
}
