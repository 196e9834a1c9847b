//! Traffic among the members of an etcd cluster as GEP-20's appendix publishes it (`published/gep20_traffic.json`), simulated run by run.
//!
//! ```text
//!  Run --laboratory--> scenario: members, a workload at rest, what the run asks
//!      --figures-----> IP bytes of each link, second by second --> busiest 20 s, changes --study--> beside what is published
//! ```

pub mod figures;
pub mod laboratory;
pub mod study;

use serde::Deserialize;

/// What the appendix did to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// Nothing, for an hour.
    Idle,
    /// 3,000 puts of 1 KiB at the leader, 100/s.
    PutLeader,
    /// The same at a follower.
    PutFollower,
    /// A follower with a database of 14 MB joins a leader with one of 5.1 GB.
    Resync,
    /// A range of 607 MiB at the leader.
    GetLeader,
    /// The same at a follower.
    GetFollower,
    /// A delete of 99,999 keys at the leader.
    DeleteLeader,
    /// The same at a follower.
    DeleteFollower,
    /// A watch at a follower, with 500 puts/s of 1 KiB at the leader.
    Watch,
}

impl Run {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::PutLeader,
        Self::PutFollower,
        Self::Resync,
        Self::GetLeader,
        Self::GetFollower,
        Self::DeleteLeader,
        Self::DeleteFollower,
        Self::Watch,
    ];

    /// In words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::PutLeader => "PUT, 100/s of 1 KiB, leader",
            Self::PutFollower => "PUT, 100/s of 1 KiB, follower",
            Self::Resync => "resync of 5.1 GB",
            Self::GetLeader => "GET of 607 MiB, leader",
            Self::GetFollower => "GET of 607 MiB, follower",
            Self::DeleteLeader => "DELETE of 99,999 keys, leader",
            Self::DeleteFollower => "DELETE of 99,999 keys, follower",
            Self::Watch => "WATCH, 500 events/s of 1 KiB, follower",
        }
    }

    /// The member that leads (`etcd-main-<this>`).
    pub const fn leader(self) -> usize {
        match self {
            Self::Resync | Self::GetLeader | Self::GetFollower => 1,
            _ => 2,
        }
    }

    /// The member that is asked, or joins.
    pub const fn target(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::PutFollower | Self::GetLeader | Self::DeleteFollower | Self::Watch => 1,
            Self::PutLeader | Self::Resync | Self::GetFollower | Self::DeleteLeader => 2,
        }
    }
}

/// A figure of the appendix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its number here.
    pub row: u32,
    /// Under what.
    pub run: Run,
    /// What is metered, a name of [`figures`].
    pub figure: String,
    /// The same in words.
    pub words: String,
    /// How much, in the unit of its reading.
    pub published: Option<f64>,
    /// Or an upper bound.
    pub at_most: Option<f64>,
    /// As it is printed there.
    pub printed: String,
    /// Name of the reading.
    pub reading: String,
}

/// What a printed unit is taken to mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// A short name.
    pub name: String,
    /// What is compared.
    pub words: String,
    /// Why nothing else is.
    pub why: String,
}

/// What is published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The document.
    pub source: String,
    /// Where in it.
    pub section: String,
    /// How its units are read.
    pub readings: Vec<Reading>,
    /// Its figures.
    pub rows: Vec<Row>,
}

impl Published {
    /// The file of this repository.
    ///
    /// # Panics
    /// Where it is malformed.
    pub fn bundled() -> Self {
        serde_json::from_str(include_str!("../../published/gep20_traffic.json")).expect("published figures are well-formed")
    }
}
