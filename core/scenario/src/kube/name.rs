//! Names that Kubernetes makes up (`apiserver/pkg/storage/names/generate.go`, `apimachinery/pkg/util/rand`). They are numbers here and
//! text on demand.

use serde::{Deserialize, Serialize};

use super::PlaneSpec;
use crate::ids::{GroupId, NodeKey, WorkloadId};
use zonefall_kernel::rng::Draw;

/// Letters and digits that make no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Letters of a suffix.
const LENGTH: u32 = 5;

/// The name of a pod. No two pods of a plane have the same at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodName {
    /// The workload it belongs to.
    pub workload: WorkloadId,
    /// What tells it from the workload's others.
    pub tag: PodTag,
}

/// What tells a pod from others of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodTag {
    /// Of a Deployment: `<deployment>-<hash of its template>-<suffix>`.
    Replica {
        /// Hash of the template.
        template: u32,
        /// The suffix, as a number in base 27.
        suffix: u32,
    },
    /// Of a `StatefulSet`: `<set>-<ordinal>`.
    Ordinal(u32),
    /// Of a `DaemonSet`: `<set>-<suffix>`, the suffix as a number in base 27.
    Agent(u32),
}

/// The name of a machine: `<machine deployment>-<hash of its class>-<suffix>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MachineName {
    /// The machine deployment it belongs to.
    pub group: GroupId,
    /// Hash of its class.
    pub template: u32,
    /// The suffix, as a number in base 27.
    pub suffix: u32,
}

/// The name of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeName {
    /// The scenario has it: an index into [`PlaneSpec::nodes`].
    Given(NodeKey),
    /// Named after the machine that brought it.
    Machine(MachineName),
}

/// A suffix as a number.
pub fn draw_suffix(draw: &mut Draw) -> u32 {
    draw.below((ALPHABET.len() as u64).pow(LENGTH)) as u32
}

fn suffix(number: u32) -> String {
    let letter = |place: u32| ALPHABET[number as usize / ALPHABET.len().pow(place) % ALPHABET.len()];
    (0..LENGTH).rev().map(|place| char::from(letter(place))).collect()
}

/// `SafeEncodeString` of a hash's decimal digits.
fn hash(template: u32) -> String {
    template.to_string().into_bytes().into_iter().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

impl PodName {
    /// As `kubectl` shows it.
    pub fn text(self, plane: &PlaneSpec) -> String {
        let workload = &plane.workloads[self.workload.0 as usize].name;
        match self.tag {
            PodTag::Replica { template, suffix: number } => format!("{workload}-{}-{}", hash(template), suffix(number)),
            PodTag::Ordinal(ordinal) => format!("{workload}-{ordinal}"),
            PodTag::Agent(number) => format!("{workload}-{}", suffix(number)),
        }
    }
}

impl MachineName {
    /// As `kubectl` shows it. (The machine-controller-manager keeps five letters of the hash.)
    pub fn text(self, plane: &PlaneSpec) -> String {
        let group = &plane.groups[self.group.0 as usize].name;
        format!("{group}-{:.5}-{}", hash(self.template), suffix(self.suffix))
    }
}
