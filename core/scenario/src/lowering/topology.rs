//! What is known of zones, nodes and volumes, and what their names stand for.

use super::{CheckCtx, Names, quoted};
use crate::ids::{NodeId, TiVec, VolumeId, ZoneId};
use crate::topology::{Network, Node, Volume, Zone};

/// The world as far as it could be made out.
pub(crate) struct Topology {
    pub(crate) regions: Vec<String>,
    pub(crate) zones: TiVec<ZoneId, Zone>,
    pub(crate) nodes: TiVec<NodeId, Node>,
    /// Named volumes; those that members have of their own are added with the members.
    pub(crate) volumes: TiVec<VolumeId, Volume>,
    pub(crate) network: Network,
    pub(crate) zone_names: Names,
    pub(crate) node_names: Names,
    pub(crate) volume_names: Names,
    /// Zone of each node and each volume, where it is known.
    pub(crate) node_zones: TiVec<NodeId, Option<ZoneId>>,
    pub(crate) volume_zones: TiVec<VolumeId, Option<ZoneId>>,
}

/// A machine more in the world.
pub(crate) fn add_machine(ctx: &mut CheckCtx<'_>, path: &str, node: Node, topology: &mut Topology) -> NodeId {
    topology.node_names.add(ctx, path, &node.name, topology.nodes.len());
    topology.node_zones.push(Some(node.zone));
    topology.nodes.push_and_get_key(node)
}

/// The zones of these names, each once; of these, where they must be some of them.
pub(crate) fn zones_of(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    names: &[String],
    of: Option<&[ZoneId]>,
    topology: &Topology,
) -> Vec<ZoneId> {
    let mut zones = Vec::new();
    for (k, name) in names.iter().enumerate() {
        let path = format!("{path}[{k}]");
        let Some(zone) = topology.zone_names.find(ctx, &path, name).map(ZoneId::from) else { continue };
        if zones.contains(&zone) {
            ctx.error(&path, format!("{} again", quoted(name)), "each zone once");
        } else if of.is_some_and(|of| !of.contains(&zone)) {
            ctx.error(
                &path,
                quoted(name),
                format!("one of the zones of its cluster: {}", zone_names(of.unwrap_or_default(), topology)),
            );
        } else {
            zones.push(zone);
        }
    }
    zones
}

/// Zones by name.
pub(crate) fn zone_names(zones: &[ZoneId], topology: &Topology) -> String {
    crate::error::one_of(zones.iter().map(|zone| topology.zones[*zone].name.as_str()))
}
