//! Faults and operations carried out: each fault is a start and an end on the network, on hosts, processes or volumes.

use crate::cloud::Failure;
use crate::etcd::cluster::EtcdCluster;
use crate::etcd::ctx::EtcdCtx;
use crate::etcd::member::MemberState;
use crate::ids::{EtcdId, FaultId, KubeClusterId, MemberId, NodeId, VolumeId};
use crate::kernel::time::{Duration, Time};
use crate::kube::Kube;
use crate::kube::control::ApiServerHold;
use crate::kube::spec::{Operation, Task};
use crate::network::{HostId, Network};
use crate::record::{Record, StopReason};
use crate::rollout::updates;
use crate::scenario::Leader;
use crate::scenario::{
    ActiveFault, ApiServerKill, ApiServerStop, CloudApi, DiskSlow, Fault, FaultTarget, GracefulStop, LbDown, LbPartition,
    LbRemoved, LbStaleTargets, LbTcpHealthOnly, LbThrottled, LbWrongTarget, LinkDegraded, LinkPartition, MaintenanceOperation,
    MemberChange, NodeCrash, NodePartition, ProcessKill, ProcessPause, StaleCache, VolumeLost, ZonePartition, ZonePower,
};
use crate::sim::Simulation;
use crate::sim::event::{Event, FaultEvent};

impl Simulation {
    /// Queues the planned faults, the operations and the first failure of each random process.
    pub(super) fn plan_faults(&mut self) {
        let planned = (0u32..).zip(&self.scenario.faults).map(|(index, fault)| (fault.at, FaultEvent::Planned(index)));
        let operations =
            (0u32..).zip(&self.scenario.operations).map(|(index, operation)| (operation.at, FaultEvent::Operation(index)));
        let maintenance =
            (0u32..).zip(&self.scenario.kube.operations).map(|(index, operation)| (operation.at, FaultEvent::Maintenance(index)));
        let databases =
            (0u32..).zip(&self.scenario.maintenance).map(|(index, operation)| (operation.at, FaultEvent::Databases(index)));
        let random = (0u32..)
            .zip(&mut self.faults.processes)
            .map(|(index, process)| (Time::ZERO + process.time_to_failure(), FaultEvent::Random(index)));
        for (at, event) in planned.chain(operations).chain(maintenance).chain(databases).chain(random) {
            self.queue.push(at, Event::Fault(event));
        }
    }

    /// Breaks something now, for `lasts` or to the end of the run.
    pub fn inject(&mut self, fault: &Fault, lasts: Option<Duration>) -> FaultId {
        let leader = |cluster: EtcdId| self.leader_of(cluster);
        let fault = fault.resolved(leader);
        let active = self.faults.start(fault, self.now);
        self.fx.out.records.push(Record::FaultStarted(active.clone()));
        if let Some(lasts) = lasts {
            self.fx.out.schedule.push((self.now + lasts, Event::Fault(FaultEvent::Ends(active.id))));
        }
        self.apply_fault(&active, true);
        active.id
    }

    /// [`Simulation::inject`] for a fault that nobody has validated.
    ///
    /// # Errors
    /// Why it cannot be, in plain words: it names what is not there (now), or breaks the limits of a scenario's faults.
    pub fn try_inject(&mut self, fault: &Fault, lasts: Option<Duration>) -> Result<FaultId, String> {
        fault.check(&self.scenario)?;
        if lasts == Some(Duration::ZERO) {
            return Err("a fault that lasts no time breaks nothing".to_owned());
        }
        if let Fault::ProcessKill(ProcessKill(FaultTarget::Named(member)))
        | Fault::GracefulStop(GracefulStop(FaultTarget::Named(member)))
        | Fault::ProcessPause(ProcessPause(FaultTarget::Named(member))) = fault
            && self.clusters[member.cluster].members[member.index as usize].state != MemberState::Joined
            && self.clusters[member.cluster].members[member.index as usize].state != MemberState::Standby
        {
            return Err(format!("{} is not in its cluster at that time", self.scenario.member(*member).name));
        }
        Ok(self.inject(fault, lasts))
    }

    /// An operator asks a cluster for a rollout, its pause or its end now, which nobody has validated.
    ///
    /// # Errors
    /// Why it cannot be asked for, in plain words.
    pub fn try_roll(&mut self, cluster: KubeClusterId, task: Task) -> Result<(), String> {
        task.check_rollout(self.scenario.kube.clusters.get(cluster))?;
        let operation = Operation { at: self.now, cluster, task };
        self.kube(|kube, ctx| kube.operate(&operation, ctx));
        Ok(())
    }

    /// Mends what a fault broke, before its time; nothing if it has ended.
    pub fn repair(&mut self, id: FaultId) {
        if let Some(active) = self.faults.end(id) {
            self.fx.out.records.push(Record::FaultEnded(id));
            self.apply_fault(&active, false);
        }
    }

    /// What is broken now.
    pub fn active_faults(&self) -> &[ActiveFault] {
        &self.faults.active
    }

    pub(super) fn fault(&mut self, event: FaultEvent) {
        match event {
            FaultEvent::Planned(index) => {
                let planned = self.scenario.faults[index as usize].clone();
                self.inject(&planned.fault, planned.lasts);
            }
            FaultEvent::Random(index) => {
                let process = &mut self.faults.processes[index as usize];
                let (fault, repair) = (process.fault(), process.time_to_repair());
                let id = self.inject(&fault, Some(repair));
                self.faults.from_process.push((id, index));
            }
            FaultEvent::Ends(id) => {
                self.repair(id);
                if let Some(place) = self.faults.from_process.iter().position(|(from, _)| *from == id) {
                    let (_, index) = self.faults.from_process.swap_remove(place);
                    let next = self.now + self.faults.processes[index as usize].time_to_failure();
                    self.fx.out.schedule.push((next, Event::Fault(FaultEvent::Random(index))));
                }
            }
            FaultEvent::Maintenance(index) => {
                let operation = self.scenario.kube.operations[index as usize];
                self.kube(|kube, ctx| kube.operate(&operation, ctx));
            }
            FaultEvent::Databases(index) => {
                let MaintenanceOperation { cluster, task, .. } = self.scenario.maintenance[index as usize];
                let (cluster, mut ctx) = self.etcd_cluster(cluster);
                cluster.maintain(task, &mut ctx);
            }
            FaultEvent::Operation(index) => {
                let change = self.scenario.operations[index as usize].change;
                let (MemberChange::Add(id) | MemberChange::Remove(id) | MemberChange::Promote(id)) = change;
                let learner = self.scenario.member(id).learner;
                let (cluster, mut ctx) = self.etcd_cluster(id.cluster);
                cluster.change_membership(change, learner, &mut ctx);
            }
        }
    }

    /// Who leads a cluster: the member itself, its node, zone and volume. Where nobody leads, the first member.
    fn leader_of(&self, id: EtcdId) -> Leader {
        let cluster = &self.clusters[id];
        let first = || {
            (0u8..).zip(&cluster.members).find(|(_, member)| member.state == MemberState::Joined).map_or(0, |(index, _)| index)
        };
        let member = MemberId { cluster: id, index: cluster.leader().unwrap_or_else(first) };
        let spec = self.scenario.member(member);
        let host = cluster.members[member.index as usize].host;
        let node = self.node_of(host).unwrap_or(spec.node);
        Leader { member, node, zone: self.zone_of(member), volume: spec.volume }
    }

    /// The node of the scenario that a host is; other machines are none.
    fn node_of(&self, host: HostId) -> Option<NodeId> {
        let node = NodeId(host.0);
        self.scenario.nodes.get(node).map(|_| node)
    }

    /// Breaks (`begins`) or mends.
    fn apply_fault(&mut self, active: &ActiveFault, begins: bool) {
        // The network may change for every group: none may rest through it.
        self.disturb_all();
        match active.fault {
            Fault::NodeCrash(NodeCrash(node)) => {
                let host = Network::host_of(node.named());
                if self.network.set_powered_off(host, begins) {
                    self.power_changed(&[host], begins);
                }
            }
            Fault::ZonePower(ZonePower(zone)) => {
                let hosts = self.network.set_zone_powered_off(zone.named(), begins);
                self.power_changed(&hosts, begins);
            }
            Fault::ProcessKill(ProcessKill(member)) => {
                let id = member.named();
                let (cluster, mut ctx) = self.etcd_cluster(id.cluster);
                if begins {
                    cluster.hold_down(id.index, StopReason::Killed, &mut ctx);
                } else {
                    cluster.release(id.index, &mut ctx);
                }
            }
            Fault::GracefulStop(GracefulStop(member)) => {
                let id = member.named();
                let (cluster, mut ctx) = self.etcd_cluster(id.cluster);
                if begins { cluster.terminate(id.index, &mut ctx) } else { cluster.release(id.index, &mut ctx) }
            }
            Fault::ProcessPause(ProcessPause(member)) => {
                let id = member.named();
                let (cluster, mut ctx) = self.etcd_cluster(id.cluster);
                if begins {
                    cluster.pause(id.index, active.id, &mut ctx);
                } else {
                    cluster.unpause(id.index, active.id, &mut ctx);
                }
            }
            Fault::ZonePartition(ZonePartition { zone, direction }) => {
                self.network.partition_zone(zone.named(), direction, begins);
                self.network_changed();
            }
            Fault::NodePartition(NodePartition { node, direction }) => {
                self.network.partition_host(Network::host_of(node.named()), direction, begins);
                self.network_changed();
            }
            Fault::LinkDegraded(LinkDegraded { a, b, change }) => {
                if begins {
                    self.network.degrade(active.id, a, b, change);
                } else {
                    self.network.restore(active.id);
                }
                self.network_changed();
            }
            Fault::LinkPartition(LinkPartition { a, b }) => {
                if begins {
                    self.network.block(active.id, a, b);
                } else {
                    self.network.restore(active.id);
                }
                self.network_changed();
            }
            Fault::DiskSlow(DiskSlow { volume, add, factor }) => {
                let slow = begins.then_some((add, factor));
                self.on_volume(volume.named(), |cluster, index, ctx| cluster.slow_disk(index, active.id, slow, ctx));
            }
            Fault::VolumeLost(VolumeLost(volume)) => self.on_volume(volume.named(), |cluster, index, ctx| {
                if begins { cluster.volume_lost(index, ctx) } else { cluster.volume_replaced(index, ctx) }
            }),
            Fault::LbDown(LbDown(balancer))
            | Fault::LbPartition(LbPartition { balancer, .. })
            | Fault::LbTcpHealthOnly(LbTcpHealthOnly(balancer))
            | Fault::LbStaleTargets(LbStaleTargets(balancer))
            | Fault::LbThrottled(LbThrottled { balancer, .. })
            | Fault::LbWrongTarget(LbWrongTarget { balancer, .. })
            | Fault::LbRemoved(LbRemoved(balancer)) => {
                self.access(|access, ctx| access.fault(balancer, active.id, &active.fault, begins, ctx));
            }
            Fault::ApiServerKill(ApiServerKill(node)) => {
                self.hold_api_server(node, if begins { ApiServerHold::Kill } else { ApiServerHold::Release });
            }
            Fault::ApiServerStop(ApiServerStop(node)) => {
                self.hold_api_server(node, if begins { ApiServerHold::Stop } else { ApiServerHold::Release });
            }
            Fault::StaleCache(StaleCache(cluster)) => {
                let message = if begins { updates::BEGIN } else { updates::END };
                self.kube(|kube, ctx| kube.send_message::<updates::ZoneAwareUpdates>(cluster, message, ctx));
            }
            Fault::CloudApi(CloudApi { zone, create, delete, attach, error_rate }) => {
                if begins {
                    let draws = self.faults.draws(active.id);
                    self.cloud.fail(active.id, Failure { zone, create, delete, attach, error_rate, draws });
                } else {
                    self.cloud.repair(active.id);
                }
            }
        }
    }

    fn hold_api_server(&mut self, node: NodeId, hold: ApiServerHold) {
        for (cluster, spec) in self.scenario.clone().kube.clusters.iter_enumerated() {
            if let Some(host) = spec.control_plane.iter().position(|other| *other == node) {
                self.kube(|kube, ctx| kube.hold_api_server(cluster, host as u32, hold, ctx));
            }
        }
    }

    fn network_changed(&mut self) {
        for id in self.clusters.keys() {
            let (cluster, mut ctx) = self.etcd_cluster(id);
            cluster.network_changed(&mut ctx);
        }
        self.kube(Kube::network_changed);
        self.paths_changed();
    }

    /// A machine is no more: it never has power again.
    pub(super) fn delete_vm(&mut self, host: HostId) {
        if self.network.set_powered_off(host, true) {
            self.disturb_all();
            self.power_changed(&[host], true);
        }
    }

    /// Hosts have lost power (`off`) or have it again, and with them the processes on them. (Those that are containers leave it to their
    /// kubelets.)
    fn power_changed(&mut self, changed: &[HostId], off: bool) {
        for &host in changed {
            self.cards.clear(host);
            if let Some(node) = self.node_of(host) {
                self.fx.out.records.push(Record::NodePower { node, up: !off });
            }
        }
        for id in self.clusters.keys() {
            let (cluster, mut ctx) = self.etcd_cluster(id);
            let here: Vec<u8> = (0u8..)
                .zip(&cluster.members)
                .filter(|(_, member)| changed.contains(&member.host) && !member.managed)
                .map(|(index, _)| index)
                .collect();
            for index in here {
                if off { cluster.hold_down(index, StopReason::PowerLost, &mut ctx) } else { cluster.release(index, &mut ctx) }
            }
            cluster.network_changed(&mut ctx);
        }
        self.kube(Kube::network_changed);
        self.paths_changed();
    }

    /// Does something to a volume: to every member that uses it, has used it or will (a successor may join onto it).
    fn on_volume(&mut self, volume: VolumeId, act: impl Fn(&mut EtcdCluster, u8, &mut EtcdCtx<'_>)) {
        let scenario = self.scenario.clone();
        for id in self.clusters.keys() {
            let (cluster, mut ctx) = self.etcd_cluster(id);
            for index in cluster.members_on(&scenario, volume) {
                act(cluster, index, &mut ctx);
            }
        }
    }
}
