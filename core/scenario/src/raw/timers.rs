//! Timers of a seed's controllers and kubelets. Whatever is left out is as in [`Timers`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kube::Timers;
use crate::units::{Probability, Rate, Span};

/// `name => field of Timers: default, source;` A test holds the defaults to those of [`Timers`].
macro_rules! spans {
    ($($(#[doc = $doc:literal])+ $name:ident => $field:ident: $usual:literal, $source:literal;)+) => {
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
            /// A node found out of reach is queued for `NoExecute` at the next look only, as the code has it.
            #[schemars(extend("x-default" = "false", "x-source" = "GEP-20: its 7 min count without"))]
            pub queues_a_look_later: Option<bool>,
        }

        impl RawTimers {
            /// What is left out as by default.
            pub(crate) fn timers(&self) -> Timers {
                let mut timers = Timers::default();
                $(timers.$field = self.$name.map_or(timers.$field, |span| span.0);)+
                let disruption = &mut timers.disruption;
                disruption.rate = self.eviction_rate.map_or(disruption.rate, Rate::as_per_second);
                disruption.secondary_rate = self.secondary_eviction_rate.map_or(disruption.secondary_rate, Rate::as_per_second);
                disruption.large_zone = self.large_cluster.map_or(disruption.large_zone, u64::from);
                disruption.unhealthy_percent =
                    self.unhealthy_zone.map_or(disruption.unhealthy_percent, |share| (share.0 * 100.0).round() as u64);
                timers.queues_a_look_later = self.queues_a_look_later.unwrap_or(timers.queues_a_look_later);
                timers
            }
        }
    };
}

const KUBERNETES: &str = "kubernetes: pkg/controller/apis/config/v1alpha1/defaults.go";

spans! {
    /// The node lifecycle controller looks this often (`node-monitor-period`).
    node_monitor_period => monitor_period: "5s", "kubernetes: kube-controller-manager";
    /// A node whose lease was not renewed for longer is out of reach (`node-monitor-grace-period`; Gardener today 40s,
    /// Kubernetes since 1.32 50s).
    node_monitor_grace => monitor_grace: "2m", "GEP-20";
    /// A kubelet renews its lease this often.
    kubelet_lease_renew => lease_renewal: "10s", "kubernetes: a quarter of nodeLeaseDurationSeconds";
    /// From a write until those who watch hear of it.
    watch_latency => watch_latency: "5ms", "assumed";
    /// From power to a kubelet that runs.
    boot => boot: "1m", "assumed";
    /// Between two pods that the scheduler looks at.
    scheduling => scheduling: "10ms", "assumed";
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
