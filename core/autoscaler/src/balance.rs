//! New nodes spread over similar node groups (kubernetes/autoscaler
//! `cluster-autoscaler/processors/nodegroupset/balancing_processor.go`).

/// Nodes of a node group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// That it is to have.
    pub size: u32,
    /// That it may have.
    pub max: u32,
}

/// Sizes of the groups with `add` nodes more, or as many as they may have: each goes to the group that is the smallest by then; of
/// equals, to the one that was smaller before, or the first.
pub fn balance(groups: &[NodeGroup], add: u32) -> Vec<u32> {
    let before: Vec<u32> = groups.iter().map(|group| group.size).collect();
    balance_live(&before, add, |_| groups.iter().map(|group| group.max).collect())
}

/// The same where maxima are read again before each node: `maxima` gets the sizes by then.
pub fn balance_live(before: &[u32], add: u32, maxima: impl Fn(&[u32]) -> Vec<u32>) -> Vec<u32> {
    let mut sizes = before.to_vec();
    for _ in 0..add {
        let maxima = maxima(&sizes);
        let free = (0..sizes.len()).filter(|&group| sizes[group] < maxima[group]);
        let Some(smallest) = free.min_by_key(|&group| (sizes[group], before[group])) else { break };
        sizes[smallest] += 1;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_group_that_grew_could_have_left_a_node_to_a_smaller_one(
            groups in prop::collection::vec((0..8_u32, 0..12_u32), 1..6),
            add in 0..50_u32,
        ) {
            let groups: Vec<NodeGroup> = groups.into_iter().map(|(size, max)| NodeGroup { size, max }).collect();
            let room: u32 = groups.iter().map(|group| group.max.saturating_sub(group.size)).sum();
            let sizes = balance(&groups, add);
            let added: u32 = sizes.iter().zip(&groups).map(|(size, group)| size - group.size).sum();
            prop_assert_eq!(added, add.min(room));
            for (group, &size) in groups.iter().zip(&sizes) {
                prop_assert!(size == group.size || size <= group.max);
                let smaller = groups.iter().zip(&sizes).any(|(other, &less)| less < other.max && less + 1 < size);
                prop_assert!(size == group.size || !smaller);
            }
        }
    }
}
