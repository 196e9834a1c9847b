//! Tables of which requests flow schemas match.

use super::*;
use crate::spec::fairness::bootstrap::{self, Release};

const fn resource<'a>(api_group: &'a str, resource: &'a str, subresource: &'a str, namespace: &'a str) -> Target<'a> {
    Target::Resource { api_group, resource, subresource, namespace }
}

fn account(name: &str) -> Subject {
    Subject::ServiceAccount { namespace: "ns".to_owned(), name: Names::of(&[name]) }
}

/// Rows of apiserver `match_test.go` (`TestLiterals`): a rule that matches, and the same with one part changed.
#[test]
fn rule_matches_if_all_of_its_parts_do() {
    let user = |name| Subject::User(Names::of(&[name]));
    let group = |name| Subject::Group(Names::of(&[name]));
    let rule = |verb, api_group, resource, namespace: Option<&str>| ResourceRule {
        verbs: Names::of(&[verb]),
        api_groups: Names::of(&[api_group]),
        resources: Names::of(&[resource]),
        namespaces: Names::of(namespace.as_slice()),
        cluster_scope: namespace.is_none(),
    };
    let path = |verb, path| NonResourceRule { verbs: Names::of(&[verb]), paths: Names::of(&[path]) };
    let (in_namespace, in_cluster) = (resource("goodapig", "goodrscs", "", "goodns"), resource("goodapig", "goodrscs", "", ""));
    let good = rule("goodverb", "goodapig", "goodrscs", Some("goodns"));
    let good_in_cluster = rule("goodverb", "goodapig", "goodrscs", None);
    let good_path = path("goodverb", "/openapi/v2");
    for (target, subject, resources, paths, expected) in [
        (in_namespace, user("goodu"), Some(good.clone()), None, true),
        (in_namespace, group("goodg1"), Some(good.clone()), None, true),
        (in_namespace, user("*"), Some(good.clone()), None, true),
        (in_namespace, group("*"), Some(good.clone()), None, true),
        (in_namespace, user("goodu"), Some(rule("*", "goodapig", "goodrscs", Some("goodns"))), None, true),
        (in_namespace, user("goodu"), Some(rule("goodverb", "*", "goodrscs", Some("goodns"))), None, true),
        (in_namespace, user("goodu"), Some(rule("goodverb", "goodapig", "*", Some("goodns"))), None, true),
        (in_namespace, user("goodu"), Some(rule("goodverb", "goodapig", "goodrscs", Some("*"))), None, true),
        (in_namespace, user("badu"), Some(good.clone()), None, false),
        (in_namespace, group("badg"), Some(good.clone()), None, false),
        (in_namespace, user("goodu"), Some(rule("badverb", "goodapig", "goodrscs", Some("goodns"))), None, false),
        (in_namespace, user("goodu"), Some(rule("goodverb", "badapig", "goodrscs", Some("goodns"))), None, false),
        (in_namespace, user("goodu"), Some(rule("goodverb", "goodapig", "badrscs", Some("goodns"))), None, false),
        (in_namespace, user("goodu"), Some(rule("goodverb", "goodapig", "goodrscs", Some("badns"))), None, false),
        (in_cluster, user("goodu"), Some(good_in_cluster.clone()), None, true),
        (in_cluster, user("goodu"), Some(rule("*", "goodapig", "goodrscs", None)), None, true),
        (in_cluster, user("goodu"), Some(rule("goodverb", "*", "goodrscs", None)), None, true),
        (in_cluster, user("goodu"), Some(rule("goodverb", "goodapig", "*", None)), None, true),
        (in_cluster, user("goodu"), Some(rule("badverb", "goodapig", "goodrscs", None)), None, false),
        (in_cluster, user("goodu"), Some(rule("goodverb", "badapig", "goodrscs", None)), None, false),
        (in_cluster, user("goodu"), Some(rule("goodverb", "goodapig", "badrscs", None)), None, false),
        (in_cluster, user("goodu"), Some(good.clone()), None, false),
        (in_namespace, user("goodu"), Some(good_in_cluster), None, false),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(good_path.clone()), true),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(path("*", "/openapi/v2")), true),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(path("goodverb", "*")), true),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(path("badverb", "/openapi/v2")), false),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(path("goodverb", "/closedapi/v2")), false),
        // Beyond that file: parts of paths, subresources, service accounts, and rules of the other kind.
        (Target::Path("/openapi/v2/x"), user("goodu"), None, Some(good_path.clone()), true),
        (Target::Path("/openapi/v2x"), user("goodu"), None, Some(good_path.clone()), false),
        (Target::Path("/openapi/v2/x"), user("goodu"), None, Some(path("goodverb", "/openapi/v2/*")), true),
        (Target::Path("/openapi/v2"), user("goodu"), None, Some(path("goodverb", "/openapi/v2/*")), false),
        (Target::Path("/openapi/v2"), user("goodu"), Some(good.clone()), None, false),
        (in_namespace, user("goodu"), None, Some(good_path), false),
        (resource("goodapig", "goodrscs", "status", "goodns"), user("goodu"), Some(good.clone()), None, false),
    ] {
        let request = RequestDigest { user: "goodu", groups: &["goodg1", "goodg2"], verb: "goodverb", target };
        let rule = PolicyRule {
            subjects: vec![subject],
            resources: resources.into_iter().collect(),
            paths: paths.into_iter().collect(),
        };
        assert_eq!(rule_matches(&rule, &request), expected, "{request:?} {rule:?}");
    }
    for (user, subject, expected) in [
        ("system:serviceaccount:ns:a", account("a"), true),
        ("system:serviceaccount:ns:a", account("*"), true),
        ("system:serviceaccount:ns:a", account("b"), false),
        ("system:serviceaccount:ns2:a", account("*"), false),
        ("ns:a", account("*"), false),
    ] {
        let request = RequestDigest { user, groups: &[], verb: "get", target: in_namespace };
        assert_eq!(subject_matches(&subject, &request), expected, "{user} {subject:?}");
    }
}

/// Which schema of a new cluster, and which flow, requests of its components are of: schema, level, and what distinguishes the flow.
#[test]
fn requests_of_components_match_the_schemas_that_are_meant_for_them() {
    const NODE: &[&str] = &["system:nodes", "system:authenticated"];
    const SYSTEM: &[&str] = &["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
    const OTHER: &[&str] = &["system:authenticated"];
    const SCHEDULER: &str = "system:kube-scheduler";
    const MANAGER: &str = "system:kube-controller-manager";
    const X: &str = "system:serviceaccount:kube-system:x";
    let lease = |namespace| resource("coordination.k8s.io", "leases", "", namespace);
    let objects = |name, namespace| resource("", name, "", namespace);
    let flow_control = FlowControl::of_new_cluster(Release::Current);
    for (user, groups, verb, target, expected) in [
        ("admin", &["system:masters"][..], "list", objects("pods", ""), "exempt exempt "),
        ("system:anonymous", &["system:unauthenticated"], "get", Target::Path("/livez/etcd"), "probes exempt "),
        ("system:node:n", NODE, "update", lease("kube-node-lease"), "system-node-high node-high system:node:n"),
        ("system:node:n", NODE, "patch", resource("", "nodes", "status", ""), "system-node-high node-high system:node:n"),
        ("system:node:n", NODE, "watch", objects("secrets", "a"), "system-nodes system system:node:n"),
        (SCHEDULER, OTHER, "update", lease("kube-system"), "system-leader-election leader-election system:kube-scheduler"),
        (SCHEDULER, OTHER, "create", resource("", "pods", "binding", "a"), "kube-scheduler workload-high a"),
        (MANAGER, OTHER, "list", objects("pods", ""), "kube-controller-manager workload-high "),
        (MANAGER, OTHER, "update", objects("endpoints", "a"), "kube-controller-manager workload-high a"),
        (X, SYSTEM, "update", objects("configmaps", "a"), "kube-system-service-accounts workload-high a"),
        (X, SYSTEM, "update", lease("a"), "system-leader-election leader-election system:serviceaccount:kube-system:x"),
        (X, SYSTEM, "watch", lease("a"), "kube-system-service-accounts workload-high a"),
        (
            "system:serviceaccount:a:y",
            &SYSTEM[..1],
            "get",
            objects("pods", "a"),
            "service-accounts workload-low system:serviceaccount:a:y",
        ),
        ("alice", OTHER, "get", objects("pods", "a"), "global-default global-default alice"),
        ("alice", OTHER, "get", Target::Path("/version"), "global-default global-default alice"),
        ("nobody", &[], "get", objects("pods", "a"), "catch-all catch-all nobody"),
    ] {
        let request = RequestDigest { user, groups, verb, target };
        let flow = classify(&flow_control, &request);
        let (schema, level) = (&flow_control.schemas()[flow.schema], &flow_control.levels()[flow.level].name);
        let distinguisher = distinguish(schema.distinguisher, &request);
        assert_eq!(format!("{} {level} {distinguisher}", schema.name), expected, "{request:?}");
        let has_queues = !["exempt", "catch-all"].contains(&level.as_str());
        assert_eq!(flow.hash, if has_queues { flow_hash(&schema.name, distinguisher) } else { 0 }, "{request:?}");
    }
    let (mut level, schema) = bootstrap::kubernetes_endpoints();
    level.excess = Excess::Waits(crate::spec::fairness::Queuing { queues: 1, hand_size: 1, queue_length_limit: 1 });
    let single = FlowControl::new(vec![level], vec![schema]).expect("it is valid");
    let request = RequestDigest { user: "alice", groups: OTHER, verb: "watch", target: objects("endpoints", "default") };
    let flow = classify(&single, &request);
    assert_eq!((single.schemas()[flow.schema].name.as_str(), flow.hash), ("kubernetes-endpoints", 0), "one queue needs no hash");
    let before = FlowControl::of_new_cluster(Release::Before1_34);
    for (user, resource_name, expected) in
        [(MANAGER, "endpoints", "endpoint-controller"), (X, "configmaps", "workload-leader-election")]
    {
        let request = RequestDigest { user, groups: OTHER, verb: "update", target: objects(resource_name, "a") };
        assert_eq!(before.schemas()[classify(&before, &request).schema].name, expected, "{request:?}");
    }
}
