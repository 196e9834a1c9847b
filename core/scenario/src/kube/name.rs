//! Names that Kubernetes makes up (`apiserver/pkg/storage/names/generate.go`, `apimachinery/pkg/util/rand`). They are numbers here and
//! text on demand.

use serde::{Deserialize, Serialize};

use super::{Kind, KubeClusterSpec};
use crate::ids::{MachineDeploymentId, NodeKey, WorkloadId};
use zonefall_kernel::rng::Draw;

/// Letters and digits that make no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Letters of a suffix.
const LENGTH: u32 = 5;

/// The name of a pod. No two pods of a cluster have the same at a time.
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
    pub deployment: MachineDeploymentId,
    /// Hash of its class.
    pub template: u32,
    /// The suffix, as a number in base 27.
    pub suffix: u32,
}

/// The name of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NodeName {
    /// The scenario has it: an index into [`KubeClusterSpec::nodes`].
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

/// The number behind a suffix.
fn suffix_number(text: &str) -> Option<u32> {
    let place = |letter| ALPHABET.iter().position(|known| *known == letter);
    (text.len() == LENGTH as usize).then_some(())?;
    text.bytes().try_fold(0, |number, letter| Some(number * ALPHABET.len() as u32 + place(letter)? as u32))
}

/// The number whose decimal digits these letters stand for.
fn hashed_number(text: &str) -> Option<u32> {
    let digit = |letter| (b'0'..=b'9').find(|digit| ALPHABET[usize::from(*digit) % ALPHABET.len()] == letter);
    let number = String::from_utf8(text.bytes().map(digit).collect::<Option<_>>()?).ok()?.parse().ok()?;
    (hash(number) == text).then_some(number)
}

impl PodTag {
    /// What tells the pod of this name from others of its workload; `None`: no pod of that workload has such a name.
    pub fn parse(kind: Kind, workload: &str, text: &str) -> Option<Self> {
        let rest = text.strip_prefix(workload)?.strip_prefix('-')?;
        match kind {
            Kind::Deployment => {
                let (template, suffix) = rest.split_once('-')?;
                Some(Self::Replica { template: hashed_number(template)?, suffix: suffix_number(suffix)? })
            }
            Kind::StatefulSet { .. } => rest.parse().ok().filter(|number: &u32| number.to_string() == rest).map(Self::Ordinal),
            Kind::DaemonSet => suffix_number(rest).map(Self::Agent),
        }
    }
}

impl PodName {
    /// As `kubectl` shows it.
    pub fn text(self, cluster: &KubeClusterSpec) -> String {
        let workload = &cluster.workloads[self.workload].name;
        match self.tag {
            PodTag::Replica { template, suffix: number } => format!("{workload}-{}-{}", hash(template), suffix(number)),
            PodTag::Ordinal(ordinal) => format!("{workload}-{ordinal}"),
            PodTag::Agent(number) => format!("{workload}-{}", suffix(number)),
        }
    }
}

impl MachineName {
    /// The machine of this name of a machine deployment; `None`: none of its machines has such a name.
    pub fn parse(deployment: MachineDeploymentId, name: &str, text: &str) -> Option<Self> {
        let (template, suffix) = text.strip_prefix(name)?.strip_prefix('-')?.split_once('-')?;
        (template.len() <= 5).then_some(())?;
        Some(Self { deployment, template: hashed_number(template)?, suffix: suffix_number(suffix)? })
    }

    /// The machine of number `k`, counted from 0, of those that a machine deployment has at the start: names all of their own.
    pub const fn made(deployment: MachineDeploymentId, k: u32) -> Self {
        // Odd and no multiple of three: numbers below 27^5 stay apart.
        let scattered = (k as u64 + 1) * 7_654_321 % (ALPHABET.len() as u64).pow(LENGTH);
        Self { deployment, template: (deployment.0 as u32 + 1).wrapping_mul(2_654_435_761), suffix: scattered as u32 }
    }

    /// As `kubectl` shows it. (The machine-controller-manager keeps five letters of the hash.)
    pub fn text(self, cluster: &KubeClusterSpec) -> String {
        let deployment = &cluster.machine_deployments[self.deployment].name;
        format!("{deployment}-{:.5}-{}", hash(self.template), suffix(self.suffix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let pod = |kind, workload, text| PodTag::parse(kind, workload, text);
        let set = Kind::StatefulSet { parallel: true };
        let replica = PodTag::Replica { template: 1_976_390_699, suffix: 8_650_373 };
        assert_eq!(pod(Kind::Deployment, "kube-apiserver", "kube-apiserver-5fcb7f4bff-vkrdh"), Some(replica));
        assert_eq!(pod(set, "etcd-main", "etcd-main-2"), Some(PodTag::Ordinal(2)));
        assert_eq!(pod(Kind::DaemonSet, "agent", "agent-bbbbc"), Some(PodTag::Agent(1)));
        for (kind, text) in [
            (Kind::Deployment, "other-5fcb7f4bff-vkrdh"),
            (Kind::Deployment, "kube-apiserver-5fcb7f4bff"),
            (Kind::Deployment, "kube-apiserver-5fcb7f4bff-vkrda"),
            (Kind::Deployment, "kube-apiserver-5fcb7f4bff-vkrdhh"),
            (Kind::Deployment, "kube-apiserver-4fcb7f4bff-vkrdh"),
            (Kind::Deployment, "kube-apiserver-ffffffffff-vkrdh"),
            (set, "kube-apiserver-02"),
            (set, "kube-apiserver-x"),
            (Kind::DaemonSet, "kube-apiserver-x"),
        ] {
            assert_eq!(pod(kind, "kube-apiserver", text), None, "{text} of {kind:?}");
        }
        let machine =
            MachineName::parse(MachineDeploymentId(3), "seed-pool-z1", "seed-pool-z1-66659-sf4wt").expect("a machine's name");
        assert_eq!((machine.template, suffix(machine.suffix)), (22_215, "sf4wt".to_owned()));
        assert_eq!(MachineName::parse(MachineDeploymentId(3), "seed-pool-z1", "seed-pool-z1-666599-sf4wt"), None);
    }
}
