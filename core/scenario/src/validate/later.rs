//! What shoots are asked for later: to survive more than they do at the start, or to move to another seed. All that comes of it is known
//! here: their components in each form they may take, and in each seed they may be in.

use super::gardener::{Hosting, make_etcd};
use super::names::Names;
use super::workload::{Home, Planned};
use super::{Context, etcd::Managed};
use crate::ids::{ClusterId, SeedId, WorkloadId};
use crate::kube::gardener::{FailureTolerance, Hosted, Migration, Recovery, Shoot, ToleranceChange, VOLUMES};
use crate::kube::{Identities, Kind, Role, Workload};
use crate::raw::{RawChange, RawScenario};
use zonefall_kernel::time::Time;

/// Something that a shoot is asked for.
pub(super) struct Asked<'a> {
    /// Its place among the file's operations.
    operation: usize,
    at: Time,
    pub(super) shoot: &'a str,
    what: What,
}

impl Asked<'_> {
    /// Where the file says so.
    pub(super) fn path(&self) -> String {
        let word = match self.what {
            What::Survive(_) => "set_failure_tolerance",
            What::Move(_) => "migrate_shoot",
        };
        format!("operations[{}].{word}", self.operation)
    }
}

enum What {
    /// To survive that.
    Survive(FailureTolerance),
    /// To move there.
    Move(usize),
}

/// All of it, as the file has it; seeds that are not there are told of elsewhere.
pub(super) fn asked<'a>(raw: &'a RawScenario, seeds: &Names) -> Vec<Asked<'a>> {
    let asked = raw.operations.iter().enumerate().filter_map(|(place, operation)| {
        let (shoot, what) = match &operation.change {
            RawChange::SetFailureTolerance { shoot, to } => (shoot, What::Survive(*to)),
            RawChange::MigrateShoot { shoot, seed } => (shoot, What::Move(seeds.get(seed)?)),
            _ => return None,
        };
        Some(Asked { operation: place, at: Time::ZERO + operation.at.0, shoot, what })
    });
    asked.collect()
}

/// What may become of one shoot.
pub(super) struct Later {
    /// What it may be to survive, at the start first.
    pub(super) tolerances: Vec<FailureTolerance>,
    /// The seeds it may be in, that of the start first.
    pub(super) sites: Vec<usize>,
    /// Volumes that each of its members of etcd may have in one seed.
    turns: u8,
}

impl Later {
    pub(super) fn new(asked: &[Asked<'_>], shoot: &Shoot, site: usize) -> Self {
        let (mut tolerances, mut sites) = (vec![shoot.tolerance], vec![site]);
        let mut arrivals = vec![1_u8];
        for asked in asked.iter().filter(|asked| asked.shoot == shoot.name) {
            match asked.what {
                What::Survive(to) if tolerances.contains(&to) => {}
                What::Survive(to) => tolerances.push(to),
                What::Move(to) => {
                    let known = sites.iter().position(|site| *site == to).unwrap_or(sites.len());
                    if known == sites.len() {
                        sites.push(to);
                        arrivals.push(0);
                    }
                    arrivals[known] = arrivals[known].saturating_add(1);
                }
            }
        }
        let moves = shoot.recovery == Recovery::Move && tolerances.contains(&FailureTolerance::Zone);
        // Far more than a run allows for is told of when its members are known.
        let turns = arrivals.into_iter().max().unwrap_or(1).saturating_mul(if moves { VOLUMES } else { 1 });
        Self { tolerances, sites, turns }
    }

    /// The members of etcd that pods in the seed at this place may be.
    pub(super) fn identities(&self, place: usize) -> Identities {
        if self.sites.len() == 1 {
            return Identities::default();
        }
        let place = u8::try_from(place).unwrap_or(u8::MAX);
        Identities { first: self.turns.saturating_mul(place), count: self.turns }
    }

    /// How many a pod of this name may be in all.
    pub(super) fn turns(&self) -> usize {
        usize::from(self.turns) * self.sites.len()
    }
}

impl Hosting<'_> {
    /// What the shoot that comes next is asked for.
    pub(super) fn wishes(&mut self, shoot: &str) {
        let index = self.shoots.len() as u16;
        for asked in self.asked.iter().filter(|asked| asked.shoot == shoot) {
            match asked.what {
                What::Survive(to) => self.changes.push(ToleranceChange { at: asked.at, shoot: index, to }),
                What::Move(to) => self.migrations.push(Migration { at: asked.at, shoot: index, to: SeedId(to as u16) }),
            }
        }
    }

    /// Its components in all forms they may take in the seed that `hosted` is of.
    #[expect(clippy::too_many_arguments, reason = "what differs from seed to seed, and what does not")]
    fn forms(
        &mut self,
        cx: &mut Context<'_>,
        path: &str,
        hosted: &mut Hosted,
        home: &Home,
        components: &[Planned<'_>],
        clusters: &[Option<ClusterId>],
        etcd: &Managed,
        later: &Later,
    ) {
        let s = usize::from(hosted.seed.0);
        for tolerance in &later.tolerances {
            let pinned = *tolerance != FailureTolerance::Zone && self.lowering.sites[s].seed.zones.len() > 1;
            let home = Home { namespace: home.namespace.clone(), tolerance: *tolerance, pinned, ..*home };
            let site = self.lowering.sites.remove(s);
            let form = |(component, cluster): (&Planned<'_>, &Option<ClusterId>)| {
                let mut workload = component.workload(cx, self.lowering, path, &home, &site);
                if let Some(cluster) = cluster {
                    make_etcd(&mut workload, *cluster, etcd);
                }
                workload
            };
            hosted.forms.push((*tolerance, components.iter().zip(clusters).map(form).collect()));
            self.lowering.sites.insert(s, site);
        }
    }

    /// The forms that a shoot's components may take where it is, and the seeds that may host it later.
    #[expect(clippy::too_many_arguments, reason = "what differs from shoot to shoot, and what does not")]
    pub(super) fn later(
        &mut self,
        cx: &mut Context<'_>,
        path: &str,
        shoot: &mut Shoot,
        home: &Home,
        components: &[Planned<'_>],
        etcd: &Managed,
        later: &Later,
    ) {
        let Some(hosted) = &mut shoot.hosted else { return };
        if later.tolerances.len() + later.sites.len() == 2 {
            return;
        }
        let workloads = &self.lowering.sites[later.sites[0]].plane.workloads;
        let cluster = |id: &WorkloadId| match workloads[id.0 as usize].role {
            Role::Etcd(cluster) => Some(cluster),
            _ => None,
        };
        let clusters: Vec<Option<ClusterId>> = hosted.workloads.iter().map(cluster).collect();
        self.forms(cx, path, hosted, home, components, &clusters, etcd, later);
        for (place, s) in later.sites.iter().enumerate().skip(1) {
            let home = Home { namespace: home.namespace.clone(), identities: later.identities(place), ..*home };
            let (seed, plane, zones, forms) = (SeedId(*s as u16), home.plane, Vec::new(), Vec::new());
            let mut there = Hosted { seed, plane, zones, workloads: Vec::new(), forms };
            self.forms(cx, path, &mut there, &home, components, &clusters, etcd, later);
            self.reserve(cx, path, shoot, &mut there, components);
            shoot.elsewhere.push(there);
        }
    }

    /// A place for a shoot's components in a seed that may host it later: none of their pods is wanted yet.
    fn reserve(&mut self, cx: &mut Context<'_>, path: &str, shoot: &Shoot, there: &mut Hosted, components: &[Planned<'_>]) {
        let (s, mut ids) = (usize::from(there.seed.0), Vec::new());
        for (component, workload) in components.iter().zip(there.form(shoot.tolerance)) {
            let path = component.path(path);
            if workload.kind == Kind::DaemonSet {
                let found = "a DaemonSet, of a shoot that is to move to another seed";
                cx.error(&path, found, "a Deployment or StatefulSet: what runs on every node belongs to the seed");
            }
            if !self.lowering.room_for(cx, &path, u64::from(workload.replicas)) {
                return;
            }
            let plane = &mut self.lowering.sites[s].plane;
            ids.push(WorkloadId(plane.workloads.len() as u32));
            plane.workloads.push(Workload { replicas: 0, ..workload.clone() });
        }
        there.workloads = ids;
        self.lowering.sites[s].plane.cared.push(shoot.namespace);
    }

    /// Members that each etcd cluster may have beyond those of the start.
    pub(super) fn beyond(component: &Planned<'_>, home: &Home, later: &Later) -> u32 {
        debug_assert!(component.is_etcd(), "{} is none of etcd's", component.name());
        let replicas = |tolerance: &FailureTolerance| component.replicas(*tolerance, home);
        let most = later.tolerances.iter().map(replicas).max().unwrap_or(0);
        most.saturating_sub(replicas(&home.tolerance))
    }
}
