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
            /// How fast a node pulls images.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "60MB/s", "x-source" = "assumed"))]
            pub pull: Option<Bandwidth>,
            /// How fast a snapshot of etcd gets into the backup bucket, where a control plane moves to another seed.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "50MiB/s", "x-source" = "assumed"))]
            pub snapshot_upload: Option<Bandwidth>,
            /// How fast etcd is restored from there.
            #[schemars(extend("x-min" = "1kB/s", "x-max" = "1TB/s", "x-default" = "20MiB/s", "x-source" = "assumed"))]
            pub snapshot_restore: Option<Bandwidth>,
            /// So many nodes may always be unready before the autoscaler stops (`ok-total-unready-count`).
            #[schemars(range(max = 20_000), extend("x-default" = "3", "x-source" = AUTOSCALER))]
            pub ok_total_unready: Option<u32>,
            /// And such a share of all, in whole hundredths (`max-total-unready-percentage`).
            #[schemars(extend("x-default" = "45%", "x-source" = AUTOSCALER))]
            pub max_total_unready: Option<Probability>,
            /// A node found out of reach is queued for `NoExecute` at the next check only, as the code has it.
            #[schemars(extend("x-default" = "false", "x-source" = "GEP-20: its 7 min count without"))]
            pub requeue_at_next_check: Option<bool>,
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
                timers
            }
        }
    };
}

const MCM: &str = "machine-controller-manager, as Gardener deploys it";
const AUTOSCALER: &str = "autoscaler: config/flags/flags.go";
const KUBERNETES: &str = "kubernetes: pkg/controller/apis/config/v1alpha1/defaults.go";

spans! {
    /// The node lifecycle controller looks this often (`node-monitor-period`).
    node_monitor_period => monitor_period: "5s", "kubernetes: kube-controller-manager";
    /// A node whose lease was not renewed for longer is out of reach (`node-monitor-grace-period`; Gardener today 40s,
    /// Kubernetes since 1.32 50s).
    node_monitor_grace => monitor_grace: "2m", "GEP-20";
    /// A kubelet renews its lease this often.
    kubelet_lease_renew => lease_renewal: "10s", "kubernetes: a quarter of nodeLeaseDurationSeconds";
    /// What an API server adds to the time of a request.
    api_overhead => api_overhead: "1ms", "assumed";
    /// From a kubelet that runs to the API server and the controllers of a control plane's host.
    control_plane_start => control_plane_start: "20s", "assumed";
    /// An API server closes a connection to a silent etcd member after this.
    etcd_silence => etcd_silence: "40s", "kubernetes: storagebackend/factory/etcd3.go, keepaliveTime + keepaliveTimeout";
    /// A dial to a silent etcd member is given up after this.
    etcd_dial => etcd_dial: "20s", "kubernetes: storagebackend/factory/etcd3.go, dialTimeout";
    /// An API server is asked this often whether it is ready.
    readiness_period => readiness_period: "10s", "assumed";
    /// Others wait this long for the holder of a lease.
    lease_duration => lease_duration: "15s", "kubernetes: leaderElection.leaseDuration";
    /// A holder that could not renew its lease for this long gives up; less than `lease_duration`.
    renew_deadline => renew_deadline: "10s", "kubernetes: leaderElection.renewDeadline";
    /// Between two tries of a holder; less than `renew_deadline`. Others add up to 1.2 times as much.
    retry_period => retry_period: "2s", "kubernetes: leaderElection.retryPeriod";
    /// From a process that gave up to the next one.
    restart => restart: "10s", "assumed";
    /// From power to a kubelet that runs.
    boot => boot: "1m", "assumed";
    /// Between two pods that the scheduler looks at.
    scheduling => scheduling: "10ms", "assumed";
    /// A process that was asked to stop has this long.
    pod_grace => pod_grace: "30s", "kubernetes: terminationGracePeriodSeconds";
    /// Until an attached volume is mounted.
    mount => mount: "2s", "assumed";
    /// Until the cloud has attached a volume.
    attach => attach: "10s", "assumed";
    /// Until the cloud has detached a volume.
    detach => detach: "10s", "assumed";
    /// A volume that is still mounted on a node that is not ready is detached regardless after so long.
    force_detach => force_detach: "6m", "kubernetes: maxWaitForUnmountDuration";
    /// The pod garbage collector looks this often.
    pod_gc_period => collect_period: "20s", "kubernetes: gcCheckPeriod";
    /// It waits this long from when it first misses a node.
    pod_gc_quarantine => quarantine: "40s", "kubernetes: quarantineTime";
    /// A machine whose node has not joined after so long is given up (`machine-creation-timeout`).
    machine_creation => machines.creation: "20m", MCM;
    /// A machine whose node has not been healthy for so long is given up (`machine-health-timeout`).
    machine_health => machines.health: "10m", MCM;
    /// A node is drained for so long at most (`machine-drain-timeout`).
    machine_drain => machines.drain: "2h", MCM;
    /// The next pod with a volume is evicted when the one before is gone, or after so long (`machine-pv-detach-timeout`).
    pv_detach => machines.detach: "2m", MCM;
    /// A node that has not been ready for longer is not drained.
    beyond_draining => machines.beyond_draining: "5m", MCM;
    /// The machine-controller-manager looks this often whether the API answers.
    freeze_check => machines.check: "1m", MCM;
    /// It stops where the API has not answered for so long.
    freeze_after => machines.freeze: "30s", MCM;
    /// From the call that creates a machine until it is switched on.
    machine_create => machines.create: "90s", "assumed";
    /// From the call that deletes a machine until it is gone.
    machine_delete => machines.delete: "1m", "assumed";
    /// The cluster autoscaler looks this often (`scan-interval`).
    scan => autoscaler.scan: "10s", AUTOSCALER;
    /// A machine whose node has not joined after so long is taken back (`max-node-provision-time`; upstream 15m).
    provision => autoscaler.provision: "20m", "gardener: max-node-provision-time";
    /// A machine deployment that has failed is left alone for so long, at first.
    backoff_initial => autoscaler.back_off.initial: "5m", AUTOSCALER;
    /// And for so long at most.
    backoff_max => autoscaler.back_off.max: "30m", AUTOSCALER;
    /// So long after its last failure its failures are forgotten.
    backoff_reset => autoscaler.back_off.reset: "3h", AUTOSCALER;
    /// Gardener's care controller looks at a control plane this often.
    shoot_care_period => care: "1m", "gardener: syncPeriod";
    /// A pod of a control plane that has been terminating for so long is removed by the care controller.
    stale_pods_after => stale: "5m", "GEP-20";
    /// What looks like a zone outage for so long is one.
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
