//! Timers of a seed's controllers and kubelets. Whatever is left out is as in [`Timers`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kube::Timers;
use crate::units::{Bandwidth, Probability, Rate, Span};

/// `name => field of Timers: default, source;` A test holds the defaults to those of [`Timers`].
macro_rules! spans {
    ($($(#[doc = $doc:literal])+ $name:ident => $($field:ident).+: $usual:literal, $source:expr;)+) => {
        /// Timers of a seed's controllers and kubelets, and of the control planes it hosts.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct RawTimers {
            $(
                $(#[doc = $doc])+
                #[schemars(extend("x-min" = "1ms", "x-max" = "30d", "x-default" = $usual, "x-source" = $source))]
                pub $name: Option<Span>,
            )+
            /// Evictions per second and zone (`node-eviction-rate`).
            #[schemars(extend("x-min" = "1/d", "x-max" = "1000/s", "x-default" = "0.1/s", "x-source" = KUBERNETES))]
            pub eviction_rate: Option<Rate>,
            /// Evictions per second in a large zone that is disrupted (`secondary-node-eviction-rate`).
            #[schemars(extend("x-min" = "1/d", "x-max" = "1000/s", "x-default" = "0.01/s", "x-source" = KUBERNETES))]
            pub secondary_eviction_rate: Option<Rate>,
            /// A zone of more nodes than this is large (`large-cluster-size-threshold`).
            #[schemars(range(max = 20_000), extend("x-default" = "50", "x-source" = KUBERNETES))]
            pub large_cluster: Option<u32>,
            /// Share of nodes not ready from which a zone is disrupted, in whole hundredths (`unhealthy-zone-threshold`).
            #[schemars(extend("x-default" = "55%", "x-source" = KUBERNETES))]
            pub unhealthy_zone: Option<Probability>,
            /// Bandwidth of a node for pulling images.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "60MB/s", "x-source" = "assumed"))]
            pub pull: Option<Bandwidth>,
            /// Bandwidth of the upload of an etcd snapshot to the backup bucket, in a control-plane migration.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "50MiB/s", "x-source" = "assumed"))]
            pub snapshot_upload: Option<Bandwidth>,
            /// Bandwidth of the restoration of etcd from the backup bucket.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "20MiB/s", "x-source" = "assumed"))]
            pub snapshot_restore: Option<Bandwidth>,
            /// Number of nodes that may always be unready before the autoscaler stops (`ok-total-unready-count`).
            #[schemars(range(max = 20_000), extend("x-default" = "3", "x-source" = AUTOSCALER))]
            pub ok_total_unready: Option<u32>,
            /// Share of nodes that may be unready before the autoscaler stops, in whole hundredths (`max-total-unready-percentage`).
            #[schemars(extend("x-default" = "45%", "x-source" = AUTOSCALER))]
            pub max_total_unready: Option<Probability>,
            /// An unreachable node is queued for the `NoExecute` taint only at the next check, as in the code of Kubernetes.
            #[schemars(extend("x-default" = "false", "x-source" = "GEP-20: its 7 min count without"))]
            pub requeue_at_next_check: Option<bool>,
            /// A renewal of a component's lease times out after half of `renew_deadline`; otherwise it may last until the deadline.
            #[schemars(extend("x-default" = "true", "x-source" = "client-go: resourcelock/interface.go, NewFromKubeconfig"))]
            pub renewals_time_out: Option<bool>,
        }

        impl RawTimers {
            /// What is left out as by default.
            pub(crate) fn timers(&self) -> Timers {
                let mut timers = Timers::default();
                $(timers.$($field).+ = self.$name.map_or(timers.$($field).+, |span| span.0);)+
                let disruption = &mut timers.disruption;
                disruption.rate = self.eviction_rate.map_or(disruption.rate, Rate::as_per_second);
                disruption.secondary_rate = self.secondary_eviction_rate.map_or(disruption.secondary_rate, Rate::as_per_second);
                disruption.large_zone = self.large_cluster.map_or(disruption.large_zone, u64::from);
                disruption.unhealthy_percent =
                    self.unhealthy_zone.map_or(disruption.unhealthy_percent, |share| (share.0 * 100.0).round() as u64);
                timers.pull_bytes_per_s = self.pull.map_or(timers.pull_bytes_per_s, Bandwidth::bytes_per_s);
                timers.upload_bytes_per_s = self.snapshot_upload.map_or(timers.upload_bytes_per_s, Bandwidth::bytes_per_s);
                timers.restore_bytes_per_s = self.snapshot_restore.map_or(timers.restore_bytes_per_s, Bandwidth::bytes_per_s);
                let scaling = &mut timers.autoscaler;
                scaling.unready = self.ok_total_unready.unwrap_or(scaling.unready);
                scaling.unready_percent =
                    self.max_total_unready.map_or(scaling.unready_percent, |share| (share.0 * 100.0).round() as u32);
                timers.requeue_at_next_check = self.requeue_at_next_check.unwrap_or(timers.requeue_at_next_check);
                timers.renewals_time_out = self.renewals_time_out.unwrap_or(timers.renewals_time_out);
                timers
            }
        }
    };
}

const MCM: &str = "machine-controller-manager, as Gardener deploys it";
const AUTOSCALER: &str = "autoscaler: config/flags/flags.go";
const KUBERNETES: &str = "kubernetes: pkg/controller/apis/config/v1alpha1/defaults.go";

spans! {
    /// Interval of the node lifecycle controller's checks (`node-monitor-period`).
    node_monitor_period => monitor_period: "5s", "kubernetes: kube-controller-manager";
    /// Time without a renewal of its lease after which a node is unreachable (`node-monitor-grace-period`; Gardener today 40s,
    /// Kubernetes since 1.32 50s).
    node_monitor_grace => monitor_grace: "2m", "GEP-20";
    /// Interval at which a kubelet renews its node lease.
    kubelet_lease_renew => lease_renewal: "10s", "kubernetes: a quarter of nodeLeaseDurationSeconds";
    /// Time that an API server adds to a request.
    api_overhead => api_overhead: "1ms", "assumed";
    /// Time from the start of the kubelet on a control-plane host to running API server and controllers.
    control_plane_start => control_plane_start: "20s", "assumed";
    /// Time after which an API server closes a connection to an etcd member that does not respond.
    etcd_silence => etcd_silence: "40s", "kubernetes: storagebackend/factory/etcd3.go, keepaliveTime + keepaliveTimeout";
    /// Timeout of an API server's connection attempt to an etcd member.
    etcd_dial => etcd_dial: "20s", "kubernetes: storagebackend/factory/etcd3.go, dialTimeout";
    /// Interval of the readiness probe of an API server.
    readiness_period => readiness_period: "10s", "assumed";
    /// Time that candidates wait before they acquire an unrenewed lease.
    lease_duration => lease_duration: "15s", "kubernetes: leaderElection.leaseDuration";
    /// Time after which a leader whose attempts to renew its lease fail gives it up, from the first of them; less than `lease_duration`.
    renew_deadline => renew_deadline: "10s", "kubernetes: leaderElection.renewDeadline";
    /// Time between two renewal attempts of a leader; less than `renew_deadline`. Candidates add a jitter of up to 1.2 times this.
    retry_period => retry_period: "2s", "kubernetes: leaderElection.retryPeriod";
    /// Time from the exit of a process that lost its lease to its restart.
    restart => restart: "10s", "assumed";
    /// Time from power-on of a node to a running kubelet.
    boot => boot: "1m", "assumed";
    /// Time between two scheduling attempts of the scheduler.
    scheduling => scheduling: "10ms", "assumed";
    /// Termination grace period of a pod.
    pod_grace => pod_grace: "30s", "kubernetes: terminationGracePeriodSeconds";
    /// Time to mount an attached volume.
    mount => mount: "2s", "assumed";
    /// Time that the cloud takes to attach a volume.
    attach => attach: "10s", "assumed";
    /// Time that the cloud takes to detach a volume.
    detach => detach: "10s", "assumed";
    /// Time after which a volume that is still mounted on a node that is not ready is force-detached.
    force_detach => force_detach: "6m", "kubernetes: maxWaitForUnmountDuration";
    /// Interval of the pod garbage collector.
    pod_gc_period => collect_period: "20s", "kubernetes: gcCheckPeriod";
    /// Time that the pod garbage collector waits after it first misses a node.
    pod_gc_quarantine => quarantine: "40s", "kubernetes: quarantineTime";
    /// Time after which a machine whose node has not joined is marked as failed (`machine-creation-timeout`).
    machine_creation => machines.creation: "20m", MCM;
    /// Time after which a machine whose node is unhealthy is marked as failed (`machine-health-timeout`).
    machine_health => machines.health: "10m", MCM;
    /// Maximum duration of a drain (`machine-drain-timeout`).
    machine_drain => machines.drain: "2h", MCM;
    /// Maximum time that a drain waits for the volume of an evicted pod to be detached before it evicts the next one
    /// (`machine-pv-detach-timeout`).
    pv_detach => machines.detach: "2m", MCM;
    /// Time after which a node that is not ready is deleted without a drain.
    beyond_draining => machines.beyond_draining: "5m", MCM;
    /// Interval at which the machine-controller-manager checks whether the API is available.
    freeze_check => machines.check: "1m", MCM;
    /// Time without an available API after which the machine-controller-manager freezes.
    freeze_after => machines.freeze: "30s", MCM;
    /// Time from the call that creates a machine until the machine is switched on.
    machine_create => machines.create: "90s", "assumed";
    /// Time from the call that deletes a machine until the machine is deleted.
    machine_delete => machines.delete: "1m", "assumed";
    /// Interval of the cluster autoscaler (`scan-interval`).
    scan => autoscaler.scan: "10s", AUTOSCALER;
    /// Time after which the autoscaler removes a machine whose node has not joined (`max-node-provision-time`; upstream 15m).
    provision => autoscaler.provision: "20m", "gardener: max-node-provision-time";
    /// Initial back-off of a machine deployment after a failed scale-up.
    backoff_initial => autoscaler.back_off.initial: "5m", AUTOSCALER;
    /// Maximum back-off of a machine deployment.
    backoff_max => autoscaler.back_off.max: "30m", AUTOSCALER;
    /// Time after the last failure at which the back-off is reset.
    backoff_reset => autoscaler.back_off.reset: "3h", AUTOSCALER;
    /// Interval of Gardener's care controller for each control plane.
    shoot_care_period => care: "1m", "gardener: syncPeriod";
    /// Time after which the care controller deletes a pod that is still terminating.
    stale_pods_after => stale: "5m", "GEP-20";
    /// Time after which signs of a zone outage are treated as an outage.
    outage_threshold => outage: "5m", "assumed: GEP-20 has a threshold that could be defined";
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn defaults_are_those_of_the_model() {
        let schema = schemars::schema_for!(RawTimers).to_value();
        let fields = schema["properties"].as_object().expect("fields");
        let usual = |(name, field): (&String, &Value)| {
            let text = field["x-default"].as_str().expect("a default");
            (name.clone(), text.parse().unwrap_or_else(|_| Value::from(text)))
        };
        let raw: RawTimers =
            serde_json::from_value(Value::Object(fields.iter().map(usual).collect::<Map<_, _>>())).expect("timers");
        assert_eq!(raw.timers(), Timers::default());
        assert_eq!(RawTimers::default().timers(), Timers::default());
    }
}
