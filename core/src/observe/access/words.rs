//! Clients of an API and records of API access, in words.

use crate::access::balancer::health::Health;
use crate::access::origin::origin;
use crate::access::record::{AccessRecord, ConnectionState, Detail, Dialled, RequestResult};
use crate::ids::KubeClusterId;
use crate::kube::ctx::ApiClient;
use crate::kube::spec::KubeClusterSpec;
use crate::scenario::{Scenario, text};

/// Name of the clients of one kind, of which a client is one.
pub fn group(client: ApiClient, cluster: &KubeClusterSpec) -> String {
    match client {
        ApiClient::Kubelet(key) => {
            let is_master = cluster.nodes.get(key).is_some_and(|node| cluster.control_plane.contains(&node.node));
            if is_master { "kubelets of control-plane hosts" } else { "kubelets of workers" }.to_owned()
        }
        ApiClient::Candidate(component, _) => component.name().to_owned(),
        ApiClient::Further(id, _) => cluster.api_clients[id].name.clone(),
    }
}

/// Name of a client: `kubelet of w1`.
pub fn name(client: ApiClient, cluster: &KubeClusterSpec, scenario: &Scenario) -> String {
    match client {
        ApiClient::Kubelet(key) => {
            let node =
                cluster.nodes.get(key).map_or_else(|| format!("node {}", key.0), |node| scenario.nodes[node.node].name.clone());
            format!("kubelet of {node}")
        }
        ApiClient::Candidate(component, key) => match cluster.control_plane.get(key as usize) {
            Some(node) => format!("{} on {}", component.name(), scenario.nodes[*node].name),
            None => component.name().to_owned(),
        },
        ApiClient::Further(id, node) => format!("{} on {}", cluster.api_clients[id].name, scenario.nodes[node].name),
    }
}

/// The record in plain words.
pub fn describe(record: AccessRecord, id: KubeClusterId, scenario: &Scenario) -> String {
    let cluster = &scenario.kube.clusters[id];
    let server = |key: u32| &scenario.nodes[cluster.control_plane[key as usize]].name;
    let text = match record {
        AccessRecord::Target { balancer, node, target, health } => {
            let (name, place) = (&scenario.load_balancers[balancer].name, text::node_of_balancer(scenario, balancer, node));
            let health = match health {
                Health::Initial => "new",
                Health::Healthy => "healthy",
                Health::Unhealthy => "unhealthy",
            };
            format!("{name} {place} finds the API server on {} {health}", server(target))
        }
        AccessRecord::Registered { balancer, target, is_target } => {
            let is = if is_target { "a new" } else { "no longer a" };
            format!("{} is {is} target of {}", server(target), scenario.load_balancers[balancer].name)
        }
        AccessRecord::ConnectionLimit { balancer, node, is_reached } => {
            let (name, place) = (&scenario.load_balancers[balancer].name, text::node_of_balancer(scenario, balancer, node));
            let does = if is_reached { "has reached its connection limit" } else { "accepts connections again" };
            format!("{name} {place} {does}")
        }
        AccessRecord::Detail { client, detail } => {
            let what = match detail {
                Detail::Connected { .. } => "opens a connection",
                Detail::Dials(Dialled::AtLimit) => "is not accepted by its load balancer, whose connection limit is reached",
                Detail::Dials(_) => "dials without success",
                Detail::Queues => "waits for responses in a queue",
                Detail::GoneAway => "has its connection closed by its server",
            };
            format!("{} {what}", name(client, cluster, scenario))
        }
        AccessRecord::ClientStopped(client) => format!("{} has stopped", name(client, cluster, scenario)),
        AccessRecord::Done(client) => format!("{} is done: all its requests are over", name(client, cluster, scenario)),
        AccessRecord::Request { client, result, after } => {
            let result = match result {
                RequestResult::Answered => "was answered",
                RequestResult::Error => "returned an error",
                RequestResult::ConnectionLost => "lost its connection",
                RequestResult::TimedOut => "timed out",
            };
            format!("a request of {} {result} after {}", name(client, cluster, scenario), text::duration(after))
        }
        AccessRecord::Client { client, state } => {
            let origin = cluster.access.map(|access| origin(client, &access, cluster, scenario));
            let client = name(client, cluster, scenario);
            let way = |through: bool| match origin {
                Some(origin) if through => format!(" through {}", scenario.load_balancers[origin].name),
                _ => String::new(),
            };
            match state {
                ConnectionState::None => format!("{client} has no connection to an API server"),
                ConnectionState::Open { server: key, through } => {
                    format!("{client} is connected to the API server on {}{}", server(key), way(through))
                }
                ConnectionState::Unanswered { server: key, through } => {
                    format!("{client} gets errors from the API server on {}{}", server(key), way(through))
                }
                ConnectionState::Silent { server: key, through } => {
                    format!("the connection of {client} to the API server on {}{} is silent", server(key), way(through))
                }
                ConnectionState::Late { server: key, through } => {
                    format!("responses from the API server on {}{} come too late for {client}", server(key), way(through))
                }
            }
        }
    };
    format!("{}: {text}", cluster.name)
}
