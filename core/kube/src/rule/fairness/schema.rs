//! Which flow schema a request matches, and which flow it is of (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/rule.go`;
//! `apf_controller.go`, `startRequest`, `computeFlowDistinguisher`).

use super::shuffle::flow_hash;
use crate::spec::fairness::{Distinguisher, Excess, FlowControl, FlowSchema, LevelId, Names, NonResourceRule, PolicyRule};
use crate::spec::fairness::{ResourceRule, SchemaId, Subject};

/// A request, as far as flow schemas look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestDigest<'a> {
    /// Name of the user who makes it.
    pub user: &'a str,
    /// Groups of that user.
    pub groups: &'a [&'a str],
    /// The verb, in lower case: `get`, `list`, `watch`, `create` ...
    pub verb: &'a str,
    /// What it is for.
    pub target: Target<'a>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// Objects of a resource.
    Resource {
        /// Group of the API; the core group is the empty word.
        api_group: &'a str,
        /// Their resource, in the plural.
        resource: &'a str,
        /// Their subresource, or the empty word.
        subresource: &'a str,
        /// Their namespace; the empty word: they have none, or are in any.
        namespace: &'a str,
    },
    /// A path that is no resource, such as `/healthz`.
    Path(&'a str),
}

/// Requests that share the fate of waiting behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The schema that its requests match.
    pub schema: SchemaId,
    /// The level of that schema.
    pub level: LevelId,
    /// What decides which queues it is dealt; 0 where the level has one queue or none.
    pub hash: u64,
}

/// The flow of a request. A request that no schema matches is of the schema `catch-all`.
pub fn classify(flow_control: &FlowControl, request: &RequestDigest<'_>) -> Flow {
    let first = flow_control.schemas().iter_enumerated().find(|(_, schema)| schema_matches(schema, request));
    let schema = first.map_or_else(|| flow_control.catch_all(), |(id, _)| id);
    let level = flow_control.level_of(schema);
    let shares_queues = matches!(flow_control.levels()[level].excess, Excess::Waits(queuing) if queuing.queues > 1);
    let FlowSchema { name, distinguisher, .. } = &flow_control.schemas()[schema];
    let hash = if shares_queues { flow_hash(name, distinguish(*distinguisher, request)) } else { 0 };
    Flow { schema, level, hash }
}

/// What tells the flow of a request from others of the same schema.
pub fn distinguish<'a>(distinguisher: Option<Distinguisher>, request: &RequestDigest<'a>) -> &'a str {
    match (distinguisher, request.target) {
        (Some(Distinguisher::ByUser), _) => request.user,
        (Some(Distinguisher::ByNamespace), Target::Resource { namespace, .. }) => namespace,
        (Some(Distinguisher::ByNamespace), Target::Path(_)) | (None, _) => "",
    }
}

/// Whether a request matches a schema.
pub fn schema_matches(schema: &FlowSchema, request: &RequestDigest<'_>) -> bool {
    schema.rules.iter().any(|rule| rule_matches(rule, request))
}

fn rule_matches(rule: &PolicyRule, request: &RequestDigest<'_>) -> bool {
    rule.subjects.iter().any(|subject| subject_matches(subject, request))
        && match request.target {
            Target::Resource { .. } => rule.resources.iter().any(|rule| resource_matches(rule, request)),
            Target::Path(path) => rule.paths.iter().any(|rule| path_matches(rule, request.verb, path)),
        }
}

fn subject_matches(subject: &Subject, request: &RequestDigest<'_>) -> bool {
    match subject {
        Subject::User(users) => users.contain(request.user),
        Subject::Group(Names::All) => true,
        Subject::Group(groups) => request.groups.iter().any(|group| groups.contain(group)),
        Subject::ServiceAccount { namespace, name } => {
            let account =
                request.user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.strip_prefix(namespace.as_str()));
            account.and_then(|rest| rest.strip_prefix(':')).is_some_and(|account| name.contain(account))
        }
    }
}

fn resource_matches(rule: &ResourceRule, request: &RequestDigest<'_>) -> bool {
    let Target::Resource { api_group, resource, subresource, namespace } = request.target else { return false };
    let is_named = match subresource {
        "" => rule.resources.contain(resource),
        subresource => rule.resources.contain(&format!("{resource}/{subresource}")),
    };
    let in_scope = if namespace.is_empty() { rule.cluster_scope } else { rule.namespaces.contain(namespace) };
    rule.verbs.contain(request.verb) && is_named && rule.api_groups.contain(api_group) && in_scope
}

/// A path of a rule stands for itself and for all that is below it.
fn path_matches(rule: &NonResourceRule, verb: &str, path: &str) -> bool {
    let is_below = |above: &String| {
        let above = above.strip_suffix('*').unwrap_or(above);
        path.strip_prefix(above).is_some_and(|rest| above.ends_with('/') || rest.starts_with('/'))
    };
    let is_named = match &rule.paths {
        Names::All => true,
        Names::OneOf(paths) => paths.iter().any(|above| above == path || is_below(above)),
    };
    rule.verbs.contain(verb) && is_named
}

#[cfg(test)]
mod tests;
