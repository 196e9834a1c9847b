//! Nodes that an operator adds to a cluster whose machines no controller looks after (`kube-up` with `KUBE_USE_EXISTING_MASTER=true`; federation-lite,
//! "kube-up support").
//!
//! ```text
//!  asked for --refused--> asked for again after a minute
//!      '--granted--> made --> boots --> its kubelet registers the node, with the labels of its zone
//! ```

use crate::controller::State;
use crate::ctx::ClusterCtx;
use crate::event::KubeEvent;
use crate::kubelet::{Kubelet, MAX_JITTER};
use crate::name::MachineName;
use crate::spec::MachineDeployment;
use zonefall_kernel::rng::Purpose;
use zonefall_kernel::time::Duration;
use zonefall_scenario::ids::MachineDeploymentId;

/// The cloud's instance group asks again after so long (assumed).
const RETRY: Duration = Duration::from_secs(60);

/// Entity of the draws of jitter, beyond all nodes.
const ENTITY: u32 = u32::MAX - 10;

/// Requests a machine from the cloud.
pub fn request_machine(deployment: MachineDeploymentId, number: u32, ctx: &mut ClusterCtx<'_>) {
    let granted = ctx.cloud.create(&ctx.spec.machine_deployments[deployment]).is_ok();
    if granted {
        // Machines that are made at one moment must not coincide with other work for ever.
        let draws = ctx.draws(Purpose::Phase, ENTITY);
        let jitter = draws.draw(u64::from(deployment.0) << 32 | u64::from(number)).below(MAX_JITTER.as_nanos());
        let made = ctx.now + ctx.spec.timers.machines.create + Duration::from_nanos(jitter);
        ctx.schedule(made, KubeEvent::MachineCreated { deployment, number });
    } else {
        ctx.schedule(ctx.now + RETRY, KubeEvent::MachineRequested { deployment, number });
    }
}

/// A machine is created, and boots.
pub fn boot(deployment: MachineDeploymentId, number: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
    let MachineDeployment { zone, template, .. } = &ctx.spec.machine_deployments[deployment];
    let host = ctx.net.add_host(*zone, template.card_bytes_per_s);
    ctx.cloud.switched_on(ctx.cluster, deployment, ctx.now);
    let node = state.store.number_node();
    state.switched_on.push((node, Kubelet::joining(node, host, MachineName::made(deployment, number), ctx)));
}
