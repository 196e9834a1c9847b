//! Node groups that are alike, so that a scale-up is balanced over them (kubernetes/autoscaler
//! `cluster-autoscaler/processors/nodegroupset/{compare,aws,label}_nodegroups.go`).

use std::collections::BTreeMap;

use zonefall_kube::rule::labels::{Labels, Symbol};

/// Keys of labels that never count (`BasicIgnoredLabels`).
pub const IGNORED: [&str; 7] = [
    "kubernetes.io/hostname",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "beta.kubernetes.io/fluentd-ds-ready",
    "kops.k8s.io/instancegroup",
];

/// Keys of labels that do not count on AWS either (`CreateAwsNodeInfoComparator`).
pub const IGNORED_ON_AWS: [&str; 7] = [
    "alpha.eksctl.io/instance-id",
    "alpha.eksctl.io/nodegroup-name",
    "eks.amazonaws.com/nodegroup",
    "k8s.amazonaws.com/eniConfig",
    "lifecycle",
    "topology.ebs.csi.aws.com/zone",
    "topology.k8s.aws/zone-id",
];

/// A kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// CPUs, in thousandths.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Number of pods.
    Pods,
    /// Local disk, in bytes.
    EphemeralStorage,
    /// Any other, in pieces.
    Extended(Symbol),
}

impl ResourceKind {
    /// Kinds that every node is asked for, whether pods request them or not.
    const ALWAYS: [Self; 4] = [Self::Cpu, Self::Memory, Self::Pods, Self::EphemeralStorage];

    /// A quantity in thousandths.
    fn milli(self, quantity: i64) -> f64 {
        match self {
            Self::Cpu => quantity as f64,
            Self::Memory | Self::Pods | Self::EphemeralStorage | Self::Extended(_) => quantity as f64 * 1_000.0,
        }
    }
}

/// Quantities by kind.
pub type Quantities = BTreeMap<ResourceKind, i64>;

/// A node as those of a group are.
#[derive(Clone, Debug)]
pub struct SampleNode<'a> {
    /// All that it has.
    pub capacity: Quantities,
    /// What its pods may request.
    pub allocatable: Quantities,
    /// What its pods request.
    pub requested: Quantities,
    /// Its labels.
    pub labels: &'a Labels,
}

impl SampleNode<'_> {
    /// What is left of the allocatable resources: of the kinds that are always asked for, and of those that its pods request.
    fn free(&self) -> Quantities {
        let kinds = ResourceKind::ALWAYS.iter().chain(self.requested.keys());
        let of = |quantities: &Quantities, kind| quantities.get(kind).copied().unwrap_or(0);
        kinds.map(|kind| (*kind, of(&self.allocatable, kind) - of(&self.requested, kind))).collect()
    }
}

/// How far two nodes may differ, as parts of the larger quantity (`NodeGroupDifferenceRatios`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// In their memory.
    pub capacity_memory: f64,
    /// In each of their allocatable resources.
    pub allocatable: f64,
    /// In what is free of each of them.
    pub free: f64,
}

impl Default for Ratios {
    /// Those of the autoscaler (`config/const.go`).
    fn default() -> Self {
        Self { capacity_memory: 0.015, allocatable: 0.05, free: 0.05 }
    }
}

/// What is compared.
#[derive(Clone, Debug)]
pub enum Comparator {
    /// Resources, and all labels but these.
    Resources {
        /// Keys of labels that do not count.
        ignored: Vec<Symbol>,
        /// How far resources may differ.
        ratios: Ratios,
    },
    /// These labels alone: both nodes have them, with equal values (`balancing-label`).
    Labels(Vec<Symbol>),
}

impl Comparator {
    /// Whether the groups of two nodes are alike.
    pub fn are_similar(&self, one: &SampleNode, other: &SampleNode) -> bool {
        match self {
            Self::Labels(keys) => {
                keys.iter().all(|key| one.labels.get(*key).is_some_and(|value| other.labels.get(*key) == Some(value)))
            }
            Self::Resources { ignored, ratios } => {
                have_similar_capacity(&one.capacity, &other.capacity, ratios.capacity_memory)
                    && are_within(&one.allocatable, &other.allocatable, ratios.allocatable)
                    && are_within(&one.free(), &other.free(), ratios.free)
                    && counted(one.labels, ignored) == counted(other.labels, ignored)
            }
        }
    }
}

/// Memory may differ; of everything else there must be as much.
fn have_similar_capacity(one: &Quantities, other: &Quantities, memory: f64) -> bool {
    let ratio = |kind| if kind == ResourceKind::Memory { memory } else { 0.0 };
    one.keys().eq(other.keys()) && one.iter().all(|(kind, quantity)| is_within(*kind, *quantity, other[kind], ratio(*kind)))
}

fn are_within(one: &Quantities, other: &Quantities, ratio: f64) -> bool {
    one.keys().eq(other.keys()) && one.iter().all(|(kind, quantity)| is_within(*kind, *quantity, other[kind], ratio))
}

fn is_within(kind: ResourceKind, one: i64, other: i64, ratio: f64) -> bool {
    let (larger, smaller) = (kind.milli(one.max(other)), kind.milli(one.min(other)));
    larger - smaller <= larger * ratio
}

fn counted(labels: &Labels, ignored: &[Symbol]) -> BTreeMap<Symbol, Symbol> {
    labels.iter().filter(|(key, _)| !ignored.contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GPU: ResourceKind = ResourceKind::Extended(Symbol(20));

    fn quantities(cpu: i64, memory: i64, gpus: Option<i64>) -> Quantities {
        let basic = [(ResourceKind::Cpu, cpu), (ResourceKind::Memory, memory), (ResourceKind::Pods, 100)];
        basic.into_iter().chain(gpus.map(|gpus| (GPU, gpus))).collect()
    }

    fn node(labels: &Labels, cpu: i64, memory: i64, gpus: Option<i64>) -> SampleNode<'_> {
        let all = quantities(cpu, memory, gpus);
        SampleNode { capacity: all.clone(), allocatable: all, requested: Quantities::new(), labels }
    }

    fn generic() -> Comparator {
        Comparator::Resources { ignored: vec![Symbol::HOSTNAME, Symbol::ZONE], ratios: Ratios::default() }
    }

    #[test]
    fn a_gpu_that_pods_of_one_node_alone_use_makes_groups_differ() {
        let none = Labels::default();
        let one = node(&none, 1_000, 2_000, Some(100));
        let busy = SampleNode { requested: Quantities::from([(GPU, 1)]), ..one.clone() };
        assert!(generic().are_similar(&one, &one) && generic().are_similar(&busy, &busy));
        assert!(!generic().are_similar(&one, &busy), "upstream knows the free GPUs of one of them only");
    }

    #[test]
    fn a_node_whose_pods_request_more_than_it_has_is_like_no_other() {
        let none = Labels::default();
        let node = SampleNode { requested: quantities(2_000, 0, None), ..node(&none, 1_000, 2_000, None) };
        assert!(!generic().are_similar(&node, &node), "5 % of less than nothing are less than no difference");
    }

    proptest! {
        #[test]
        fn similarity_does_not_depend_on_the_order_and_bounds_each_difference_by_the_larger(
            cpu in (1..40_i64, 1..40_i64),
            memory in (900..1_100_i64, 900..1_100_i64),
            zones in (0..3_u32, 0..3_u32),
            pools in (0..2_u32, 0..2_u32),
        ) {
            let labels = |zone, pool| Labels::from_iter([(Symbol::ZONE, Symbol(zone)), (Symbol(30), Symbol(pool))]);
            let (first, second) = (labels(zones.0, pools.0), labels(zones.1, pools.1));
            let (one, other) = (node(&first, cpu.0, memory.0, None), node(&second, cpu.1, memory.1, None));
            let found = generic().are_similar(&one, &other);
            prop_assert_eq!(found, generic().are_similar(&other, &one));
            let (larger, smaller) = (memory.0.max(memory.1), memory.0.min(memory.1));
            // In whole numbers: 1.5 % of the larger.
            let expected = cpu.0 == cpu.1 && (larger - smaller) * 1_000 <= larger * 15 && pools.0 == pools.1;
            prop_assert_eq!(found, expected);
            let by_pool = Comparator::Labels(vec![Symbol(30)]);
            prop_assert_eq!(by_pool.are_similar(&one, &other), pools.0 == pools.1);
            prop_assert!(!Comparator::Labels(vec![Symbol(31)]).are_similar(&one, &other), "a label that neither has");
        }
    }
}
