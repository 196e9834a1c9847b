//! Names that Kubernetes makes up (`apiserver/pkg/storage/names/generate.go`, `apimachinery/pkg/util/rand`).
//!
//! A pod of a Deployment is named `<deployment>-<hash of its template>-<suffix>`. Names are numbers here and text on demand.

use crate::ids::WorkloadId;
use crate::kernel::rng::Draw;
use crate::kube::spec::PlaneSpec;

/// Letters and digits that make no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Letters of a suffix.
const LENGTH: u32 = 5;

/// The name of a pod. No two pods of a plane have the same at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// The Deployment it belongs to.
    pub workload: WorkloadId,
    /// Hash of the template.
    pub template: u32,
    /// The suffix, as a number in base 27.
    pub suffix: u32,
}

impl PodName {
    /// A name with a suffix of this draw.
    pub fn draw(workload: WorkloadId, template: u32, draw: &mut Draw) -> Self {
        let suffix = draw.below((ALPHABET.len() as u64).pow(LENGTH)) as u32;
        Self { workload, template, suffix }
    }

    /// As `kubectl` shows it.
    pub fn text(self, plane: &PlaneSpec) -> String {
        let letter = |place: u32| ALPHABET[self.suffix as usize / ALPHABET.len().pow(place) % ALPHABET.len()];
        let suffix = (0..LENGTH).rev().map(|place| char::from(letter(place)));
        // `SafeEncodeString` of the hash's decimal digits.
        let digits = self.template.to_string().into_bytes();
        let hash = digits.into_iter().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]));
        let workload = &plane.workloads[self.workload.0 as usize].name;
        format!("{workload}-{}-{}", hash.collect::<String>(), suffix.collect::<String>())
    }
}
