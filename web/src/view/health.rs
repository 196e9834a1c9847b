//! How each cluster does at the playhead: who leads, what is offered, what it can lose.

use yew::prelude::*;
use zonefall_core::etcd::picture::ClusterPicture;
use zonefall_core::record::Service;
use zonefall_core::scenario::Scenario;
use zonefall_core::sim::picture::Picture;

use super::same::Same;
use super::words;

/// What the line shows.
#[derive(Clone, PartialEq, Properties)]
pub(crate) struct HealthProps {
    /// The world.
    pub scenario: Same<Scenario>,
    /// Now.
    pub picture: Same<Picture>,
}

const SERVICES: [Service; 3] = [Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// A line per cluster.
#[component]
pub(crate) fn Health(props: &HealthProps) -> Html {
    let lines = props.scenario.etcd.iter().zip(&props.picture.etcd).map(|(spec, now)| line(&spec.name, now, spec));
    html! { <ul class="health" aria-label="Clusters at the playhead" data-testid="health">{ for lines }</ul> }
}

fn line(name: &str, now: &ClusterPicture, spec: &zonefall_core::scenario::EtcdCluster) -> Html {
    let leader = now.leader.map(|index| &spec.members[index as usize].name);
    let (tone, spare) = match now.spare {
        None => ("bad", "✕ no quorum".to_owned()),
        Some(0) => ("warn", "△ quorum, none to spare".to_owned()),
        Some(1) => ("good", "✓ quorum, can lose 1 more".to_owned()),
        Some(n) => ("good", format!("✓ quorum, can lose {n} more")),
    };
    let service = |service: Service| {
        let there = now.offered.contains(&service);
        let (class, sign) = if there { ("good", "✓") } else { ("bad", "✕") };
        html! { <span class={classes!("service", class)}>{ format!("{sign} {}", words::service(service)) }</span> }
    };
    html! {
        <li>
            <strong>{ name }</strong>
            if let Some(leader) = leader { <span>{ format!("★ {leader} leads") }</span> } else { <span class="bad">{ "○ nobody leads" }</span> }
            <span class={tone}>{ spare }</span>
            { for SERVICES.into_iter().map(service) }
        </li>
    }
}
