//! Which interventions fit which thing. What breaks it, zonefall-core says for each kind of fault; here stands what is selected.

use zonefall_core::access::origin;
use zonefall_core::etcd::view::Down;
use zonefall_core::ids::{MemberId, NodeId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::report::Report;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::fault::{self, Amount, Fault, FaultTarget, Hit, Place, ProcessKill};
use zonefall_core::scenario::text;
use zonefall_core::sim::view::SimulationView;

use crate::engine::protocol::Intervention;
use crate::state::Selection;
use crate::view::labels::moment;

/// An intervention that is on offer.
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
    /// The intervention, with the usual amount.
    pub intervention: Intervention,
}

impl Offer {
    /// What of it can be chosen.
    pub fn amount(&self) -> Option<Amount> {
        match &self.intervention {
            Intervention::Inject { fault, .. } => fault.kind().amount(),
            Intervention::Repair { .. } | Intervention::Roll { .. } => None,
        }
    }
}

/// What can be done to a thing: first what repairs it, then what breaks it. What is broken already is not offered again. The report (where
/// there is one) knows what was killed before.
pub fn offers(is: Selection, scenario: &Scenario, view: &SimulationView, report: Option<&Report>) -> Vec<Offer> {
    let repairs = view.faults.iter().filter(|active| touches(&active.fault, is, scenario)).map(|active| Offer {
        label: active.fault.kind().repair(scenario),
        about: "ends this fault",
        id: format!("repair-{}", active.id.0),
        breaks: false,
        intervention: Intervention::Repair { fault: active.id },
    });
    let is_new = |fault: &Fault| fault.kind().amount().is_some() || !view.faults.iter().any(|active| active.fault == *fault);
    let breaks = breaks(is, scenario).into_iter().filter(|offer| is_new(&offer.fault)).map(|offer| {
        let lasts = (offer.id == fault::Offer::KILL).then(|| restarted_after(&offer.fault, scenario, view.at, report));
        let restarted = lasts.map_or_else(String::new, |lasts| format!(" (restarted after {})", text::duration(lasts)));
        Offer {
            label: format!("{}{restarted}", offer.label),
            about: offer.about,
            id: offer.id.to_owned(),
            breaks: true,
            intervention: Intervention::Inject { fault: offer.fault, lasts },
        }
    });
    repairs.chain(breaks).collect()
}

/// When a process that is killed now runs again.
fn restarted_after(kill: &Fault, scenario: &Scenario, now: Time, report: Option<&Report>) -> Duration {
    let what = kill.kind().began(scenario);
    let kills = report.into_iter().flat_map(|report| &report.faults).filter(|fault| fault.what == what);
    let before: Vec<Time> = kills.map(|fault| moment(fault.from_s)).filter(|at| *at < now).collect();
    ProcessKill::restarted_after(&before, now)
}

/// Whether there is anything of a thing that a user can break.
pub fn is_breakable(is: Selection, scenario: &Scenario) -> bool {
    !breaks(is, scenario).is_empty()
}

/// Why it changes nothing to stop a thing now, or to cut it off: it does not run.
pub fn inert(is: Selection, scenario: &Scenario, view: &SimulationView) -> Option<String> {
    match is {
        Selection::Node(id) => (!view.powered[id]).then(|| format!("node {} has no power", scenario.nodes[id].name)),
        Selection::Zone(zone) => {
            let mut here = scenario.nodes.iter_enumerated().filter(|(_, node)| node.zone == zone).map(|(id, _)| id).peekable();
            (here.peek().is_some() && here.all(|id| !view.powered[id]))
                .then(|| format!("no node of zone {} has power", scenario.zones[zone].name))
        }
        Selection::Member(id) => {
            let spec = scenario.member(id);
            let why = match view.etcd[id.cluster].members[id.index as usize].status.down? {
                Down::HeldDown if !view.powered[spec.node] => "does not run: its node has no power",
                Down::HeldDown => "does not run: it is stopped",
                Down::NoData => "does not run: it has lost its data",
                Down::Absent => "is not in the cluster",
                Down::Starting | Down::Standby => return None,
            };
            Some(format!("{} {why}", spec.name))
        }
        Selection::Link(..)
        | Selection::Client(_)
        | Selection::Machine(..)
        | Selection::Pod(..)
        | Selection::Balancer(..)
        | Selection::ApiClients(..)
        | Selection::ApiClient(..) => None,
    }
}

/// What can be broken of a thing: by the faults that hit it or what it has.
fn breaks(is: Selection, scenario: &Scenario) -> Vec<fault::Offer> {
    let hits: &[Hit] = match is {
        Selection::Member(id) => {
            &[Hit::Member(FaultTarget::Named(id)), Hit::Volume(FaultTarget::Named(scenario.member(id).volume))]
        }
        Selection::Node(id) => &[Hit::Node(FaultTarget::Named(id))],
        Selection::Zone(id) => &[Hit::Zone(FaultTarget::Named(id))],
        Selection::Link(a, b) => &[Hit::Link(Place::Zone(a), Place::Zone(b))],
        Selection::Balancer(id, _) => &[Hit::Balancer(id)],
        Selection::Client(_)
        | Selection::Machine(..)
        | Selection::Pod(..)
        | Selection::ApiClients(..)
        | Selection::ApiClient(..) => &[],
    };
    hits.iter().flat_map(|hit| fault::offers(*hit, scenario)).collect()
}

/// Whether a fault under way is one of this thing (or of what it stands in).
pub fn touches(fault: &Fault, is: Selection, scenario: &Scenario) -> bool {
    let node_of = |m: MemberId| scenario.member(m).node;
    let zone_of = |n: NodeId| scenario.nodes[n].zone;
    let (member, node, zone) = match is {
        Selection::Member(m) => (Some(m), Some(node_of(m)), Some(scenario.zone_of(m))),
        Selection::Node(n) => (None, Some(n), Some(zone_of(n))),
        Selection::Zone(z) => (None, None, Some(z)),
        Selection::Client(c) => (None, None, Some(scenario.clients[c].zone)),
        Selection::Balancer(id, node) => {
            let zone = scenario.load_balancers[id].zones[usize::from(node)];
            return fault.kind().hits().iter().any(|hit| [Hit::Balancer(id), Hit::Zone(FaultTarget::Named(zone))].contains(hit));
        }
        Selection::ApiClients(_, zone, _) => (None, None, Some(zone)),
        Selection::ApiClient(cluster, client) => {
            let node = origin::node(client, &scenario.kube.clusters[cluster]);
            (None, node, node.map(zone_of))
        }
        Selection::Machine(..) | Selection::Pod(..) => return false,
        Selection::Link(a, b) => {
            let [there, back] = [(a, b), (b, a)].map(|(a, b)| Hit::Link(Place::Zone(a), Place::Zone(b)));
            return fault.kind().hits().iter().any(|hit| [there, back].contains(hit));
        }
    };
    fault.kind().hits().into_iter().any(|hit| match hit {
        Hit::Member(m) => member == Some(m.named()),
        Hit::Volume(volume) => member.is_some_and(|m| scenario.member(m).volume == volume.named()),
        Hit::Node(n) => node == Some(n.named()),
        Hit::Zone(z) => zone == Some(z.named()),
        Hit::Balancer(_) => false,
        // A link between zones is a thing of its own.
        Hit::Link(Place::Zone(a), Place::Zone(b)) => a == b && zone == Some(a),
        Hit::Link(a, b) => [a, b].iter().any(|end| node.is_some_and(|node| *end == Place::Node(node))),
    })
}

/// The first intervention on offer that breaks: kills a member, switches a node or a zone off, loses packets of a link, takes a load balancer
/// down.
pub fn kill(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().find(|offer| ["kill", "power-off", "loss", "lb-down"].contains(&offer.id.as_str()))
}

/// Cuts off what the offers are for.
pub fn cut_off(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().find(|offer| ["cut-off", "lb-cut-off"].contains(&offer.id.as_str()))
}

/// Mends what broke last.
pub fn repair(offers: &[Offer]) -> Option<&Offer> {
    offers.iter().rfind(|offer| !offer.breaks)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use zonefall_core::ids::{ClientId, EtcdId, ZoneId};
    use zonefall_core::run::Run;
    use zonefall_core::scenario::bundled;
    use zonefall_core::scenario::fault::{Direction, LinkPartition, NodePartition, ZonePower};
    use zonefall_core::sim::{Options, Simulation};

    fn ids(offers: &[Offer]) -> Vec<&str> {
        offers.iter().map(|offer| offer.id.as_str()).collect()
    }

    #[test]
    fn what_is_broken_is_mended_where_it_shows_and_not_broken_twice() {
        let scenario = Arc::new(Scenario::from_json(bundled()[0].json).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        let id = simulation.inject(&Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))), None);
        let view = simulation.view();
        let repair = format!("repair-{}", id.0);
        let member = Selection::Member(MemberId { cluster: EtcdId(0), index: 0 });
        assert_eq!(ids(&offers(member, &scenario, &view, None))[0], repair);
        assert_eq!(ids(&offers(Selection::Zone(ZoneId(0)), &scenario, &view, None))[..2], [repair.as_str(), "cut-off"]);
        assert_eq!(ids(&offers(Selection::Zone(ZoneId(1)), &scenario, &view, None))[0], "power-off");
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
        let on = |is, simulation: &Simulation| offers(is, &scenario, &simulation.view(), None);
        let member = on(Selection::Member(id), &simulation);
        assert_eq!(fault(kill(&member)), Some(Fault::ProcessKill(ProcessKill(FaultTarget::Named(id)))));
        assert_eq!(cut_off(&member), None);
        let node = on(Selection::Node(NodeId(1)), &simulation);
        let cut = Fault::NodePartition(NodePartition { node: FaultTarget::Named(NodeId(1)), direction: Direction::Both });
        assert_eq!(fault(cut_off(&node)), Some(cut.clone()));
        let link = LinkPartition { a: Place::Zone(ZoneId(0)), b: Place::Zone(ZoneId(1)) };
        assert_eq!(fault(cut_off(&on(Selection::Link(ZoneId(0), ZoneId(1)), &simulation))), Some(link.into()));
        assert_eq!(repair(&node), None);
        let fault = simulation.inject(&cut, None);
        let node = on(Selection::Node(NodeId(1)), &simulation);
        assert_eq!(
            (cut_off(&node), repair(&node).map(|offer| &offer.intervention)),
            (None, Some(&Intervention::Repair { fault }))
        );
    }

    #[test]
    fn a_killed_process_is_restarted_by_its_kubelet_unless_told_not_to() {
        let scenario = Arc::new(Scenario::from_json(bundled()[0].json).unwrap());
        let mut run = Run::new(&scenario, 1, Options::default());
        run.advance(Time::from_nanos(10_000_000_000), &mut |_, _| {});
        let id = MemberId { cluster: EtcdId(0), index: 1 };
        let offered = |run: &mut Run, what: &str| {
            let view = run.simulation().view();
            let all = offers(Selection::Member(id), &scenario, &view, Some(&run.report()));
            let offer = all.into_iter().find(|offer| offer.id == what).expect("it is on offer");
            let Intervention::Inject { fault, lasts } = offer.intervention else { panic!("{what} breaks") };
            (offer.label, fault, lasts)
        };
        let down = |run: &Run| run.simulation().view().etcd[id.cluster].members[1].status.down;
        let (label, fault, lasts) = offered(&mut run, "kill");
        assert_eq!((label.as_str(), lasts), ("Kill process (restarted after 1.5 s)", Some(Duration::from_millis(1_500))));
        run.simulation_mut().inject(&fault, lasts);
        assert_eq!(down(&run), Some(Down::HeldDown));
        // With the half second that etcd takes to start.
        run.advance(Time::from_nanos(12_100_000_000), &mut |_, _| {});
        assert_eq!(down(&run), None);
        assert_eq!(offered(&mut run, "kill").0, "Kill process (restarted after 10.5 s)", "CrashLoopBackOff");
        let (label, fault, lasts) = offered(&mut run, "keep-stopped");
        assert_eq!((label.as_str(), lasts), ("Stop until repaired", None));
        run.simulation_mut().inject(&fault, lasts);
        run.advance(Time::from_nanos(50_000_000_000), &mut |_, _| {});
        assert_eq!(down(&run), Some(Down::HeldDown));
    }

    #[test]
    fn what_does_not_run_cannot_be_stopped_and_says_why() {
        let scenario = Arc::new(Scenario::from_json(bundled()[0].json).unwrap());
        let mut simulation = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        let why = |is, simulation: &Simulation| inert(is, &scenario, &simulation.view()).unwrap_or_default();
        let member = |index| Selection::Member(MemberId { cluster: EtcdId(0), index });
        for is in [Selection::Zone(ZoneId(0)), Selection::Node(NodeId(0)), member(0), Selection::Client(ClientId(0))] {
            assert_eq!(why(is, &simulation), "");
        }
        simulation.inject(&Fault::ZonePower(ZonePower(FaultTarget::Named(ZoneId(0)))), None);
        let kill = MemberId { cluster: EtcdId(0), index: 1 };
        simulation.inject(&Fault::ProcessKill(ProcessKill(FaultTarget::Named(kill))), None);
        for (is, expected) in [
            (Selection::Zone(ZoneId(0)), "no node of zone eu-west-1a has power"),
            (Selection::Node(NodeId(0)), "node node-a has no power"),
            (member(0), "etcd-main-0 does not run: its node has no power"),
            (member(1), "etcd-main-1 does not run: it is stopped"),
            (member(2), ""),
        ] {
            assert_eq!(why(is, &simulation), expected);
        }
    }
}
