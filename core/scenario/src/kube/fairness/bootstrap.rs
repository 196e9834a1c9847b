//! What a cluster has unless its operator changes it (kubernetes/apiserver@24a394e5 `pkg/apis/flowcontrol/bootstrap/default.go`), and the
//! schema that Resilient Control Plane Networking adds.

use super::{CATCH_ALL, Distinguisher, EXEMPT, Excess, FlowSchema, Names, NonResourceRule, PolicyRule, PriorityLevel};
use super::{Queuing, ResourceRule, Subject};

/// Requests in flight that a server executes at once, the sum of its two limits (`--max-requests-inflight` and
/// `--max-mutating-requests-inflight`, 400 and 200 by default): its seats.
pub const SEATS: u32 = 600;

/// Which release of Kubernetes a cluster runs, as far as its flow schemas differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// From 1.34 on.
    Current,
    /// From 1.26 to 1.33: leader elections by ConfigMaps and Endpoints are recognised, too (kubernetes/apiserver@cd728bc9 removed that).
    Before1_34,
}

/// Levels that every server has.
pub fn mandatory_levels() -> Vec<PriorityLevel> {
    vec![level(CATCH_ALL, 5, 0, Excess::IsRejected), level(EXEMPT, 0, 0, Excess::Executes)]
}

/// Schemas that every server has.
pub fn mandatory_schemas() -> Vec<FlowSchema> {
    vec![
        schema(EXEMPT, EXEMPT, 1, None, everything(groups(&["system:masters"]))),
        schema(CATCH_ALL, CATCH_ALL, 10_000, Some(Distinguisher::ByUser), everything(everybody())),
    ]
}

/// Levels that a new cluster has beside the mandatory ones.
pub fn suggested_levels() -> Vec<PriorityLevel> {
    let queues = |queues, hand_size| Excess::Waits(Queuing { queues, hand_size, queue_length_limit: 50 });
    vec![
        level("system", 30, 33, queues(64, 6)),
        level("node-high", 40, 25, queues(64, 6)),
        level("leader-election", 10, 0, queues(16, 4)),
        level("workload-high", 40, 50, queues(128, 6)),
        level("workload-low", 100, 90, queues(128, 6)),
        level("global-default", 20, 50, queues(128, 6)),
    ]
}

/// Schemas that a new cluster has beside the mandatory ones, by precedence.
pub fn suggested_schemas(release: Release) -> Vec<FlowSchema> {
    use Distinguisher::{ByNamespace, ByUser};
    let elections = &["get", "create", "update"];
    let nodes = || groups(&["system:nodes"]);
    let controller_manager = || users(&["system:kube-controller-manager"]);
    let leases = resources(elections, "coordination.k8s.io", &["leases"], "*", false);
    let electors = [users(&["system:kube-controller-manager", "system:kube-scheduler"]), kube_system(&["*"])].concat();
    let probes = NonResourceRule { verbs: Names::of(&["get"]), paths: Names::of(&["/healthz", "/readyz", "/livez"]) };
    let health = vec![
        resources(&["*"], "", &["nodes", "nodes/status"], "*", true),
        resources(&["*"], "coordination.k8s.io", &["leases"], "*", false),
    ];
    let mut schemas = vec![
        schema("probes", EXEMPT, 2, None, PolicyRule { subjects: everybody(), paths: vec![probes], ..PolicyRule::default() }),
        schema("system-leader-election", "leader-election", 100, Some(ByUser), to_resources(electors, vec![leases.clone()])),
    ];
    if release == Release::Before1_34 {
        let endpoints = vec![resources(elections, "", &["endpoints"], "*", false)];
        let controllers = [controller_manager(), kube_system(&["endpoint-controller", "endpointslicemirroring-controller"])];
        let locks = vec![resources(elections, "", &["endpoints", "configmaps"], "*", false), leases];
        schemas.extend([
            schema("endpoint-controller", "workload-high", 150, Some(ByUser), to_resources(controllers.concat(), endpoints)),
            schema("workload-leader-election", "leader-election", 200, Some(ByUser), to_resources(kube_system(&["*"]), locks)),
        ]);
    }
    schemas.extend([
        schema("system-node-high", "node-high", 400, Some(ByUser), to_resources(nodes(), health)),
        schema("system-nodes", "system", 500, Some(ByUser), everything(nodes())),
        schema("kube-controller-manager", "workload-high", 800, Some(ByNamespace), everything(controller_manager())),
        schema("kube-scheduler", "workload-high", 800, Some(ByNamespace), everything(users(&["system:kube-scheduler"]))),
        schema("kube-system-service-accounts", "workload-high", 900, Some(ByNamespace), everything(kube_system(&["*"]))),
        schema("service-accounts", "workload-low", 9_000, Some(ByUser), everything(groups(&["system:serviceaccounts"]))),
        schema("global-default", "global-default", 9_900, Some(ByUser), everything(everybody())),
    ]);
    schemas
}

/// The schema `kubernetes-endpoints` and its level: clients that read the endpoints of API servers do not contend with others (Resilient
/// Control Plane Networking, section Priority&Fairness). That section gives no figures: precedence, shares and queues are chosen here
/// as for leader elections, before all schemas of kubelets and controllers. A schema cannot tell objects apart, so that it matches all
/// reads of Endpoints in the namespace `default`.
pub fn kubernetes_endpoints() -> (PriorityLevel, FlowSchema) {
    const NAME: &str = "kubernetes-endpoints";
    let queuing = Queuing { queues: 16, hand_size: 4, queue_length_limit: 50 };
    let reads = vec![resources(&["get", "list", "watch"], "", &["endpoints"], "default", false)];
    let rule = to_resources(groups(&["system:authenticated"]), reads);
    (level(NAME, 10, 0, Excess::Waits(queuing)), schema(NAME, NAME, 50, Some(Distinguisher::ByUser), rule))
}

fn level(name: &str, shares: u32, lendable_percent: u32, excess: Excess) -> PriorityLevel {
    PriorityLevel { name: name.to_owned(), shares, lendable_percent, borrowing_limit_percent: None, excess }
}

fn schema(name: &str, level: &str, precedence: u32, distinguisher: Option<Distinguisher>, rule: PolicyRule) -> FlowSchema {
    FlowSchema { name: name.to_owned(), level: level.to_owned(), precedence, distinguisher, rules: vec![rule] }
}

fn users(names: &[&str]) -> Vec<Subject> {
    names.iter().map(|name| Subject::User(Names::of(&[name]))).collect()
}

fn groups(names: &[&str]) -> Vec<Subject> {
    names.iter().map(|name| Subject::Group(Names::of(&[name]))).collect()
}

fn everybody() -> Vec<Subject> {
    groups(&["system:unauthenticated", "system:authenticated"])
}

fn kube_system(names: &[&str]) -> Vec<Subject> {
    let account = |name: &&str| Subject::ServiceAccount { namespace: "kube-system".to_owned(), name: Names::of(&[name]) };
    names.iter().map(account).collect()
}

fn resources(verbs: &[&str], api_group: &str, resources: &[&str], namespace: &str, cluster_scope: bool) -> ResourceRule {
    ResourceRule {
        verbs: Names::of(verbs),
        api_groups: Names::of(&[api_group]),
        resources: Names::of(resources),
        namespaces: Names::of(&[namespace]),
        cluster_scope,
    }
}

fn to_resources(subjects: Vec<Subject>, resources: Vec<ResourceRule>) -> PolicyRule {
    PolicyRule { subjects, resources, paths: Vec::new() }
}

fn everything(subjects: Vec<Subject>) -> PolicyRule {
    let paths = vec![NonResourceRule { verbs: Names::All, paths: Names::All }];
    PolicyRule { subjects, resources: vec![resources(&["*"], "*", &["*"], "*", true)], paths }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of apiserver `bootstrap/default_test.go` (`TestBootstrapPriorityLevelConfigurationWithBorrowing`), with the queues of
    /// `default.go`.
    #[test]
    fn levels_of_a_new_cluster_have_the_shares_and_queues_of_kubernetes() {
        let levels = [mandatory_levels(), suggested_levels()].concat();
        let rows = [
            ("leader-election", 10, 0, Some((16, 4, 50))),
            ("node-high", 40, 25, Some((64, 6, 50))),
            ("system", 30, 33, Some((64, 6, 50))),
            ("workload-high", 40, 50, Some((128, 6, 50))),
            ("workload-low", 100, 90, Some((128, 6, 50))),
            ("global-default", 20, 50, Some((128, 6, 50))),
            ("catch-all", 5, 0, None),
            ("exempt", 0, 0, None),
        ];
        assert_eq!(levels.len(), rows.len());
        for (name, shares, lendable_percent, queues) in rows {
            let level = levels.iter().find(|level| level.name == name).expect(name);
            let found = match level.excess {
                Excess::Waits(Queuing { queues, hand_size, queue_length_limit }) => Some((queues, hand_size, queue_length_limit)),
                Excess::Executes | Excess::IsRejected => None,
            };
            let found = (level.shares, level.lendable_percent, level.borrowing_limit_percent, found);
            assert_eq!(found, (shares, lendable_percent, None, queues), "{name}");
        }
    }

    #[test]
    fn schemas_of_elections_without_leases_went_with_release_1_34() {
        let names = |release| {
            let schemas = suggested_schemas(release);
            schemas.iter().map(|schema| (schema.name.clone(), schema.precedence)).collect::<Vec<_>>()
        };
        let (now, before) = (names(Release::Current), names(Release::Before1_34));
        let removed: Vec<_> = before.iter().filter(|name| !now.contains(name)).cloned().collect();
        let expected = [("endpoint-controller", 150), ("workload-leader-election", 200)];
        assert_eq!(removed, expected.map(|(name, precedence)| (name.to_owned(), precedence)));
        assert_eq!((now.len(), before.len()), (9, 11));
    }
}
