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

/// Sizes of the groups with `add` nodes more, or as many as they may have: each goes to the group that is the smallest by then. Of equals it
/// is the turn of the next in the order of their sizes before, in which a group that is full changes places with the first.
pub fn balance(groups: &[NodeGroup], add: u32) -> Vec<u32> {
    let before: Vec<u32> = groups.iter().map(|group| group.size).collect();
    balance_live(&before, add, |_| groups.iter().map(|group| group.max).collect())
}

/// The same where maxima are read again before each node: `maxima` gets the sizes by then.
pub fn balance_live(before: &[u32], add: u32, maxima: impl Fn(&[u32]) -> Vec<u32>) -> Vec<u32> {
    let (mut sizes, most) = (before.to_vec(), maxima(before));
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&group| sizes[group] < most[group]).collect();
    order.sort_by_key(|&group| before[group]);
    // Groups before `start` are full; from there to `current` all have the same size.
    let (mut start, mut current, mut left) = (0, 0, add);
    while left > 0 && start < order.len() {
        let group = order[current];
        if sizes[group] < maxima(&sizes)[group] {
            sizes[group] += 1;
            left -= 1;
        } else {
            order.swap(start, current);
            start += 1;
        }
        let is_larger = order.get(current + 1).is_some_and(|&next| sizes[order[current]] > sizes[next]);
        current = if is_larger { current + 1 } else { start };
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_group_changes_places_with_the_first() {
        let groups = [5, 5, 1].map(|max| NodeGroup { size: 0, max });
        assert_eq!(balance(&groups, 6), [2, 3, 1]);
    }

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
