//! Components: what Gardener deploys, with what the file says otherwise.

use super::kube::milli;
use super::labels::{label_key, labels, requirements, reserved};
use super::rollout;
use crate::error::{did_you_mean, quote};
use crate::ids::KubeClusterId;
use crate::kube::autoscaler::Drainability;
use crate::kube::gardener::{FailureTolerance, Recovery};
use crate::kube::labels::{Condition, Labels, NodeAffinity, Requirement, Selector, Symbol};
use crate::kube::placement::{Affinity, Constraint, PodAffinity, Term};
use crate::kube::profile::{self, Part, Profile};
use crate::kube::taints::{Match, Toleration};
use crate::kube::update::{PROGRESS_DEADLINE, Update};
use crate::kube::{Kind, MemberRange, Resources, Role, Rollout, UNREACHABLE_TOLERATION, Workload, tolerates_unreachable};
use crate::lowering::{CheckCtx, ClusterDraft, ClusterDrafts, Names, POOL, SymbolTable, quoted};
use crate::raw::{RawAntiAffinity, RawComponent, RawKind, RawOver, RawSpread};
use crate::units::int_or_percent::IntOrPercent;
use zonefall_kernel::time::Duration;

/// The label that tells a component's pods.
const APP: &str = "app";
/// The label that all pods of a shoot's control plane have.
const SHOOT: &str = "gardener.cloud/shoot";

/// Whose components these are.
pub(super) struct WorkloadContext {
    pub(super) namespace: String,
    pub(super) tolerance: FailureTolerance,
    pub(super) recovery: Recovery,
    /// Its etcd clusters are pairs: one serves, one stands by.
    pub(super) pairs: bool,
    /// They are of a shoot, all in one zone.
    pub(super) pinned: bool,
    /// The cluster that API servers and controllers among them are of.
    pub(super) cluster: KubeClusterId,
    /// Which members of etcd their pods may be.
    pub(super) member_range: MemberRange,
}

/// A component as it is deployed: what Gardener says of it, and what the file does.
#[derive(Clone, Copy)]
pub(super) struct PlannedComponent<'a> {
    pub(super) profile: Option<&'static Profile>,
    /// What the file says, and where.
    pub(super) raw: Option<(usize, &'a RawComponent)>,
    /// The list that it is in.
    list: &'static str,
}

/// The components of a seed or shoot: those of the profile, then those that the file adds.
pub(super) fn planned<'a>(
    ctx: &mut CheckCtx<'_>,
    lowering: &mut ClusterDrafts,
    (path, list): (&str, &'static str),
    profiles: &'static [Profile],
    raw: &'a [RawComponent],
    only_listed: bool,
) -> Vec<PlannedComponent<'a>> {
    let mut names = Names::new("a component");
    for (c, component) in raw.iter().enumerate() {
        let path = format!("{path}.{list}[{c}]");
        names.add(ctx, &format!("{path}.name"), component.name.as_str(), c);
        lowering.mark(ctx, &path, &component.mark);
        for (p, pod) in component.pods.iter().enumerate() {
            lowering.mark(ctx, &format!("{path}.pods[{p}]"), &pod.mark);
        }
    }
    let mut all = Vec::new();
    for profile in profiles {
        let raw = names.get(profile.name).map(|c| (c, &raw[c]));
        if raw.map_or(!only_listed, |(_, raw)| !raw.absent) {
            all.push(PlannedComponent { profile: Some(profile), raw, list });
        }
    }
    for (c, component) in raw.iter().enumerate() {
        let name = component.name.as_str();
        if profiles.iter().any(|profile| profile.name == name) || component.absent {
            continue;
        }
        if component.kind.is_none() {
            let hint = did_you_mean(name, profiles.iter().map(|profile| profile.name));
            let why = if profiles.is_empty() { String::new() } else { format!(": Gardener deploys no {}{hint}", quote(name)) };
            let expected = format!("`deployment`, `stateful_set` or `daemon_set`{why}");
            ctx.error(&format!("{path}.{list}[{c}].kind"), "nothing", expected);
        }
        all.push(PlannedComponent { profile: None, raw: Some((c, component)), list });
    }
    all
}

/// Reports what every control plane has, where this one at `path` has it not.
pub(super) fn essential(ctx: &mut CheckCtx<'_>, path: &str, components: &[PlannedComponent<'_>]) {
    for (part, name) in [(Part::EtcdMain, "etcd-main"), (Part::ApiServer, "kube-apiserver")] {
        if !components.iter().any(|component| component.part() == part) {
            ctx.error(&format!("{path}.components"), format!("no {name}"), format!("{name}: every control plane has it"));
        }
    }
}

impl<'a> PlannedComponent<'a> {
    pub(super) fn name(&self) -> &str {
        self.raw.map(|(_, raw)| raw.name.as_str()).or(self.profile.map(|profile| profile.name)).unwrap_or_default()
    }

    pub(super) fn part(&self) -> Part {
        self.profile.map_or(Part::Other, |profile| profile.part)
    }

    pub(super) fn is_etcd(&self) -> bool {
        matches!(self.part(), Part::EtcdMain | Part::EtcdEvents)
    }

    /// It has a Service that Gardener asks topology hints for. (Its others are of components that are not told apart here.)
    fn serves(&self) -> bool {
        matches!(self.part(), Part::EtcdMain | Part::EtcdEvents | Part::ApiServer)
    }

    /// Pods of it, by what its control plane is to survive.
    pub(super) fn replicas(&self, tolerance: FailureTolerance, home: &WorkloadContext) -> u32 {
        let usual = || match self.profile {
            Some(_) if self.is_etcd() && home.pairs => 2,
            Some(profile) => profile.replicas.count(tolerance, home.recovery),
            None => 1,
        };
        self.said(|raw| raw.replicas).unwrap_or_else(usual)
    }

    pub(super) fn said<T>(&self, field: impl Fn(&'a RawComponent) -> Option<T>) -> Option<T> {
        self.raw.and_then(|(_, raw)| field(raw))
    }

    /// It is one of a cluster without Gardener.
    pub(super) fn is_plain(&self) -> bool {
        self.list == "workloads"
    }

    /// Where the file has it, if it does: else where the file has those it is one of.
    pub(super) fn path(&self, of: &str) -> String {
        self.raw.map_or_else(|| of.to_owned(), |(c, _)| format!("{of}.{}[{c}]", self.list))
    }

    fn kind(&self) -> Kind {
        let usual = self.profile.map_or(RawKind::Deployment, |profile| match profile.kind {
            profile::Kind::Deployment => RawKind::Deployment,
            profile::Kind::StatefulSet => RawKind::StatefulSet,
            profile::Kind::DaemonSet => RawKind::DaemonSet,
        });
        let etcd = self.is_etcd();
        match self.said(|raw| raw.kind).unwrap_or(usual) {
            RawKind::Deployment => Kind::Deployment,
            RawKind::StatefulSet => Kind::StatefulSet { parallel: self.said(|raw| raw.parallel).unwrap_or(etcd) },
            RawKind::DaemonSet => Kind::DaemonSet,
        }
    }

    /// The pool that it runs on, as the file has it.
    pub(super) fn pool(&self) -> Option<&str> {
        self.raw.and_then(|(_, raw)| raw.pool.as_deref())
    }

    /// The terms of its node affinity, as the file has them.
    pub(super) fn node_affinity_terms(&self) -> &[String] {
        self.raw.map_or(&[], |(_, raw)| &raw.node_affinity)
    }

    /// As a workload of the site, its pods not placed yet.
    pub(super) fn workload(
        &self,
        ctx: &mut CheckCtx<'_>,
        lowering: &mut ClusterDrafts,
        of: &str,
        home: &WorkloadContext,
        site: &ClusterDraft,
    ) -> Workload {
        let (kind, by_gardener) = (self.kind(), self.list == "components");
        let replicas = match kind {
            Kind::DaemonSet => 0,
            Kind::Deployment | Kind::StatefulSet { .. } => self.replicas(home.tolerance, home),
        };
        let symbols = &mut lowering.symbols;
        let (app, name) = (symbols.symbol(APP), symbols.symbol(self.name()));
        let namespace = symbols.symbol(&home.namespace);
        let shoot = symbols.symbol(SHOOT);
        let selector = equal(app, name);
        let (mut spread, mut prefers) = (Vec::new(), Vec::new());
        let zones = site.seed.zones.len() as u32;
        let (usual_spread, usual_away) = constraints(self.part(), replicas, home.tolerance, home.recovery, zones);
        for one in self.said(|raw| raw.spread.clone()).unwrap_or(usual_spread) {
            let constraint = Constraint {
                key: key(one.over),
                max_skew: u64::from(one.max_skew),
                selector: selector.clone(),
                per_rollout: one.per_rollout,
                min_domains: 1,
                honors_affinity: true,
                honors_taints: false,
            };
            if one.hard { spread.push(constraint) } else { prefers.push(constraint) }
        }
        let mut pod_affinity = PodAffinity {
            affinity: self.near(
                ctx,
                symbols,
                of,
                "affinity",
                &selector,
                &self.said(|raw| Some(raw.affinity.clone())).unwrap_or_default(),
            ),
            anti_affinity: {
                let apart = self.said(|raw| raw.anti_affinity.clone()).unwrap_or(usual_away);
                self.near(ctx, symbols, of, "anti_affinity", &selector, &apart)
            },
        };
        if home.pinned {
            pod_affinity.affinity.required.push(Term { key: Symbol::ZONE, selector: equal(shoot, namespace) });
        }
        if let Some(pool) = self.pool() {
            site.pools.find(ctx, &format!("{}.pool", self.path(of)), pool);
        }
        let on_pool = |pool| vec![Requirement { key: symbols.symbol(POOL), is: Condition::In(vec![symbols.symbol(pool)]) }];
        let on_pool = self.pool().map(on_pool);
        let mut terms = self.node_affinity(ctx, symbols, of);
        if terms.is_empty() {
            terms.extend(on_pool);
        } else {
            for term in &mut terms {
                term.extend(on_pool.iter().flatten().cloned());
            }
        }
        let mut labels = Labels::from_iter(self.labels(ctx, symbols, of));
        labels.set(app, name);
        if by_gardener {
            labels.set(shoot, namespace);
        }
        let tolerations = self.tolerations(ctx, lowering, of, kind);
        let numbers = self.profile.copied().unwrap_or(UNKNOWN);
        let bytes = self.said(|raw| raw.image).map_or(numbers.image_mb * 1_000_000, |size| size.0);
        Workload {
            name: self.name().to_owned(),
            namespace,
            kind,
            role: match self.part() {
                Part::ApiServer => Role::ApiServer(home.cluster),
                Part::Controller(component) => Role::Controller(home.cluster, component),
                Part::EtcdMain | Part::EtcdEvents | Part::Other => Role::Other,
            },
            replicas,
            hinted: site.cluster.routing.hints && home.tolerance == FailureTolerance::Zone && self.serves(),
            labels,
            selector,
            requests: Resources {
                cpu_milli: self.said(|raw| raw.cpu).map_or(numbers.cpu_milli, milli),
                memory: self.said(|raw| raw.memory).map_or(numbers.memory_mib << 20, |size| size.0),
                pods: 1,
            },
            affinity: NodeAffinity(terms),
            tolerations,
            spread,
            prefers,
            volume: self.volume(ctx, of, kind, replicas),
            image: lowering.image(self.name(), bytes),
            max_unavailable: self.said(|raw| raw.max_unavailable).or((replicas > 1 && by_gardener).then_some(1)),
            rollout: match self.said(|raw| raw.rollout) {
                Some(raw) => raw.rollout(),
                None if by_gardener => usual_rollout(self.part(), &pod_affinity),
                None => Rollout::default(),
            },
            update: self.update(ctx, of, kind),
            pod_affinity,
            start: self.said(|raw| raw.start).map_or(Duration::from_secs(numbers.start_s), |span| span.0),
            stop: self.said(|raw| raw.stop).map_or(profile::STOP, |span| span.0),
            placed: Vec::new(),
            member_range: home.member_range,
            drainability: self.drainability(ctx, of, kind),
        }
    }

    /// What its pods say about the scale-down of their node.
    fn drainability(&self, ctx: &mut CheckCtx<'_>, of: &str, kind: Kind) -> Drainability {
        let said = self.said(|raw| raw.drainability);
        if said.is_some() && (!self.is_plain() || kind == Kind::DaemonSet) {
            let expected = "none: only StatefulSets and Deployments of `clusters` have it";
            ctx.error(&format!("{}.drainability", self.path(of)), "it", expected);
        }
        said.unwrap_or_default()
    }

    /// How its pods are replaced, and by which.
    fn update(&self, ctx: &mut CheckCtx<'_>, of: &str, kind: Kind) -> Update {
        let Some((_, raw)) = self.raw else { return Update::default() };
        let path = self.path(of);
        let (is_set, is_deployment) = (matches!(kind, Kind::StatefulSet { .. }), kind == Kind::Deployment);
        for (field, is_given, has_it, which) in [
            ("update", raw.update.is_some(), is_set, "a StatefulSet"),
            ("rollout", raw.rollout.is_some(), is_deployment, "a Deployment"),
            ("min_ready", raw.min_ready.is_some(), is_set || is_deployment, "a StatefulSet or Deployment"),
            ("progress_deadline", raw.progress_deadline.is_some(), is_deployment, "a Deployment"),
        ] {
            if is_given && !has_it {
                ctx.error(&format!("{path}.{field}"), "it", format!("none: only {which} has it here"));
            }
        }
        if raw.quorum.is_some() && (!self.is_plain() || kind == Kind::DaemonSet) {
            ctx.error(&format!("{path}.quorum"), "it", "none: only StatefulSets and Deployments of `clusters` have it");
        }
        let deadline = raw.progress_deadline.map_or(PROGRESS_DEADLINE, |span| span.0);
        if let Some(min_ready) = raw.min_ready.filter(|span| is_deployment && span.0 >= deadline) {
            ctx.error(&format!("{path}.min_ready"), quoted(min_ready), "less than `progress_deadline` (10m if left out)");
        }
        if !self.is_plain() && !raw.revisions.is_empty() {
            let expected = "none: only workloads of `clusters` have revisions with faults";
            ctx.error(&format!("{path}.revisions"), format!("{} revisions", raw.revisions.len()), expected);
        }
        rollout::update(ctx, &path, raw)
    }

    /// Labels of its pods that the file gives.
    fn labels(&self, ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, of: &str) -> Vec<(Symbol, Symbol)> {
        let path = format!("{}.labels", self.path(of));
        let own = self.said(|raw| raw.labels.clone()).map(|text| labels(ctx, symbols, &path, &text)).unwrap_or_default();
        reserved(ctx, symbols, &path, &own, &[APP, SHOOT]);
        own
    }

    /// The terms of its node affinity.
    fn node_affinity(&self, ctx: &mut CheckCtx<'_>, symbols: &mut SymbolTable, of: &str) -> Vec<Vec<Requirement>> {
        let path = |k: usize| format!("{}.node_affinity[{k}]", self.path(of));
        self.node_affinity_terms().iter().enumerate().map(|(k, term)| requirements(ctx, symbols, &path(k), term)).collect()
    }

    /// Pods that its pods are near to, or away from; its `own` where nothing else is said.
    fn near(
        &self,
        ctx: &mut CheckCtx<'_>,
        symbols: &mut SymbolTable,
        of: &str,
        field: &str,
        own: &Selector,
        raw: &[RawAntiAffinity],
    ) -> Affinity {
        let mut affinity = Affinity::default();
        for (k, one) in raw.iter().enumerate() {
            let path = format!("{}.{field}[{k}].pods", self.path(of));
            let meant = one.pods.as_ref().map(|text| Selector::All(requirements(ctx, symbols, &path, text)));
            let term = Term { key: key(one.over), selector: meant.unwrap_or_else(|| own.clone()) };
            match one.weight {
                None => affinity.required.push(term),
                Some(weight) => affinity.preferred.push((weight, term)),
            }
        }
        affinity
    }

    fn tolerations(&self, ctx: &mut CheckCtx<'_>, lowering: &mut ClusterDrafts, of: &str, kind: Kind) -> Vec<Toleration> {
        let any = |key| Toleration { key, value: Match::Exists, effect: None, lasts: None };
        let keys = self.said(|raw| raw.tolerates.clone());
        let usual = match kind {
            // The controller adds what pods of DaemonSets tolerate besides.
            Kind::DaemonSet => (!self.is_plain() && keys.is_none()).then_some(any(None)),
            Kind::Deployment | Kind::StatefulSet { .. } => {
                let lasts = self.said(|raw| raw.tolerate_unreachable).map_or(UNREACHABLE_TOLERATION, |span| span.0);
                Some(tolerates_unreachable(lasts))
            }
        };
        let path = format!("{}.tolerates", self.path(of));
        let mut toleration = |k: usize, text: &str| match text {
            "*" => any(None),
            key => any(Some(label_key(ctx, &mut lowering.symbols, &format!("{path}[{k}]"), key))),
        };
        let keys = keys.iter().flatten().enumerate().map(|(k, text)| toleration(k, text));
        usual.into_iter().chain(keys).collect()
    }
}

/// A component that nobody knows (assumed).
pub(super) const UNKNOWN: Profile = Profile {
    name: "",
    kind: profile::Kind::Deployment,
    part: Part::Other,
    replicas: profile::Replicas::Always(1),
    cpu_milli: 50,
    memory_mib: 64,
    image_mb: 60,
    start_s: 5,
    volume_gib: 10,
};

/// How Gardener keeps pods of a component apart (GEP-20, "Scheduling Control Plane Components").
fn constraints(
    part: Part,
    replicas: u32,
    tolerance: FailureTolerance,
    recovery: Recovery,
    zones: u32,
) -> (Vec<RawSpread>, Vec<RawAntiAffinity>) {
    let spread = |over, max_skew| RawSpread { over, max_skew, hard: true, per_rollout: tolerance == FailureTolerance::Zone };
    let away = |over, weight| RawAntiAffinity { over, pods: None, weight };
    let etcd = matches!(part, Part::EtcdMain | Part::EtcdEvents);
    match tolerance {
        FailureTolerance::None => (Vec::new(), Vec::new()),
        _ if replicas < 2 => (Vec::new(), Vec::new()),
        FailureTolerance::Node if etcd => (Vec::new(), vec![away(RawOver::Host, None)]),
        FailureTolerance::Node => (vec![spread(RawOver::Host, 1)], Vec::new()),
        FailureTolerance::Zone if etcd && recovery == Recovery::Preferred => {
            (Vec::new(), vec![away(RawOver::Host, None), away(RawOver::Zone, Some(100))])
        }
        FailureTolerance::Zone if etcd || (part != Part::ApiServer && replicas <= zones) => {
            (Vec::new(), vec![away(RawOver::Zone, None)])
        }
        FailureTolerance::Zone => (vec![spread(RawOver::Zone, 2), spread(RawOver::Host, 1)], Vec::new()),
    }
}

/// How a component is rolled out. Where no two of its pods may be near to each other there is no place for one more.
fn usual_rollout(part: Part, pods: &PodAffinity) -> Rollout {
    let usual = Rollout::default();
    match part {
        _ if !pods.anti_affinity.required.is_empty() => {
            Rollout { max_surge: IntOrPercent::Int(0), max_unavailable: IntOrPercent::Int(1) }
        }
        Part::ApiServer => Rollout { max_unavailable: IntOrPercent::Int(0), ..usual },
        Part::EtcdMain | Part::EtcdEvents | Part::Controller(_) | Part::Other => usual,
    }
}

const fn key(over: RawOver) -> Symbol {
    match over {
        RawOver::Zone => Symbol::ZONE,
        RawOver::Host => Symbol::HOSTNAME,
    }
}

fn equal(key: Symbol, value: Symbol) -> Selector {
    Selector::All(vec![Requirement { key, is: Condition::In(vec![value]) }])
}
