//! Which deeds fit which thing. What they do to the world is zonefall-core's business.

use zonefall_core::ids::{MemberId, NodeId, ZoneId};
use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::text;
use zonefall_core::scenario::{Direction, Fault, FaultTarget, LinkChange, Scenario};
use zonefall_core::sim::view::SimulationView;

use super::amount::Amount;
use crate::engine::protocol::Intervention;
use crate::state::Selection;

/// A deed that is on offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// What the button says.
    pub label: String,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Name for tests: `kill`, `power-off` ...
    pub id: String,
    /// Breaks (or mends).
    pub breaks: bool,
    /// The deed, with the usual amount.
    pub intervention: Intervention,
    /// What of it can be chosen.
    pub amount: Option<Amount>,
}

/// What can be done to a thing: first what mends it, then what breaks it. What is broken already is not offered again.
pub fn offers(is: Selection, scenario: &Scenario, view: &SimulationView) -> Vec<Offer> {
    let repairs = view.faults.iter().filter(|active| touches(&active.fault, is, scenario)).map(|active| Offer {
        label: format!("Mend: {}", text::ongoing(&active.fault, scenario)),
        about: "ends this fault now",
        id: format!("repair-{}", active.id.0),
        breaks: false,
        intervention: Intervention::Repair { fault: active.id },
        amount: None,
    });
    let is_new = |fault: &Fault| Amount::of(fault).is_some() || !view.faults.iter().any(|active| active.fault == *fault);
    let breaks = table(is, scenario).into_iter().filter(|(.., fault)| is_new(fault)).map(|(id, label, about, fault)| Offer {
        label: label.to_owned(),
        about,
        id: id.to_owned(),
        breaks: true,
        amount: Amount::of(&fault),
        intervention: Intervention::Inject { fault, lasts: None },
    });
    repairs.chain(breaks).collect()
}

type Row = (&'static str, &'static str, &'static str, Fault);

/// The table: id, label, what it does, the fault.
fn table(is: Selection, scenario: &Scenario) -> Vec<Row> {
    match is {
        Selection::Member(id) => member(id, scenario),
        Selection::Node(id) => node(id),
        Selection::Zone(id) => zone(id),
        Selection::Link(a, b) => link(a, b),
        Selection::Client(_) | Selection::Machine(..) | Selection::Pod(..) => Vec::new(),
    }
}

fn member(id: MemberId, scenario: &Scenario) -> Vec<Row> {
    let volume = FaultTarget::Named(scenario.member(id).volume);
    let (target, slow) = (FaultTarget::Named(id), Duration::from_millis(500));
    vec![
        ("kill", "Kill process", "SIGKILL: connections are reset, what was not synced is lost", Fault::ProcessKill(target)),
        ("stop", "Stop process", "SIGTERM: a leader hands over first", Fault::GracefulStop(target)),
        ("slow-disk", "Slow disk", "every fsync takes longer by this", Fault::DiskSlow { volume, add: slow, factor: 1.0 }),
        ("lose-volume", "Lose volume", "the disk and all on it is gone", Fault::VolumeLost(volume)),
    ]
}

fn node(id: NodeId) -> Vec<Row> {
    let node = FaultTarget::Named(id);
    let cut = |direction| Fault::NodePartition { node, direction };
    vec![
        ("power-off", "Power off", "the node and its processes are gone at once", Fault::NodeCrash(node)),
        ("cut-off", "Cut off", "packets to and from it vanish", cut(Direction::Both)),
        ("cut-in", "Nothing gets in", "packets to it vanish", cut(Direction::In)),
        ("cut-out", "Nothing gets out", "packets from it vanish", cut(Direction::Out)),
    ]
}

fn zone(id: ZoneId) -> Vec<Row> {
    let zone = FaultTarget::Named(id);
    let cut = |direction| Fault::ZonePartition { zone, direction };
    let worse = LinkChange { delay: Duration::from_millis(50), loss: 0.0, bytes_per_s: None };
    vec![
        ("power-off", "Power off", "every node of the zone is gone at once", Fault::ZonePower(zone)),
        ("cut-off", "Cut off", "packets across its boundary vanish; inside it all goes on", cut(Direction::Both)),
        ("cut-in", "Nothing gets in", "packets into it vanish", cut(Direction::In)),
        ("cut-out", "Nothing gets out", "packets out of it vanish", cut(Direction::Out)),
        (
            "delay",
            "Slow network",
            "packets between its nodes take longer by this each way",
            Fault::LinkDegraded { a: id, b: id, change: worse },
        ),
    ]
}

fn link(a: ZoneId, b: ZoneId) -> Vec<Row> {
    let worse = |ms, loss, bytes_per_s| {
        let change = LinkChange { delay: Duration::from_millis(ms), loss, bytes_per_s };
        Fault::LinkDegraded { a, b, change }
    };
    vec![
        ("delay", "Delay", "packets take longer by this each way", worse(50, 0.0, None)),
        ("loss", "Lose packets", "this part of the packets is lost", worse(0, 0.05, None)),
        ("narrow", "Narrow", "the throughput of each connection", worse(0, 0.0, Some(1 << 20))),
    ]
}

/// Whether a fault under way is one of this thing (or of what it stands in).
pub fn touches(fault: &Fault, is: Selection, scenario: &Scenario) -> bool {
    let node_of = |m: MemberId| scenario.member(m).node;
    let zone_of = |n: NodeId| scenario.nodes[n.0 as usize].zone;
    let (member, node, zone) = match is {
        Selection::Member(m) => (Some(m), Some(node_of(m)), Some(scenario.zone_of(m))),
        Selection::Node(n) => (None, Some(n), Some(zone_of(n))),
        Selection::Zone(z) => (None, None, Some(z)),
        Selection::Client(c) => (None, None, Some(scenario.clients[c.0 as usize].zone)),
        Selection::Machine(..) | Selection::Pod(..) => return false,
        Selection::Link(a, b) => {
            return matches!(fault, Fault::LinkDegraded { a: x, b: y, .. } if (*x, *y) == (a, b) || (*y, *x) == (a, b));
        }
    };
    match fault {
        Fault::ProcessKill(m) | Fault::GracefulStop(m) => member == Some(m.named()),
        Fault::DiskSlow { volume, .. } | Fault::VolumeLost(volume) => {
            member.is_some_and(|m| scenario.member(m).volume == volume.named())
        }
        Fault::NodeCrash(n) | Fault::NodePartition { node: n, .. } => node == Some(n.named()),
        Fault::ZonePower(z) | Fault::ZonePartition { zone: z, .. } => zone == Some(z.named()),
        Fault::LinkDegraded { a, b, .. } => a == b && zone == Some(*a),
        Fault::CloudApi { zone: of, .. } => of.is_some() && zone == *of,
    }
}

/// The first deed on offer that breaks: kills a member, switches a node or a zone off, loses packets of a link.
pub fn kill(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().find(|offer| ["kill", "power-off", "loss"].contains(&offer.id.as_str()))
}

/// Cuts off what the offers are for.
pub fn cut_off(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().find(|offer| offer.id == "cut-off")
}

/// Mends what broke last.
pub fn repair(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().rfind(|offer| !offer.breaks)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use zonefall_core::ids::EtcdId;
    use zonefall_core::scenario::bundled;
    use zonefall_core::sim::{Options, Simulation};

    fn ids(offers: &[Offer]) -> Vec<&str> {
        offers.iter().map(|offer| offer.id.as_str()).collect()
    }

    #[test]
    fn what_is_broken_is_mended_where_it_shows_and_not_broken_twice() {
        let scenario = Arc::new(Scenario::from_json(bundled()[0].json).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        let id = simulation.inject(&Fault::ZonePower(FaultTarget::Named(ZoneId(0))), None);
        let view = simulation.view();
        let repair = format!("repair-{}", id.0);
        let member = Selection::Member(MemberId { cluster: EtcdId(0), index: 0 });
        assert_eq!(ids(&offers(member, &scenario, &view))[0], repair);
        assert_eq!(ids(&offers(Selection::Zone(ZoneId(0)), &scenario, &view))[..2], [repair.as_str(), "cut-off"]);
        assert_eq!(ids(&offers(Selection::Zone(ZoneId(1)), &scenario, &view))[0], "power-off");
    }

    #[test]
    fn keys_break_the_selected_once_and_mend_it() {
        let scenario = Arc::new(Scenario::from_json(bundled()[0].json).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        let id = MemberId { cluster: EtcdId(0), index: 1 };
        let fault = |offer: Option<&Offer>| match offer.map(|offer| &offer.intervention) {
            Some(Intervention::Inject { fault, .. }) => Some(fault.clone()),
            _ => None,
        };
        let on = |is, simulation: &Simulation| offers(is, &scenario, &simulation.view());
        let member = on(Selection::Member(id), &simulation);
        assert_eq!(fault(kill(&member)), Some(Fault::ProcessKill(FaultTarget::Named(id))));
        assert_eq!(cut_off(&member), None);
        let node = on(Selection::Node(NodeId(1)), &simulation);
        let cut = Fault::NodePartition { node: FaultTarget::Named(NodeId(1)), direction: Direction::Both };
        assert_eq!(fault(cut_off(&node)), Some(cut.clone()));
        assert_eq!(cut_off(&on(Selection::Link(ZoneId(0), ZoneId(1)), &simulation)), None);
        assert_eq!(repair(&node), None);
        let fault = simulation.inject(&cut, None);
        let node = on(Selection::Node(NodeId(1)), &simulation);
        assert_eq!(
            (cut_off(&node), repair(&node).map(|offer| &offer.intervention)),
            (None, Some(&Intervention::Repair { fault }))
        );
    }
}
