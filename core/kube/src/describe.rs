//! What happens in a plane, in plain words.

use crate::cluster::KubeCluster;
use crate::event::KubeEvent;
use crate::name::NodeName;
use crate::record::{HintsFact, KubeRecord, Loss, MachineFact, NodeFact, PodFact, Ready, Reason, Replica, ServerFact, Verb};
use crate::rule::taints::Effect;
use crate::rule::zone_state::ZoneState;
use crate::spec::{Component, KubeClusterSpec, Role, Workload};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::MemberId;

/// A node's name, as `kubectl` shows it.
pub fn node_name(name: NodeName, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
    match name {
        NodeName::Given(key) => scenario.nodes[cluster.nodes[key.0 as usize].node.0 as usize].name.clone(),
        NodeName::Machine(machine) => machine.text(cluster),
    }
}

/// The name of a component's Service, with its namespace.
pub fn service_name(workload: &Workload, scenario: &Scenario) -> String {
    let client = if matches!(workload.role, Role::Etcd(_)) { "-client" } else { "" };
    format!("{}/{}{client}", scenario.kube.word(workload.namespace), workload.name)
}

impl KubeRecord {
    /// What it says, names resolved.
    pub fn describe(&self, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
        let text = match *self {
            Self::Pod(name, fact) => {
                let name = name.text(cluster);
                match fact {
                    PodFact::Created => format!("{name} is made"),
                    PodFact::Bound(node) => format!("{name} goes to {}", node_name(node, cluster, scenario)),
                    PodFact::Unschedulable(reason) => format!("{name} finds no node: {}", reason.describe()),
                    PodFact::Started { restarts: 0 } => format!("{name} runs"),
                    PodFact::Started { restarts } => format!("{name} runs again (restart {restarts})"),
                    PodFact::Ready(true) => format!("{name} is ready"),
                    PodFact::Ready(false) => format!("{name} is not ready"),
                    PodFact::Terminating => format!("{name} is to end"),
                    PodFact::Removed => format!("{name} is gone"),
                    PodFact::VolumeAttached(node) => {
                        format!("{name}'s volume is attached to {}", node_name(node, cluster, scenario))
                    }
                    PodFact::VolumeDetached { forced: false } => format!("{name}'s volume is detached"),
                    PodFact::VolumeDetached { forced: true } => format!("{name}'s volume is detached by force"),
                    PodFact::VolumeDiscarded => format!("{name}'s volume is discarded"),
                    PodFact::SeveralBudgets => format!("{name} cannot be evicted: several budgets select it"),
                    PodFact::Evicted(true) => format!("{name} is evicted"),
                    PodFact::Evicted(false) => format!("{name} is not evicted: its budget is spent"),
                    PodFact::OrphanedContainer(true) => format!("{name} runs on, cut off, though it is gone"),
                    PodFact::OrphanedContainer(false) => format!("{name} no longer runs where it was cut off"),
                }
            }
            Self::Node(node, fact) => {
                let name = node_name(node, cluster, scenario);
                match fact {
                    NodeFact::Ready(Ready::True) => format!("{name} is ready"),
                    NodeFact::Ready(Ready::Unknown) => format!("{name} is silent: not ready"),
                    NodeFact::Unreachable(effect, true) => format!("{name} is tainted unreachable:{}", effect_words(effect)),
                    NodeFact::Lost(Some(Loss::Power)) => format!("{name} has no power"),
                    NodeFact::Lost(Some(Loss::Network)) => format!("{name} is cut off"),
                    NodeFact::Lost(None) => format!("{name} can be reached again"),
                    NodeFact::Unreachable(effect, false) => {
                        format!("{name} is no longer tainted unreachable:{}", effect_words(effect))
                    }
                    NodeFact::Registered => format!("{name} joins"),
                    NodeFact::Removed => format!("{name} is gone"),
                    NodeFact::Cordoned => format!("{name} takes no more pods"),
                }
            }
            Self::Zone(zone, state) => {
                let state = match state {
                    ZoneState::Normal => "healthy",
                    ZoneState::PartialDisruption => "partially disrupted",
                    ZoneState::FullDisruption => "fully disrupted",
                };
                format!("{} counts as {state}", scenario.zones[zone.0 as usize].name)
            }
            Self::EvictionPaused(true) => "all zones are fully disrupted: nothing is evicted".to_owned(),
            Self::EvictionPaused(false) => "a zone has come back: evictions go on".to_owned(),
            Self::Machine(name, fact) => {
                let name = name.text(cluster);
                match fact {
                    MachineFact::Created => format!("machine {name} is made"),
                    MachineFact::Phase(phase) => format!("machine {name} is {phase:?}"),
                    MachineFact::Removed => format!("machine {name} is gone"),
                }
            }
            Self::MachineDeploymentScaled(deployment, desired) => {
                format!("{} is to have {desired} machines", cluster.machine_deployments[deployment.0 as usize].name)
            }
            Self::ApiServer(replica, fact) => {
                let name = replica.describe(scenario);
                match fact {
                    ServerFact::Runs => format!("the API server {name} runs"),
                    ServerFact::Ready(true) => format!("the API server {name} is sent clients"),
                    ServerFact::Ready(false) => format!("the API server {name} is sent no clients: etcd does not answer it"),
                    ServerFact::Stops => format!("the API server {name} is to stop"),
                    ServerFact::Gone => format!("the API server {name} is gone"),
                    ServerFact::Etcd(Some(member)) => {
                        format!(
                            "the API server {name} talks to {}",
                            scenario.member(MemberId { cluster: cluster.etcd, index: member }).name
                        )
                    }
                    ServerFact::Etcd(None) => format!("the API server {name} hears nothing from etcd"),
                }
            }
            Self::ApiAvailability { verb, up } => {
                let requests = match verb {
                    Verb::Read => "reads",
                    Verb::Write => "writes",
                };
                format!("the API {} {requests}", if up { "answers" } else { "does not answer" })
            }
            Self::Lease(component, Some(replica)) => {
                format!("the {} {} leads", component_name(component), replica.describe(scenario))
            }
            Self::ControllerActive(component, true) => format!("the {} acts", component_name(component)),
            Self::ControllerActive(component, false) => format!("the {} can do nothing", component_name(component)),
            Self::Operation(task) => format!("an operator {}", task.describe(cluster, scenario)),
            Self::Lease(component, None) => format!("no {} leads", component_name(component)),
            Self::Hints(service, fact) => {
                let service = service_name(&cluster.workloads[service.0 as usize], scenario);
                match fact {
                    HintsFact::On => format!("{service} has topology hints"),
                    HintsFact::Off(why) => format!("{service} has no topology hints: {why}"),
                }
            }
        };
        format!("{}: {text}", cluster.name)
    }
}

impl Replica {
    /// Its name.
    pub fn describe(self, scenario: &Scenario) -> String {
        match self {
            Self::Host(node) => format!("on {}", scenario.nodes[node.0 as usize].name),
            Self::Pod(cluster, pod) => pod.text(&scenario.kube.clusters[cluster.0 as usize]),
        }
    }
}

/// A component's name, as it is deployed.
pub const fn component_name(component: Component) -> &'static str {
    match component {
        Component::ControllerManager => "kube-controller-manager",
        Component::Scheduler => "kube-scheduler",
        Component::MachineControllerManager => "machine-controller-manager",
        Component::Autoscaler => "cluster-autoscaler",
        Component::Gardenlet => "gardenlet",
        Component::Druid => "etcd-druid",
    }
}

impl Reason {
    /// What is wrong with the nodes.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Taints => "taints it does not tolerate",
            Self::NodeAffinity => "it may not run on such nodes",
            Self::Resources => "not enough CPU, memory or room for pods",
            Self::VolumeLimit => "no room for another volume",
            Self::VolumeZone => "its volume is in another zone",
            Self::Spread => "too many of its kind are there",
            Self::PodAffinity => "pods it must be near to are missing",
            Self::PodAntiAffinity => "pods it must be away from are there",
            Self::ExistingAntiAffinity => "pods are there that must be away from it",
        }
    }
}

/// A taint's effect, as `kubectl` prints it.
pub const fn effect_words(effect: Effect) -> &'static str {
    match effect {
        Effect::NoSchedule => "NoSchedule",
        Effect::PreferNoSchedule => "PreferNoSchedule",
        Effect::NoExecute => "NoExecute",
    }
}

impl KubeEvent {
    /// What is due.
    pub fn describe(&self, cluster: &KubeCluster, spec: &KubeClusterSpec, scenario: &Scenario) -> String {
        let node = |key| {
            cluster.store().get_node(key).map_or_else(|| "a new node".to_owned(), |node| node_name(node.name, spec, scenario))
        };
        let text = match *self {
            Self::Work { controller: place, queue } => {
                cluster.controller(place).map_or("", |controller| controller.describe_work(queue)).to_owned()
            }
            Self::Due { controller: place, ref due } => {
                cluster.controller(place).map(|controller| controller.describe_due(due, spec, scenario)).unwrap_or_default()
            }
            Self::Message { controller: place, message } => {
                cluster.controller(place).map_or("", |controller| controller.describe_message(message)).to_owned()
            }
            Self::Drain(key) => format!("{} is to be rid of its pods", node(key)),
            Self::Renew { node: key, .. } => format!("{}'s lease is to be renewed", node(key)),
            Self::Booted { node: key, .. } => format!("{} has booted", node(key)),
            Self::Link { .. } => "an API server's connection to etcd has been silent for too long".to_owned(),
            Self::Readiness { .. } => "an API server is asked whether it is ready".to_owned(),
            Self::ControlPlane { .. } => "a host of the control plane runs its programs again".to_owned(),
            Self::Election { component, .. } => format!("something is due with the lease of {}", component_name(component)),
            Self::Process { node: key, .. } => format!("a pod's process on {} is ready or has ended", node(key)),
        };
        format!("{}: {text}", spec.name)
    }
}
