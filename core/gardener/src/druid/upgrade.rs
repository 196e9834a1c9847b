//! A shoot that is to survive more (GEP-20, "Case #2: HA Shoot with Assigned Seed and Updated Failure Tolerance").
//!
//! ```text
//!  asked --admission--> etcd's one pod starts anew, with TLS between peers (no etcd meanwhile) --> three pods are wanted
//!    --> the new ones join as learners, one after the other, and get their votes --> the other components follow
//! ```

use crate::admission::admit;
use crate::garden::Garden;
use crate::record::{DruidFact, GardenerRecord, Report, ToleranceFact};
use crate::shoot::{Residence, Shoot, Upgrade, UpgradeStep as Step};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::event::KubeEvent;
use zonefall_kube::spec::Kind;
use zonefall_kube::spec::gardener::ToleranceChange;
use zonefall_kube::store::Store;

impl Shoot {
    /// It is asked for a change: of the seed it is bound to, which may be another by now; one thing after the other.
    pub(super) fn asked(&mut self, change: u16, ctx: &mut ClusterCtx<'_>) {
        let seed = Garden::of(ctx).shoot(self.key).seed.expect("it has a place");
        if seed != self.seed {
            let cluster = ctx.scenario.kube.seeds[seed].cluster;
            let message = KubeEvent::Message { controller: ctx.controller, message: change.into() };
            ctx.out.schedule(ctx.now, (cluster, message));
        } else if self.place == Residence::Here {
            self.request(change, ctx);
        } else {
            self.later.push(change);
        }
    }

    /// Admission; what follows is other programs' work. (While one change is under way no other is admitted: it is an upgrade from none.)
    pub(crate) fn request(&mut self, change: u16, ctx: &mut ClusterCtx<'_>) {
        let ToleranceChange { shoot, to, .. } = ctx.scenario.kube.changes[change as usize];
        if let Err(denial) = admit(self.tolerance, to, self.multi_zonal) {
            return ctx.report(GardenerRecord::Tolerance(shoot, ToleranceFact::Denied(to, denial)));
        }
        ctx.report(GardenerRecord::Tolerance(shoot, ToleranceFact::Admitted(to)));
        if self.tolerance != to {
            self.upgrade = Some(Upgrade { change, step: Step::Admitted });
        } else if self.upgrade.is_none() {
            ctx.report(GardenerRecord::Tolerance(shoot, ToleranceFact::Done(to)));
        }
        self.tolerance = to;
        Garden::of_mut(ctx).shoot_mut(shoot).tolerance = to;
    }

    /// What druid does about it; whether gardenlet is to go on.
    pub(super) fn upgrade_etcd(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let serves = self.etcd_serves(store, ctx);
        let wanted: Vec<_> = self.form(ctx).filter(|(id, _)| self.sets.contains(id)).collect();
        let Some(Upgrade { step, .. }) = self.upgrade.as_mut() else { return false };
        match step {
            Step::Admitted => {
                for set in &self.sets {
                    ctx.report(GardenerRecord::Druid(*set, DruidFact::Restarts));
                    store.roll(*set, ctx);
                }
                *step = Step::Restarts;
            }
            Step::Restarts if serves => {
                for (set, template) in wanted {
                    ctx.report(GardenerRecord::Druid(set, DruidFact::Grows(template.replicas)));
                    store.set_template(set, template.clone(), ctx.spec);
                }
                *step = Step::Grows;
            }
            Step::Grows if serves => *step = Step::Grown,
            Step::Restarts | Step::Grows | Step::Grown | Step::Follows => {}
        }
        *step == Step::Grown
    }

    /// What gardenlet does about it: the other components, when etcd is there.
    pub(crate) fn follow(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let (shoot, form) = (self.key, self.upgrade.is_some().then(|| self.form(ctx)));
        let Some((Upgrade { change, step }, form)) = self.upgrade.as_mut().zip(form) else { return };
        let ToleranceChange { to, .. } = &ctx.scenario.kube.changes[*change as usize];
        match step {
            Step::Grown => {
                ctx.report(GardenerRecord::Tolerance(shoot, ToleranceFact::Follows(*to)));
                for (id, template) in form.filter(|(id, _)| !self.sets.contains(id)) {
                    // Where they may run is part of what pods are made with: those that are there are replaced.
                    let now = store.template(id, ctx.spec);
                    let differs = (&now.spread, &now.prefers, &now.pod_affinity)
                        != (&template.spread, &template.prefers, &template.pod_affinity);
                    store.set_template(id, template.clone(), ctx.spec);
                    if differs && template.kind != Kind::DaemonSet {
                        store.roll(id, ctx);
                    }
                }
                *step = Step::Follows;
            }
            Step::Follows if self.workloads.iter().all(|id| store.is_complete(*id) && !store.is_rolling(*id)) => {
                ctx.report(GardenerRecord::Tolerance(shoot, ToleranceFact::Done(*to)));
                self.upgrade = None;
            }
            Step::Admitted | Step::Restarts | Step::Grows | Step::Follows => {}
        }
    }
}
