//! Regions, zones, nodes, volumes, and the paths between zones.

use crate::ids::{TiSlice, TiVec, ZoneId};
use crate::lowering::{CheckCtx, Names, Topology, quoted};
use crate::network_card;
use crate::raw::{RawDisk, RawNetwork, RawPath, RawScenario};
use crate::topology::{CERTIFICATE_BYTES, Disk, Network, Node, Path, Volume, Zone};
use crate::units::Bandwidth;
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::Duration;

/// Zones in all regions together.
const MAX_ZONES: usize = 64;

pub(super) fn validate(ctx: &mut CheckCtx<'_>, raw: &RawScenario) -> Topology {
    let mut region_names = Names::new("a region");
    let mut zone_names = Names::new("a zone");
    let mut zones = TiVec::new();
    for (r, region) in raw.topology.regions.iter().enumerate() {
        let path = format!("topology.regions[{r}]");
        region_names.add(ctx, &format!("{path}.name"), region.name.as_str(), r);
        for (z, zone) in region.zones.iter().enumerate() {
            zone_names.add(ctx, &format!("{path}.zones[{z}]"), zone.as_str(), zones.len());
            zones.push(Zone { name: zone.to_string(), region: r as u16 });
        }
    }
    if zones.len() > MAX_ZONES {
        ctx.error("topology.regions", format!("{} zones in all", zones.len()), format!("at most {MAX_ZONES}"));
        zones.truncate(MAX_ZONES);
    }

    let mut node_names = Names::new("a node");
    let mut node_zones = TiVec::new();
    for (n, node) in raw.topology.nodes.iter().enumerate() {
        let path = format!("topology.nodes[{n}]");
        node_names.add(ctx, &format!("{path}.name"), node.name.as_str(), n);
        node_zones.push(zone_names.find(ctx, &format!("{path}.zone"), &node.zone).map(ZoneId::from));
    }

    let mut volume_names = Names::new("a volume");
    let mut volume_zones = TiVec::new();
    let mut volumes = TiVec::new();
    for (v, volume) in raw.topology.volumes.iter().enumerate() {
        let path = format!("topology.volumes[{v}]");
        volume_names.add(ctx, &format!("{path}.name"), volume.name.as_str(), v);
        let zone = zone_names.find(ctx, &format!("{path}.zone"), &volume.zone).map(ZoneId::from);
        let disk = disk(ctx, &format!("{path}.disk"), &volume.disk);
        ctx.copies(&format!("{path}.disk.fsync"), &disk.fsync, 1);
        volume_zones.push(zone);
        volumes.push(Volume { name: volume.name.to_string(), zone: zone.unwrap_or(ZoneId(0)), disk });
    }

    let network = network(ctx, &raw.network, &zones, &zone_names);
    Topology {
        regions: raw.topology.regions.iter().map(|region| region.name.to_string()).collect(),
        nodes: raw
            .topology
            .nodes
            .iter()
            .zip(&node_zones)
            .map(|(node, zone)| Node {
                name: node.name.to_string(),
                zone: zone.unwrap_or(ZoneId(0)),
                card_bytes_per_s: node.network_bandwidth.map_or(network_card::DEFAULT, Bandwidth::bytes_per_s),
            })
            .collect(),
        zones,
        volumes,
        network,
        zone_names,
        node_names,
        volume_names,
        node_zones,
        volume_zones,
    }
}

pub(super) fn disk(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawDisk) -> Disk {
    let fsync = ctx.latency(&format!("{path}.fsync"), &raw.fsync);
    Disk { fsync, bytes_per_s: raw.bandwidth.bytes_per_s(), iops: raw.iops.map(u64::from) }
}

fn network(ctx: &mut CheckCtx<'_>, raw: &RawNetwork, zones: &TiSlice<ZoneId, Zone>, names: &Names) -> Network {
    let usual = RawNetwork::default();
    let same_host = raw.same_host.or(&usual.same_host);
    let same_zone = raw.same_zone.or(&usual.same_zone);
    let cross_zone = raw.cross_zone.or(&usual.cross_zone);
    let cross_region = raw.cross_region.or(&usual.cross_region);

    // Each kind once for its errors, then a copy for every pair of zones.
    let inside = path(ctx, "network.same_zone", &same_zone);
    let across = path(ctx, "network.cross_zone", &cross_zone);
    let far = path(ctx, "network.cross_region", &cross_region);
    ctx.copies("network.same_zone.jitter", &inside.jitter, zones.len());
    let together = |own: &Zone| zones.iter().filter(|zone| zone.region == own.region).count();
    let same_region: usize = zones.iter().map(together).sum();
    ctx.copies("network.cross_zone.jitter", &across.jitter, same_region - zones.len());
    ctx.copies("network.cross_region.jitter", &far.jitter, zones.len() * zones.len() - same_region);
    let kind = |a: ZoneId, b: ZoneId| match (a == b, zones[a].region == zones[b].region) {
        (true, _) => (&same_zone, &inside),
        (false, true) => (&cross_zone, &across),
        (false, false) => (&cross_region, &far),
    };
    let mut paths = Vec::with_capacity(zones.len() * zones.len());
    if ctx.errors.is_empty() {
        for a in zones.keys() {
            paths.extend(zones.keys().map(|b| kind(a, b).1.clone()));
        }
    }

    let mut seen = std::collections::BTreeMap::new();
    for (k, pair) in raw.pairs.iter().enumerate() {
        let place = format!("network.pairs[{k}]");
        let Some((a, b)) = two_zones(ctx, &place, &pair.between, names) else { continue };
        if let Some(first) = seen.insert((a.min(b), a.max(b)), k) {
            let found = format!("{} and {} again", pair.between[0], pair.between[1]);
            ctx.error(
                &format!("{place}.between"),
                found,
                format!("each pair of zones once; it is network.pairs[{first}] already"),
            );
        }
        if a >= zones.len() || b >= zones.len() {
            continue;
        }
        let changed = path(ctx, &place, &pair.path.or(kind(a.into(), b.into()).0));
        ctx.copies(&format!("{place}.jitter"), &changed.jitter, 2);
        if !paths.is_empty() {
            paths[a * zones.len() + b] = changed.clone();
            paths[b * zones.len() + a] = changed;
        }
    }
    Network { paths, same_host: path(ctx, "network.same_host", &same_host), tls: raw.tls, certificate_bytes: CERTIFICATE_BYTES }
}

/// The zones of a `between`.
pub(super) fn two_zones(ctx: &mut CheckCtx<'_>, path: &str, between: &[String; 2], names: &Names) -> Option<(usize, usize)> {
    let a = names.find(ctx, &format!("{path}.between[0]"), &between[0]);
    let b = names.find(ctx, &format!("{path}.between[1]"), &between[1]);
    a.zip(b)
}

/// A path of which nothing is left out.
fn path(ctx: &mut CheckCtx<'_>, at: &str, raw: &RawPath) -> Path {
    let jitter = raw.jitter.as_ref().map_or(Latency::NONE, |jitter| ctx.latency(&format!("{at}.jitter"), jitter));
    let loss = raw.loss.map_or(0.0, |loss| loss.0);
    if loss >= 1.0 {
        ctx.error(
            &format!("{at}.loss"),
            loss.to_string(),
            "less than 1; to cut a path off, use a zone_partition or node_partition fault",
        );
    }
    let delay = raw.delay.map_or(Duration::ZERO, |delay| delay.0);
    let Some(bandwidth) = raw.bandwidth else {
        ctx.error(&format!("{at}.bandwidth"), "nothing", quoted("1Gbit/s"));
        return Path { delay, jitter, loss, bytes_per_s: 1 };
    };
    Path { delay, jitter, loss, bytes_per_s: bandwidth.bytes_per_s() }
}
