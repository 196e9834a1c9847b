//! Requests of one kind, as flow schemas and estimates of their work see them (kubernetes/apiserver@24a394e5
//! `pkg/endpoints/request/requestinfo.go`, `pkg/authentication/user`): the user, the verb and the resource.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What requests of one kind have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    /// Name of the user that makes them; where there are several users, a number follows the name of each.
    pub user: String,
    /// Number of users, at least 1 (where requests are made for each node: of each node). They make requests in turn.
    pub users: u32,
    /// Verb in lower case: `get`, `list`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Resource of their objects.
    pub resource: Resource,
}

/// A resource of Kubernetes' API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// ConfigMaps, for all objects that no flow schema of a new cluster tells from others.
    #[default]
    ConfigMaps,
    /// Endpoints of Services.
    Endpoints,
    /// Events of objects, which report what happened to them.
    Events,
    /// Leases, of elections and of nodes.
    Leases,
    /// Nodes and their status.
    Nodes,
}

impl Resource {
    /// Group of the API; the core group is the empty word.
    pub const fn api_group(self) -> &'static str {
        match self {
            Self::ConfigMaps | Self::Endpoints | Self::Events | Self::Nodes => "",
            Self::Leases => "coordination.k8s.io",
        }
    }

    /// Name in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConfigMaps => "configmaps",
            Self::Endpoints => "endpoints",
            Self::Events => "events",
            Self::Leases => "leases",
            Self::Nodes => "nodes",
        }
    }

    /// Namespace of the objects: all that have one are in `default`, which is where the endpoints of API servers are; the empty word: they
    /// have none.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::ConfigMaps | Self::Endpoints | Self::Events | Self::Leases => "default",
            Self::Nodes => "",
        }
    }
}

impl ApiCall {
    /// How the names of kubelets begin (`pkg/auth/nodeidentifier` in kubernetes/kubernetes).
    pub const NODE: &'static str = "system:node:";
    /// How the names of service accounts begin (`pkg/authentication/serviceaccount`).
    const SERVICE_ACCOUNT: &'static str = "system:serviceaccount:";

    /// The user that a component of a control plane is: two have a name of their own, others are service accounts in `kube-system`.
    pub fn user_of_component(name: &str) -> String {
        match name {
            "kube-controller-manager" | "kube-scheduler" => format!("system:{name}"),
            _ => format!("{}kube-system:{name}", Self::SERVICE_ACCOUNT),
        }
    }

    /// The user that makes a request, of `users` in turn. `number`: it goes up or down by one with each request.
    pub fn user(&self, number: u64, users: u64) -> String {
        if users > 1 { format!("{}{}", self.user, number % users) } else { self.user.clone() }
    }

    /// Groups of a user: kubelets and service accounts have their own, beside that of all authenticated users.
    pub fn groups(user: &str) -> Vec<&'static str> {
        let own = match user {
            _ if user.starts_with(Self::NODE) => Some("system:nodes"),
            _ if user.starts_with(Self::SERVICE_ACCOUNT) => Some("system:serviceaccounts"),
            _ => None,
        };
        own.into_iter().chain(["system:authenticated"]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_the_names_and_groups_of_kubernetes() {
        for (component, user, own) in [
            ("kube-controller-manager", "system:kube-controller-manager", None),
            ("kube-scheduler", "system:kube-scheduler", None),
            ("csi-driver-controller", "system:serviceaccount:kube-system:csi-driver-controller", Some("system:serviceaccounts")),
        ] {
            assert_eq!(ApiCall::user_of_component(component), user);
            assert_eq!(ApiCall::groups(user).first().copied().filter(|group| *group != "system:authenticated"), own, "{user}");
        }
        let kubelets = ApiCall { user: ApiCall::NODE.to_owned(), users: 3, verb: "update", resource: Resource::Leases };
        let users: Vec<String> = (7..10).map(|number| kubelets.user(number, 3)).collect();
        assert_eq!(users, ["system:node:1", "system:node:2", "system:node:0"]);
        assert_eq!(ApiCall::groups(&users[0]), ["system:nodes", "system:authenticated"]);
    }
}
