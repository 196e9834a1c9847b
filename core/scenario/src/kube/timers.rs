//! Timers of a cluster: of its kubelets, controllers and API servers.

use super::leader_election::Timings;
use super::{disruption, machine};
use crate::passive::Backup;
use zonefall_kernel::time::Duration;

/// Timers of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timers {
    /// The node lifecycle controller looks this often (`node-monitor-period`).
    pub monitor_period: Duration,
    /// A node whose lease was not renewed for longer is out of reach (`node-monitor-grace-period`).
    pub monitor_grace: Duration,
    /// A kubelet renews its lease this often (a quarter of `nodeLeaseDurationSeconds`).
    pub lease_renewal: Duration,
    /// A node found out of reach is queued for `NoExecute` at the next check only: `processTaintBaseEviction` is given its condition as it
    /// was before the check. GEP-20 and its 7 min count without this period; so does the default.
    pub requeue_at_next_check: bool,
    /// When zones are disrupted, and how fast nodes are tainted.
    pub disruption: disruption::Options,
    /// From power to a kubelet that runs (assumed).
    pub boot: Duration,
    /// Between two pods that the scheduler looks at (assumed).
    pub scheduling: Duration,
    /// Timers of the machine-controller-manager.
    pub machines: machine::MachineTimers,

    // Pods and volumes.
    /// A process that was asked to stop has this long (`terminationGracePeriodSeconds`).
    pub pod_grace: Duration,
    /// Until an attached volume is mounted (assumed).
    pub mount: Duration,
    /// Bytes per second at which a node pulls images (assumed).
    pub pull_bytes_per_s: u64,
    /// Until the cloud has attached a volume (assumed).
    pub attach: Duration,
    /// Until the cloud has detached a volume (assumed).
    pub detach: Duration,
    /// A volume that is still mounted on a node that is not ready is detached regardless after so long (`maxWaitForUnmountDuration`).
    pub force_detach: Duration,
    /// The pod garbage collector looks this often (`gcCheckPeriod`).
    pub collect_period: Duration,
    /// It waits this long from when it first misses a node (`quarantineTime`).
    pub quarantine: Duration,
    /// Timers of the cluster autoscaler.
    pub autoscaler: machine::AutoscalerTimers,
    /// Gardener's care controller looks at a control plane this often (`syncPeriod`).
    pub care: Duration,
    /// A pod of a control plane that has been terminating for so long is stale (GEP-20; Gardener counts from the end of its grace period).
    pub stale: Duration,
    /// What looks like a zone outage for so long is one (assumed: GEP-20 has "a threshold that could be defined").
    pub outage: Duration,
    /// Bytes per second at which snapshots of etcd get into the backup bucket (assumed).
    pub upload_bytes_per_s: u64,
    /// Bytes per second at which etcd is restored from there (assumed).
    pub restore_bytes_per_s: u64,
    // API servers.
    /// What an API server adds to the time of a request (assumed).
    pub api_overhead: Duration,
    /// From a kubelet that runs to the API server and the controllers of a control plane's host (assumed).
    pub control_plane_start: Duration,
    /// An API server closes a connection to a silent etcd member after this (30 s until it asks, 10 s for an answer:
    /// `keepaliveTime` and `keepaliveTimeout` of `storagebackend/factory/etcd3.go`).
    pub etcd_silence: Duration,
    /// A dial to a silent etcd member is given up after this (`dialTimeout`, same file).
    pub etcd_dial: Duration,
    /// An API server is asked this often whether it is ready (assumed).
    pub readiness_period: Duration,
    // Leader election.
    /// Others wait this long for the holder of a lease (`leaderElection.leaseDuration`).
    pub lease_duration: Duration,
    /// A holder whose attempts to renew its lease fail gives up after this, from the first of them (`leaderElection.renewDeadline`); less
    /// than the lease.
    pub renew_deadline: Duration,
    /// Between two tries of a holder; others add up to 1.2 times as much (`leaderElection.retryPeriod`).
    pub retry_period: Duration,
    /// A renewal that takes half the renew deadline has failed (`NewFromKubeconfig`, client-go `resourcelock/interface.go`); otherwise one
    /// may take all of it.
    pub renewals_time_out: bool,
    /// From a process that gave up to the next one (assumed).
    pub restart: Duration,
}

impl Timers {
    /// Timings of its leader elections.
    pub const fn leader_election(&self) -> Timings {
        let Self { lease_duration, renew_deadline, retry_period, .. } = *self;
        Timings { lease_duration, renew_deadline, retry_period }
    }

    /// A renewal of a component's lease that takes this long has failed.
    pub fn renewal_timeout(&self) -> Duration {
        if self.renewals_time_out { self.leader_election().request_timeout() } else { self.renew_deadline }
    }
}

impl Default for Timers {
    /// Those of Kubernetes, but for the grace period: 2 min, as in Gardener's GEP-20.
    fn default() -> Self {
        Self {
            monitor_period: Duration::from_secs(5),
            monitor_grace: Duration::from_secs(120),
            lease_renewal: Duration::from_secs(10),
            requeue_at_next_check: false,
            disruption: disruption::Options::default(),
            boot: Duration::from_secs(60),
            scheduling: Duration::from_millis(10),
            machines: machine::MachineTimers::default(),
            pod_grace: Duration::from_secs(30),
            mount: Duration::from_secs(2),
            pull_bytes_per_s: 60_000_000,
            attach: Duration::from_secs(10),
            detach: Duration::from_secs(10),
            force_detach: Duration::from_secs(360),
            collect_period: Duration::from_secs(20),
            quarantine: Duration::from_secs(40),
            autoscaler: machine::AutoscalerTimers::default(),
            care: Duration::from_secs(60),
            stale: Duration::from_secs(5 * 60),
            outage: Duration::from_secs(5 * 60),
            upload_bytes_per_s: Backup::default().upload_bytes_per_s,
            restore_bytes_per_s: Backup::default().restore_bytes_per_s,
            api_overhead: Duration::from_millis(1),
            control_plane_start: Duration::from_secs(20),
            etcd_silence: Duration::from_secs(40),
            etcd_dial: Duration::from_secs(20),
            readiness_period: Duration::from_secs(10),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            renewals_time_out: true,
            restart: Duration::from_secs(10),
        }
    }
}
