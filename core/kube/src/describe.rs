//! Records and events of a Kubernetes cluster in plain words.

use crate::cluster::KubeCluster;
use crate::event::KubeEvent;
use crate::name::NodeName;
use crate::record::{
    HintsFact, KubeRecord, Loss, MachineFact, NodeFact, NodeGroupFact, NodeGroupScan, PodFact, Ready, Reason, Replica,
    ServerFact, Verb,
};
use crate::rule::taints::Effect;
use crate::rule::zone_state::ZoneState;
use crate::share::Share;
use crate::spec::{KubeClusterSpec, Role, Task, Workload};
use zonefall_network::vantage::Extent;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::MemberId;
use zonefall_scenario::text;

/// A node's name, as `kubectl` shows it.
pub fn node_name(name: NodeName, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
    match name {
        NodeName::Given(key) => scenario.nodes[cluster.nodes[key].node].name.clone(),
        NodeName::Machine(machine) => machine.text(cluster),
    }
}

/// The name of a component's Service, with its namespace.
pub fn service_name(workload: &Workload, scenario: &Scenario) -> String {
    let client = if matches!(workload.role, Role::Etcd(_)) { "-client" } else { "" };
    format!("{}/{}{client}", scenario.kube.word(workload.namespace), workload.name)
}

impl KubeRecord {
    /// The record in plain words, names resolved.
    pub fn describe(&self, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
        let text = match *self {
            Self::Pod(name, fact) => {
                let name = name.text(cluster);
                match fact {
                    PodFact::Created => format!("{name} is created"),
                    PodFact::Bound(node) => format!("{name} is bound to {}", node_name(node, cluster, scenario)),
                    PodFact::Unschedulable(reason) => format!("{name} is unschedulable: {}", reason.describe()),
                    PodFact::Started { restarts: 0 } => format!("{name} is running"),
                    PodFact::Started { restarts } => format!("{name} is running again (restart {restarts})"),
                    PodFact::Ready(true) => format!("{name} is ready"),
                    PodFact::Ready(false) => format!("{name} is not ready"),
                    PodFact::Terminating => format!("{name} is terminating"),
                    PodFact::Removed => format!("{name} is deleted"),
                    PodFact::VolumeAttached(node) => {
                        format!("{name}'s volume is attached to {}", node_name(node, cluster, scenario))
                    }
                    PodFact::AttachFailed(node) => {
                        format!(
                            "{name}'s volume cannot be attached to {}: no disk of its name was found in the zone",
                            node_name(node, cluster, scenario)
                        )
                    }
                    PodFact::VolumeDetached { forced: false } => format!("{name}'s volume is detached"),
                    PodFact::VolumeDetached { forced: true } => format!("{name}'s volume is force-detached"),
                    PodFact::VolumeDiscarded => format!("{name}'s volume is deleted"),
                    PodFact::SeveralBudgets => format!("{name} cannot be evicted: several PodDisruptionBudgets select it"),
                    PodFact::TaintEvicted => format!("{name} is evicted: it does not tolerate a NoExecute taint of its node"),
                    PodFact::GarbageCollected => format!("the pod garbage collector deletes {name}: its node no longer exists"),
                    PodFact::ForceDeleted => format!("the drain of its machine has timed out, and deletes {name} by force"),
                    PodFact::Denied => format!("{name} is not evicted: a webhook denies it"),
                    PodFact::Revision(number) => format!("{name} is of revision {number}"),
                    PodFact::Evicted(true) => format!("{name} is evicted"),
                    PodFact::Evicted(false) => format!("{name} is not evicted: its PodDisruptionBudget allows no disruption"),
                    PodFact::OrphanedContainer(true) => {
                        format!("{name} is deleted, but its containers still run on an unreachable node")
                    }
                    PodFact::OrphanedContainer(false) => format!("the orphaned containers of {name} have stopped"),
                }
            }
            Self::Node(node, fact) => {
                let name = node_name(node, cluster, scenario);
                match fact {
                    NodeFact::Ready(Ready::True) => format!("{name} is ready"),
                    NodeFact::Ready(Ready::Unknown) => format!("{name} is not ready: its kubelet sends no heartbeats"),
                    NodeFact::Unreachable(effect, true) => format!("{name} is tainted unreachable:{}", effect_words(effect)),
                    NodeFact::Lost(Some(Loss::Power)) => format!("{name} loses power"),
                    NodeFact::Lost(Some(Loss::Network)) => format!("{name} is cut off from the network"),
                    NodeFact::Lost(None) => format!("{name} is reachable again"),
                    NodeFact::Unreachable(effect, false) => {
                        format!("{name} is no longer tainted unreachable:{}", effect_words(effect))
                    }
                    NodeFact::Registered => format!("{name} is registered"),
                    NodeFact::Removed => format!("{name} is deleted"),
                    NodeFact::Cordoned => format!("{name} is cordoned"),
                    NodeFact::Uncordoned => format!("{name} is uncordoned"),
                    NodeFact::ScaleDown(verdict) => format!("scale-down of {name}: {}", verdict.describe()),
                    NodeFact::ToBeDeleted => format!("{name} is tainted as to be deleted by the cluster autoscaler"),
                    NodeFact::Kept(why) => format!("{name} is not deleted, and its taint is removed: {}", why.describe()),
                }
            }
            Self::Zone(zone, state) => {
                let state = match state {
                    ZoneState::Normal => "healthy",
                    ZoneState::PartialDisruption => "partially disrupted",
                    ZoneState::FullDisruption => "fully disrupted",
                };
                format!("the node lifecycle controller sees {} as {state}", scenario.zones[zone].name)
            }
            Self::EvictionPaused(true) => {
                "all zones are fully disrupted: the node lifecycle controller evicts no pods".to_owned()
            }
            Self::EvictionPaused(false) => "a zone has recovered: the node lifecycle controller evicts pods again".to_owned(),
            Self::Machine(name, fact) => {
                let name = name.text(cluster);
                match fact {
                    MachineFact::Created => format!("machine {name} is created"),
                    MachineFact::Phase(phase) => format!("machine {name} is {phase:?}"),
                    MachineFact::Removed => format!("machine {name} is deleted"),
                    MachineFact::DrainTimedOut => format!("the drain of machine {name} has timed out"),
                }
            }
            Self::MachineDeploymentScaled(deployment, desired) => {
                format!("machine deployment {} is scaled to {desired} machines", cluster.machine_deployments[deployment].name)
            }
            Self::ApiServer(replica, fact) => {
                let name = replica.describe(scenario);
                match fact {
                    ServerFact::Runs => format!("API server {name} is running"),
                    ServerFact::Ready(true) => format!("API server {name} is ready"),
                    ServerFact::Ready(false) => format!("API server {name} is not ready: etcd does not answer"),
                    ServerFact::Stops => format!("API server {name} shuts down"),
                    ServerFact::Closes => format!("API server {name} accepts no more connections: its shutdown delay is over"),
                    ServerFact::Gone => format!("API server {name} has stopped"),
                    ServerFact::Etcd(Some(member)) => {
                        format!(
                            "API server {name} is connected to {} for pods",
                            scenario.member(MemberId { cluster: cluster.etcd, index: member }).name
                        )
                    }
                    ServerFact::Etcd(None) => format!("API server {name} is connected to no etcd member for pods"),
                    ServerFact::Stalled(0) => format!("API server {name} has new connections to etcd"),
                    ServerFact::Stalled(resources) => {
                        format!("API server {name} waits for etcd in {resources} of {} resources", cluster.resources)
                    }
                }
            }
            Self::ApiAvailability { verb, up } => format!("API {}", describe_availability(verb, up)),
            Self::ApiShare { verb, share } => format!("API {}", describe_share(verb, share)),
            Self::ApiShareFrom { from, verb, share } => {
                let from = from.name(scenario);
                match share {
                    Some(share) => format!("API {} from {from}", describe_share(verb, share)),
                    None => format!("API {} from {from} are as elsewhere", describe_verb(verb)),
                }
            }
            Self::ApiShareOf { resource, verb, share } => {
                let what = format!("{} of {}", describe_verb(verb), resource.name());
                match share {
                    Some(Share::ALL) => format!("API {what} are available"),
                    Some(share) => format!("API {what} fail for {} of requests", text::fraction(share.missing())),
                    None => format!("API {what} are as those of all resources"),
                }
            }
            Self::Lease(component, Some(replica)) => {
                format!("{} {} is the leader", component.name(), replica.describe(scenario))
            }
            Self::ControllerActive(component, true) => format!("{} is active", component.name()),
            Self::ControllerActive(component, false) => format!("{} is inactive", component.name()),
            Self::Operation(task) => format!("an operator {}", task.describe(cluster, scenario)),
            Self::OperationRefused(task) => {
                let who = if matches!(task, Task::ShiftZone(_)) { "the cloud" } else { "kubectl" };
                format!("{who} refuses what an operator asks for: {}", task.describe(cluster, scenario))
            }
            Self::ShiftExpired(zone) => {
                format!("traffic of {} returns to zone {}: the shift has expired", cluster.name, scenario.zones[zone].name)
            }
            Self::Lease(component, None) => format!("{} has no leader", component.name()),
            Self::Endpoint { service, pod, listed } => {
                let (pod, service) = (pod.text(cluster), &cluster.services[service].name);
                format!("{pod} is {} endpoint of Service {service}", if listed { "an" } else { "no longer an" })
            }
            Self::NodeGroup(deployment, fact) => {
                let group = &cluster.machine_deployments[deployment].name;
                match fact {
                    NodeGroupFact::Scanned(NodeGroupScan { minimum, maximum, target, launched, choice }) => format!(
                        "node group {group} has {launched} of {target} nodes, limits {minimum} to {maximum}: {}",
                        choice.describe()
                    ),
                    NodeGroupFact::BackedOff { seconds, exhausted } => {
                        let why = if exhausted { "the cloud is out of stock" } else { "its nodes are overdue" };
                        format!("node group {group} is backed off for {seconds} s: {why}")
                    }
                }
            }
            Self::Hints(service, fact) => {
                let service = service_name(&cluster.workloads[service], scenario);
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
            Self::Host(node) => format!("on {}", scenario.nodes[node].name),
            Self::Pod(cluster, pod) => pod.text(&scenario.kube.clusters[cluster]),
        }
    }
}

impl Reason {
    /// Why no node suits the pod.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Unschedulable => "the nodes are cordoned",
            Self::Taints => "untolerated taints",
            Self::NodeAffinity => "node affinity or node selector is not satisfied",
            Self::Resources => "not enough CPU, memory or pod slots",
            Self::VolumeLimit => "the nodes are at their volume limit",
            Self::VolumeZone => "its volume is in another zone",
            Self::Spread => "topology spread constraints are not satisfied",
            Self::PodAffinity => "pod affinity is not satisfied",
            Self::PodAntiAffinity => "pod anti-affinity is not satisfied",
            Self::ExistingAntiAffinity => "the anti-affinity of existing pods is not satisfied",
            Self::NoNodes => "there are no nodes",
            Self::NoNodesInVolumeZone => "there are no nodes in the zone of its volume",
            Self::UnboundClaim => "its claim is not bound to a volume",
        }
    }

    /// The same as kube-scheduler has it after a number of nodes (the plugins' `ErrReason`; of resources it names those that are
    /// short: [`Refusal`](crate::reasons::Refusal)).
    pub const fn event(self) -> &'static str {
        match self {
            Self::Unschedulable => "node(s) were unschedulable",
            Self::Taints => "node(s) had untolerated taint(s)",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::Resources => "Insufficient resources",
            Self::VolumeLimit => "node(s) exceed max volume count",
            Self::VolumeZone | Self::NoNodesInVolumeZone => "node(s) had no available volume zone",
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingAntiAffinity => "node(s) didn't satisfy existing pods anti-affinity rules",
            Self::NoNodes => "no nodes available to schedule pods",
            Self::UnboundClaim => "pod has unbound immediate PersistentVolumeClaims",
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

/// `reads are available`.
fn describe_share(verb: Verb, share: Share) -> String {
    if share.is_part() {
        format!("{} stall for {} of the API", describe_verb(verb), text::fraction(share.missing()))
    } else {
        describe_availability(verb, share > Share::NONE)
    }
}

fn describe_availability(verb: Verb, up: bool) -> String {
    format!("{} are {}", describe_verb(verb), if up { "available" } else { "unavailable" })
}

const fn describe_verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "reads",
        Verb::Write => "writes",
    }
}

impl KubeEvent {
    /// The event in plain words, names resolved.
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
            Self::MachineRequested { .. } => "an operator's request for a machine is retried".to_owned(),
            Self::MachineCreated { .. } => "a machine that an operator added is created, and boots".to_owned(),
            Self::Drain(key) => format!("the drain of {} continues", node(key)),
            Self::ShiftExpires => "the zonal shift expires".to_owned(),
            Self::Renew { node: key, .. } => format!("the kubelet of {} renews its lease", node(key)),
            Self::Booted { node: key, .. } => format!("the kubelet of {} starts after a boot", node(key)),
            Self::Link { .. } => "an API server's connection to etcd times out".to_owned(),
            Self::Readiness { .. } => "the kubelet probes the readiness of an API server".to_owned(),
            Self::Closes { .. } => "an API server that was asked to stop accepts no connection any more".to_owned(),
            Self::ApiServerExits { .. } => "an API server that was asked to stop exits".to_owned(),
            Self::ControlPlane { .. } => "a control-plane host restarts its processes".to_owned(),
            Self::Election { component, .. } => format!("leader election of {}: a timer fires", component.name()),
            Self::Process { node: key, .. } => format!("a process of a pod on {} becomes ready or exits", node(key)),
        };
        format!("{}: {text}", spec.name)
    }
}
