//! The simulation step by step, each event in plain words.

use crate::access::event::AccessEvent;
use crate::ids::KubeClusterId;
use crate::kernel::time::Time;
use crate::record::Record;
use crate::scenario::{Scenario, text};
use crate::sim::Simulation;
use crate::sim::event::{Event, FaultEvent};

/// An event that was handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of the event.
    pub at: Time,
    /// What it was, in plain words: `heartbeat from etcd-main-0 arrives at etcd-main-1`; `None`: a timer that was put off or cancelled, so
    /// that nothing happened.
    pub text: Option<String>,
}

impl Simulation {
    /// When the next event is, if any is queued. What a group at rest leaves out is not queued: [`Simulation::message_by_message`].
    pub fn next_event(&self) -> Option<Time> {
        let asked = self.fx.out.schedule.iter().map(|(at, _)| *at).min();
        [self.queue.next_time(), asked].into_iter().flatten().min()
    }

    /// [`Simulation::step`], and says what it was.
    pub fn step_described(&mut self, sink: &mut dyn FnMut(Time, &Record)) -> Option<Step> {
        let mut said = None;
        let at = self.step_with(sink, |simulation, event| said = simulation.describe_event(event))?;
        Some(Step { at, text: said })
    }

    fn describe_event(&self, event: Event) -> Option<String> {
        let scenario = &*self.scenario;
        match event {
            Event::Etcd(id, event) => self.clusters[id].describe_event(event, self.now, &self.network, scenario),
            Event::Client(id, event) => self.clients[id].describe_event(event, self.now, &self.servers.in_flight, scenario),
            Event::Kube(id, event) => Some(event.describe(self.kube.cluster(id), &scenario.kube.clusters[id], scenario)),
            Event::Access(id, event) => Some(describe_access(event, id, scenario)),
            Event::Fault(FaultEvent::Planned(index)) => Some(scenario.faults[index as usize].fault.kind().began(scenario)),
            Event::Fault(FaultEvent::Random(index)) => Some(self.faults.processes[index as usize].fault().kind().began(scenario)),
            Event::Fault(FaultEvent::Ends(id)) => {
                self.faults.active.iter().find(|active| active.id == id).map(|active| active.fault.kind().ended(scenario))
            }
            Event::Fault(FaultEvent::Maintenance(index)) => {
                let operation = scenario.kube.operations[index as usize];
                let cluster = &scenario.kube.clusters[operation.cluster];
                Some(format!("{}: an operator {}", cluster.name, operation.task.describe(cluster, scenario)))
            }
            Event::Fault(FaultEvent::Databases(index)) => {
                let operation = scenario.maintenance[index as usize];
                let cluster = &scenario.etcd[operation.cluster].name;
                Some(format!("{cluster}: an operator requests: {}", text::maintenance(operation.task, scenario)))
            }
            Event::Fault(FaultEvent::Operation(index)) => Some(format!(
                "an operator requests: {}",
                text::membership_change(scenario.operations[index as usize].change, scenario)
            )),
        }
    }
}

fn describe_access(event: AccessEvent, id: KubeClusterId, scenario: &Scenario) -> String {
    let cluster = &scenario.kube.clusters[id];
    let host = |key: u32| &scenario.nodes[cluster.control_plane[key as usize]].name;
    let text = match event {
        AccessEvent::Check { balancer, node, target, .. } => {
            let (name, place) = (&scenario.load_balancers[balancer].name, text::node_of_balancer(scenario, balancer, node));
            format!("{name} {place} checks the API server on {}", host(target))
        }
        AccessEvent::Client { .. } => "a timer of a client of the API fires".to_owned(),
        AccessEvent::Backlog { .. } => "responses are waiting at the load balancer".to_owned(),
        AccessEvent::Refresh { server, .. } => {
            format!("the API server on {} reads the endpoints of the Service kubernetes", host(server))
        }
        AccessEvent::Endpoints { .. } => {
            "an API server removes another one, whose lease has expired, from the endpoints of the Service kubernetes".to_owned()
        }
    };
    format!("{}: {text}", cluster.name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scenario::testing::{at, client, three_zones};
    use crate::scenario::{Fault, FaultTarget, PlannedFault, ProcessKill, Target};
    use crate::sim::Options;

    #[test]
    fn every_step_says_what_happens_and_changes_nothing() {
        let mut scenario = three_zones();
        scenario.clients = vec![client("load", Target::Leader)].into();
        let fault = Fault::ProcessKill(ProcessKill(FaultTarget::OfLeader(crate::scenario::testing::CLUSTER)));
        scenario.faults = vec![PlannedFault { at: at(2_000), lasts: Some(crate::kernel::time::Duration::from_secs(5)), fault }];
        let scenario = Arc::new(scenario);
        let mut stepped = Simulation::new(Arc::clone(&scenario), 1, Options::default());
        stepped.message_by_message();
        let mut said = std::collections::BTreeSet::new();
        while stepped.next_event().is_some_and(|next| next <= at(20_000)) {
            let expected = stepped.next_event();
            let step = stepped.step_described(&mut |_, _| {}).expect("there is a next event");
            assert_eq!(Some(step.at), expected);
            said.extend(step.text);
        }
        let mut ran = Simulation::new(scenario, 1, Options::default());
        ran.run_until(at(20_000), &mut |_, _| {});
        stepped.run_until(at(20_000), &mut |_, _| {});
        assert_eq!(ran.view().etcd, stepped.view().etcd);
        for expected in [
            "heartbeat from etcd-main-0 arrives at etcd-main-1",
            "heartbeat response from etcd-main-1 arrives at etcd-main-0",
            "etcd-main-0's heartbeat is due",
            "the process of the leader of etcd-main was killed",
            "etcd-main-0 is restarted",
            "etcd-main-0 has started",
        ] {
            assert!(said.contains(expected), "{expected} is not among {said:#?}");
        }
        for expected in
            ["election timeout elapses", "pre-vote request from", "vote request from", "write is on its disk", "connects to"]
        {
            assert!(said.iter().any(|words| words.contains(expected)), "{expected} is not among {said:#?}");
        }
    }
}
