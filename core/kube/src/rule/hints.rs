//! Topology-aware hints: which zone's clients an endpoint of a Service is for (`endpointslice/topologycache/{topologycache,utils}.go`).
//!
//! ```text
//!  nodes --CPU--> ratios of zones --x endpoints--> allocations (desired, least, most)
//!                                                        |
//!  each endpoint is for its own zone --give and receive--'--> hints        any "no" on the way: no hints at all, clients go anywhere
//! ```
//!
//! Where Go goes over a map, in an order that is random, this goes by the zones' order in the scenario.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::proxy::{Conditions, Endpoint, ProxyNode, cluster_endpoints};
use zonefall_kernel::traced;
use zonefall_scenario::ids::ZoneId;

/// A zone may have so much more load than its endpoints' share of all (`overloadThreshold`).
const OVERLOAD: f64 = 0.2;

/// Endpoints, or changes of them, by zone.
pub type Counts = BTreeMap<ZoneId, u32>;

/// Each zone's share of all CPUs.
pub type Ratios = BTreeMap<ZoneId, f64>;

/// What hints look at in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its zone, if it says so.
    pub zone: Option<ZoneId>,
    /// CPU that it can give to pods, in thousandths.
    pub milli_cpu: u64,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

/// What hints look at in an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointInfo {
    /// The zone of its node, if it has one.
    pub zone: Option<ZoneId>,
    /// Its condition `Ready` is true. Others are not counted and get no hint (`endpointReady`).
    pub ready: bool,
}

/// An endpoint with the hint that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintedEndpoint {
    /// The zone whose clients it is for.
    pub hint: Option<ZoneId>,
    /// As in [`EndpointInfo`].
    pub ready: bool,
}

/// Why there are no hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NoHints {
    /// A node without zone or CPU, or nodes that are ready in one zone only.
    NodeInfo,
    /// More zones than endpoints.
    Endpoints,
    /// Some zone would have to take too much.
    Overload,
    /// An endpoint without a zone.
    NoZone,
}

traced! { enum NoHints { NodeInfo = 0, Endpoints = 1, Overload = 2, NoZone = 3 } }

impl fmt::Display for NoHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NodeInfo => "insufficient node info",
            Self::Endpoints => "insufficient endpoints",
            Self::Overload => "overload threshold",
            Self::NoZone => "an endpoint without a zone",
        })
    }
}

/// How many endpoints a zone is to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation {
    /// Its share, but not less than the least.
    pub desired: f64,
    /// With fewer it is overloaded.
    pub least: u32,
    /// With more, another has too few.
    pub most: u32,
}

/// Each zone's share of the CPUs of nodes that are ready; `None`: there is no telling, or one zone only. (Nodes of the control plane are
/// left out by who asks.)
pub fn ratios(nodes: impl IntoIterator<Item = NodeInfo>) -> Option<Ratios> {
    let mut cpus: BTreeMap<ZoneId, u64> = BTreeMap::new();
    for node in nodes.into_iter().filter(|node| node.ready) {
        let zone = node.zone.filter(|_| node.milli_cpu > 0)?;
        *cpus.entry(zone).or_default() += node.milli_cpu;
    }
    let total: u64 = cpus.values().sum();
    (cpus.len() >= 2).then(|| cpus.into_iter().map(|(zone, cpu)| (zone, cpu as f64 / total as f64)).collect())
}

/// The fewest endpoints of a zone with this share of all.
fn least(share: f64) -> u32 {
    // In this order, as there: three endpoints with two fifths of the CPUs in a zone need two of them.
    libm::ceil(share * (1.0 / (1.0 + OVERLOAD))) as u32
}

/// How many endpoints each zone is to have.
///
/// # Errors
/// Why none can have any.
pub fn allocations(ratios: Option<&Ratios>, endpoints: u32) -> Result<BTreeMap<ZoneId, Allocation>, NoHints> {
    let ratios = ratios.filter(|ratios| ratios.len() >= 2).ok_or(NoHints::NodeInfo)?;
    if ratios.len() > endpoints as usize {
        return Err(NoHints::Endpoints);
    }
    let shares = || ratios.iter().map(|(zone, ratio)| (*zone, ratio * f64::from(endpoints)));
    let needed: u32 = shares().map(|(_, share)| least(share)).sum();
    let spare = endpoints.checked_sub(needed).ok_or(NoHints::Overload)?;
    let allocation = |share| {
        let least = least(share);
        Allocation { desired: share.max(f64::from(least)), least, most: least + spare }
    };
    Ok(shares().map(|(zone, share)| (zone, allocation(share))).collect())
}

/// How many endpoints each zone gives away, and gets, where they are allocated so and should be allocated otherwise. Half an endpoint is
/// worth no change.
pub fn giving_and_receiving(desired: &BTreeMap<ZoneId, f64>, allocated: &BTreeMap<ZoneId, i64>) -> (Counts, Counts) {
    let (mut over, mut under): (Ratios, Ratios) = Default::default();
    for (zone, desired) in desired {
        let surplus = allocated.get(zone).map_or(0.0, |count| *count as f64) - desired;
        if surplus > 0.0 {
            over.insert(*zone, surplus);
        } else if surplus < 0.0 {
            under.insert(*zone, -surplus);
        }
    }
    over.extend(
        allocated
            .iter()
            .filter(|(zone, count)| !desired.contains_key(zone) && **count > 0)
            .map(|(zone, count)| (*zone, *count as f64)),
    );
    let (mut giving, mut receiving) = (Counts::new(), Counts::new());
    while let (Some((from, gives)), Some((to, takes))) = (greatest(&over), greatest(&under)) {
        if (gives < 1.0 && takes < 1.0) || gives < 0.5 || takes < 0.5 {
            break;
        }
        for (counts, left, zone) in [(&mut giving, &mut over, from), (&mut receiving, &mut under, to)] {
            *counts.entry(zone).or_default() += 1;
            *left.get_mut(&zone).expect("it is the greatest") -= 1.0;
        }
    }
    (giving, receiving)
}

fn greatest(zones: &Ratios) -> Option<(ZoneId, f64)> {
    let most = |best: Option<(ZoneId, f64)>, (zone, number): (&ZoneId, &f64)| match best {
        Some((_, most)) if *number <= most => best,
        _ => Some((*zone, *number)),
    };
    zones.iter().filter(|(_, number)| **number > 0.0).fold(None, most)
}

/// Endpoints for their own zones, but for those that a zone gives to another: its first ones.
pub fn redistribute(endpoints: &[ZoneId], mut giving: Counts, mut receiving: Counts) -> Vec<ZoneId> {
    let take = |counts: &mut Counts, zone: ZoneId| {
        let left = counts.get_mut(&zone).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    };
    let hint = |zone: &ZoneId| {
        let Some(to) = receiving.iter().find(|(_, left)| **left > 0).map(|(to, _)| *to) else { return *zone };
        if take(&mut giving, *zone) {
            take(&mut receiving, to);
            return to;
        }
        *zone
    };
    endpoints.iter().map(hint).collect()
}

/// The hints of ready endpoints that stand, by zone; `None`: they cannot stay, because an endpoint has none, or a zone has none of the
/// endpoints by now, or would have too many beside those that are `allocated` already (`getHintsByZone`).
pub fn standing(endpoints: &[HintedEndpoint], allocated: &Counts, most: &Counts) -> Option<Counts> {
    let mut counts = Counts::new();
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.ready) {
        *counts.entry(endpoint.hint?).or_default() += 1;
    }
    let fits = |(zone, count): (&ZoneId, &u32)| {
        most.get(zone).is_some_and(|most| count + allocated.get(zone).copied().unwrap_or(0) <= *most)
    };
    counts.iter().all(fits).then_some(counts)
}

/// For how many endpoints each zone is named.
pub fn by_zone(hints: &[ZoneId]) -> Counts {
    let mut counts = Counts::new();
    for zone in hints {
        *counts.entry(*zone).or_default() += 1;
    }
    counts
}

/// The endpoints that a client in a zone is sent to, of those that are ready: by the hints of each, as kube-proxy goes by them.
pub fn reached<T: Copy>(endpoints: &[(T, Option<ZoneId>)], from: ZoneId) -> Vec<T> {
    let ready = Conditions { ready: true, serving: true, terminating: false };
    let seen = |(_, hint): &(T, Option<ZoneId>)| Endpoint::<ZoneId, ()> {
        conditions: ready,
        local: false,
        zone_hints: hint.iter().copied().collect(),
        node_hints: Vec::new(),
    };
    let seen: Vec<_> = endpoints.iter().map(seen).collect();
    let node = ProxyNode { node: (), zone: Some(from), prefers_same_node: false };
    cluster_endpoints(&node, &seen).into_iter().map(|place| endpoints[place].0).collect()
}

/// Whether a Service whose hints stand so must be looked at anew, because a zone has too few for its share of the CPUs.
pub fn is_overloaded(hints: &Counts, ratios: Option<&Ratios>) -> bool {
    let total: u32 = hints.values().sum();
    let Some(ratios) = ratios else { return total > 0 };
    let enough = |(zone, ratio): (&ZoneId, &f64)| hints.get(zone).is_some_and(|count| *count >= least(f64::from(total) * ratio));
    total > 0 && !ratios.iter().all(enough)
}

/// Which zone each endpoint is for; `None`: it is not ready (`AddHints`). `current`: the hints there are, where no endpoint has changed;
/// they stay if they can.
///
/// # Errors
/// Why there are none.
pub fn hints(
    ratios: Option<&Ratios>,
    endpoints: &[EndpointInfo],
    current: Option<&[Option<ZoneId>]>,
) -> Result<Vec<Option<ZoneId>>, NoHints> {
    let ready = || endpoints.iter().filter(|endpoint| endpoint.ready);
    let allocations = allocations(ratios, ready().count() as u32)?;
    let most = allocations.iter().map(|(zone, allocation)| (*zone, allocation.most)).collect();
    if let Some(current) = current {
        let hinted = endpoints.iter().zip(current).map(|(endpoint, hint)| HintedEndpoint { hint: *hint, ready: endpoint.ready });
        let hinted: Vec<HintedEndpoint> = hinted.collect();
        if standing(&hinted, &Counts::new(), &most).is_some() {
            return Ok(hinted.iter().map(|endpoint| endpoint.hint.filter(|_| endpoint.ready)).collect());
        }
    }
    let own: Vec<ZoneId> = ready().map(|endpoint| endpoint.zone).collect::<Option<_>>().ok_or(NoHints::NoZone)?;
    let mut allocated = BTreeMap::new();
    for zone in &own {
        *allocated.entry(*zone).or_default() += 1;
    }
    let desired = allocations.into_iter().map(|(zone, allocation)| (zone, allocation.desired)).collect();
    let (giving, receiving) = giving_and_receiving(&desired, &allocated);
    let mut hints = redistribute(&own, giving, receiving).into_iter();
    Ok(endpoints.iter().map(|endpoint| if endpoint.ready { hints.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(zone: u16, milli_cpu: u64) -> NodeInfo {
        NodeInfo { zone: Some(ZoneId(zone)), milli_cpu, ready: true }
    }

    fn ready(zone: u16) -> EndpointInfo {
        EndpointInfo { zone: Some(ZoneId(zone)), ready: true }
    }

    fn zones<const N: usize>(zones: [u16; N]) -> Vec<Option<ZoneId>> {
        zones.map(|zone| Some(ZoneId(zone))).into()
    }

    fn three(cpus: [u64; 3]) -> Result<Vec<Option<ZoneId>>, NoHints> {
        let ratios = ratios((0..).zip(cpus).map(|(zone, cpu)| node(zone, cpu)));
        hints(ratios.as_ref(), &[0, 1, 2].map(ready), None)
    }

    /// An endpoint in each of three zones: none can be spared, so that all depends on no zone needing two.
    #[test]
    fn two_fifths_of_the_cpus_in_a_zone_are_too_much_for_one_endpoint() {
        assert_eq!(three([2, 2, 2]), Ok(zones([0, 1, 2])));
        assert!(three([3, 3, 2]).is_ok());
        assert_eq!(three([3, 2, 2]), Err(NoHints::Overload));
        assert_eq!(three([4, 4, 2]), Err(NoHints::Overload), "a share of exactly 0.4, as IEEE numbers have it");
        assert_eq!(three([1, 0, 1]), Err(NoHints::NodeInfo), "a node without CPU");
    }

    #[test]
    fn hints_stay_where_they_can() {
        let ratios = ratios([node(0, 4), node(1, 4)]);
        let endpoints = [0, 0, 0, 1].map(ready);
        let fresh = hints(ratios.as_ref(), &endpoints, None).unwrap();
        assert_eq!(fresh, zones([1, 0, 0, 1]));
        let other = zones([0, 1, 0, 1]);
        assert_eq!(hints(ratios.as_ref(), &endpoints, Some(&other)), Ok(other));
        let lopsided = zones([0, 0, 0, 1]);
        assert_eq!(hints(ratios.as_ref(), &endpoints, Some(&lopsided)), Ok(fresh));
    }

    /// `topologycache.go`, `utils.go`: `AddHints` counts and hints ready endpoints alone, and `getHintsByZone` skips others.
    #[test]
    fn an_endpoint_that_is_not_ready_neither_counts_nor_gets_a_hint() {
        let ratios = ratios([node(0, 4), node(1, 4)]);
        let unready = |zone| EndpointInfo { zone, ready: false };
        let too_few = [ready(0), unready(Some(ZoneId(1)))];
        assert_eq!(hints(ratios.as_ref(), &too_few, None), Err(NoHints::Endpoints));
        // One without a zone disturbs nothing, and neither does a hint that it had.
        let endpoints = [unready(Some(ZoneId(0))), ready(0), unready(None), ready(1)];
        let expected = vec![None, Some(ZoneId(0)), None, Some(ZoneId(1))];
        assert_eq!(hints(ratios.as_ref(), &endpoints, None), Ok(expected.clone()));
        let had = [Some(ZoneId(7)), Some(ZoneId(0)), None, Some(ZoneId(1))];
        assert_eq!(hints(ratios.as_ref(), &endpoints, Some(&had)), Ok(expected));
    }

    proptest! {
        #[test]
        fn every_ready_endpoint_is_for_a_zone_and_no_zone_is_more_than_one_short(
            cpus in proptest::collection::vec(1_u64..64, 2..5),
            zones in proptest::collection::vec((0_u16..5, any::<bool>()), 1..20),
        ) {
            let ratios = ratios((0..).zip(&cpus).map(|(zone, cpu)| node(zone, *cpu)));
            let endpoints: Vec<EndpointInfo> = zones.iter().map(|&(zone, ready)| EndpointInfo { zone: Some(ZoneId(zone)), ready }).collect();
            if let Ok(hints) = hints(ratios.as_ref(), &endpoints, None) {
                prop_assert!(hints.iter().map(Option::is_some).eq(endpoints.iter().map(|endpoint| endpoint.ready)));
                let by_zone = by_zone(&hints.into_iter().flatten().collect::<Vec<_>>());
                let ready = by_zone.values().sum();
                for (zone, allocation) in allocations(ratios.as_ref(), ready).unwrap() {
                    let has = by_zone.get(&zone).copied().unwrap_or(0);
                    // What all zones desire can add up to more endpoints than there are; then the last one is one short.
                    prop_assert!(has + 1 >= allocation.least, "zone {zone:?} has {has}, needs {}", allocation.least);
                }
            }
        }
    }
}
