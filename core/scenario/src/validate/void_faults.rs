//! Planned faults that change nothing: what they break is broken already, for as long as they last.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::fault::{Fault, FaultResolver, FaultTarget, Impact, NodeCrash, ProcessPause, ZonePower};
use crate::ids::NodeId;
use crate::kube::balancers::has_clients;
use crate::lowering::CheckCtx;
use crate::model::PlannedFault;
use zonefall_kernel::time::Time;

/// Warns of them. Each has the place in the file of what it was made of.
pub(super) fn warn(ctx: &mut CheckCtx<'_>, faults: &[(usize, PlannedFault)], resolver: &FaultResolver<'_>) {
    let mut in_order: Vec<_> = faults.iter().map(|(k, planned)| (*k, planned.at, end_of(planned), &planned.fault)).collect();
    in_order.sort_by_key(|(_, at, end, _)| (*at, Reverse(*end)));
    // By what is broken: the fault that ends last, and when.
    let mut broken: BTreeMap<String, (usize, Time)> = BTreeMap::new();
    for (k, at, end, fault) in in_order {
        let last = |other: &Fault| broken.get(&key(other)).copied();
        let over = |(_, until): &(usize, Time)| *until >= end;
        // Slow disks and links add up.
        let adds_up = matches!(fault.kind().impact(), Impact::SlowsDisk | Impact::SlowsNetwork);
        let same = last(fault).filter(|_| !adds_up).filter(over);
        let dark = match fault {
            Fault::NodeCrash(NodeCrash(FaultTarget::Named(node))) => {
                zone_of(*node, resolver).and_then(|zone| last(&zone)).filter(over)
            }
            // A process that does not run is not frozen later either.
            Fault::ProcessPause(ProcessPause(FaultTarget::Named(member))) => resolver.fixed_node(*member).and_then(|node| {
                let crash = last(&NodeCrash(FaultTarget::Named(node)).into());
                let dark = zone_of(node, resolver).and_then(|zone| last(&zone));
                crash.into_iter().chain(dark).find(|(_, until)| *until > at)
            }),
            _ => None,
        };
        if let Some((other, _)) = same.or(dark) {
            let expected = format!("something that works then: faults[{other}] has broken it already");
            ctx.warn(&format!("faults[{k}]"), "a fault that changes nothing", expected);
        }
        if let Fault::LbThrottled(throttle) = fault
            && !resolver.kube.clusters.iter().any(|cluster| has_clients(cluster, throttle.balancer))
        {
            let expected = "a load balancer that `api_clients` go through: kubelets and components do not fill its queue";
            ctx.warn(&format!("faults[{k}].balancer"), "one without such clients", expected);
        }
        let last = broken.entry(key(fault)).or_insert((k, end));
        if last.1 < end {
            *last = (k, end);
        }
    }
}

fn key(fault: &Fault) -> String {
    format!("{fault:?}")
}

fn end_of(planned: &PlannedFault) -> Time {
    planned.lasts.map_or(Time::MAX, |lasts| planned.at + lasts)
}

/// The loss of power in a node's zone; `None`: something is wrong with the node.
fn zone_of(node: NodeId, resolver: &FaultResolver<'_>) -> Option<Fault> {
    let node = resolver.topology.nodes.get(node)?;
    Some(ZonePower(FaultTarget::Named(node.zone)).into())
}
