//! Scenarios: what to run, as people write it and as the engine takes it.
//!
//! ```text
//! text --json--> values --form--> RawScenario --validate--> Scenario
//!        syntax,          schema:               names, ranges,
//!        double keys,     fields, types, units  topology, limits
//!        old names
//! ```
//!
//! Every arrow collects its errors and goes on: a file comes back with all that is wrong with it, each with its JSON path, what was
//! found and what would be right. Only a file that is not JSON stops at once. The form is checked against the JSON Schema that
//! [`schema()`] publishes, which a test makes from the types in [`raw`].
//!
//! Each layer knows those before it: units and ids; what a scenario runs on ([`kube`], etcd, the topology), which faults and operations see
//! as an [`Inventory`]; what is made out of a file so far (`lowering`); [`fault`] and [`operation`]; [`raw`]; [`Scenario`], with [`expect`]ations;
//! the validation.

pub mod access;
pub mod backup;
mod balancer_profile;
mod bundled;
pub mod cost;
mod defaults;
mod error;
mod etcd;
mod etcd_member;
pub mod expect;
pub mod fault;
pub mod ids;
mod inventory;
mod json;
pub mod kube;
mod load;
mod lowering;
mod model;
pub mod network_card;
pub mod operation;
pub mod options;
mod passive;
pub mod prices;
mod probe;
pub mod raw;
mod renames;
mod scan;
pub mod schema;
mod schema_check;
mod source;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod text;
mod topology;
mod traced;
pub mod units;
mod validate;

pub use bundled::{Bundled, bundled, default_scenario};
pub use defaults::{DefaultRow, defaults};
pub use error::{Error, Errors};
pub use etcd::{EtcdClusterSpec, Maintenance, MaintenanceOperation, Member, MemberChange, Operation};
pub use fault::*;
pub use inventory::Inventory;
pub use json::{MAX_BYTES, Step, render};
pub use load::*;
pub use model::*;
pub use passive::{ActivePassive, Backup, Controller, Switching};
pub use probe::{Probe, ProbeFrom, Vantage};
pub use raw::RawScenario;
pub use renames::{Modern, Renamed, modernize};
pub use scan::{Seen, scan};
pub use schema::schema;
pub use source::{Contradiction, Input, Source};
pub use topology::{CERTIFICATE_BYTES, Disk, IO_BYTES, Network, Node, Path, Volume, Zone};

use std::collections::BTreeSet;

impl RawScenario {
    /// Reads a file's form: JSON, fields, types, units and ranges, but not what its names mean.
    ///
    /// # Errors
    /// Everything that is wrong with the form.
    pub fn from_json(text: &str) -> Result<Self, Errors> {
        let mut errors = Errors::default();
        let (raw, _) = read(text, &mut errors)?;
        if errors.is_empty() { Ok(raw) } else { Err(errors) }
    }

    /// As JSON in the order of the fields' declaration, what is as by default left out: the shortest file that says the same.
    pub fn to_json(&self) -> serde_json::Value {
        defaults::without_defaults(self)
    }
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn from_json(text: &str) -> Result<Self, Errors> {
        let mut errors = Errors::default();
        let (raw, replaced) = read(text, &mut errors)?;
        let scenario = validate::validate(&raw, &replaced, &mut errors);
        if errors.is_empty() { scenario.ok_or(errors) } else { Err(errors) }
    }

    /// Validates a scenario that was made, not read.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn from_raw(raw: &RawScenario) -> Result<Self, Errors> {
        Self::from_json(&raw.to_json().to_string())
    }
}

/// The file's form, repaired where it was wrong, and the paths of the repairs.
fn read(text: &str, errors: &mut Errors) -> Result<(RawScenario, BTreeSet<String>), Errors> {
    if text.len() > MAX_BYTES {
        errors.push("$", "a file of more than 4 MiB", "at most 4 MiB");
        return Err(std::mem::take(errors));
    }
    let mut value = json::parse(text, errors)?;
    let modern = modernize(text);
    if !modern.renamed.is_empty() {
        value = json::parse(&modern.text, &mut Errors::default())?;
    }
    errors.extend(modern.clashes);
    let (value, replaced) = schema_check::check(value, errors);
    match serde_json::from_value(value) {
        Ok(raw) => Ok((raw, replaced)),
        Err(error) => {
            // The form was checked and repaired, so this says that schema and types disagree; a test holds them together.
            errors.push("$", error.to_string(), "a scenario");
            Err(std::mem::take(errors))
        }
    }
}
