//! Where members are. One that does not run may be started on another host; what it has sent before counts for the zone it was in.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::peer::Before;
use crate::record::EtcdRecord;
use smallvec::SmallVec;
use zonefall_kernel::time::Time;
use zonefall_network::ledger::Volume;
use zonefall_network::meter::Meter;
use zonefall_network::wire::Burst;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::{MemberId, ZoneId};

impl EtcdCluster {
    /// A member that does not run is on another host from now on.
    pub(super) fn relocate(&mut self, index: u8, host: HostId, ctx: &mut EtcdCtx<'_>) {
        let member = &self.members[index as usize];
        assert!(member.process.is_down(), "{:?} runs where it was", member.id);
        self.disturb(ctx);
        let zone = ctx.net.zone(host);
        if ctx.net.zone(self.host(index)) != zone {
            self.close_meters(index, ctx);
            ctx.record(EtcdRecord::MemberMoved { member: self.members[index as usize].id, zone });
        }
        self.members[index as usize].host = host;
        for stream in self.streams_of(index) {
            self.streams[stream].dialing_since = ctx.now;
            self.update_stream(stream, ctx);
        }
        ctx.fx.service_changed.push(self.id);
    }

    /// New connections of API servers are sent to a member from now on, or are not.
    pub fn list(&mut self, index: u8, listed: bool, ctx: &mut EtcdCtx<'_>) {
        self.members[index as usize].listed = listed;
        ctx.fx.service_changed.push(self.id);
    }

    fn streams_of(&self, index: u8) -> Vec<usize> {
        let others = (0..self.members.len() as u8).filter(|other| *other != index);
        others.flat_map(|other| [self.stream_index(index, other), self.stream_index(other, index)]).collect()
    }

    /// What a member has exchanged with the others counts for the zone it is about to leave.
    fn close_meters(&mut self, index: u8, ctx: &EtcdCtx<'_>) {
        for stream in self.streams_of(index) {
            self.count_upkeep(stream, ctx.now);
            let meter = std::mem::take(&mut self.meters[stream]);
            if meter.wire.bytes > 0 {
                self.before.push(Before { stream, zones: self.zones(stream, ctx.net), meter });
            }
        }
    }

    fn zones(&self, stream: usize, net: &Network) -> (ZoneId, ZoneId) {
        let (from, to) = self.ends(stream);
        (net.zone(self.host(from)), net.zone(self.host(to)))
    }

    /// Bytes between every two members as of `now`, and between which zones.
    pub fn links(&self, now: Time, net: &Network) -> impl Iterator<Item = (MemberId, MemberId, (ZoneId, ZoneId), Meter)> {
        let before = self.before.iter().map(|before| (self.ends(before.stream), before.zones, before.meter));
        let members = 0..self.members.len() as u8;
        let streams = members.clone().flat_map(move |from| members.clone().map(move |to| (from, to)));
        let zone = |member: u8| net.zone(self.host(member));
        let now = streams.zip(self.metered(now, net)).map(move |((from, to), meter)| ((from, to), (zone(from), zone(to)), meter));
        let id = |member: u8| self.members[usize::from(member)].id;
        before.chain(now).map(move |((from, to), zones, meter)| (id(from), id(to), zones, meter))
    }

    /// Adds up the bytes of all links by zone pair, and what they were on the wire. This is faster than [`Self::links`], which has peaks, too.
    pub fn carried(&self, now: Time, net: &Network, mut add: impl FnMut((ZoneId, ZoneId), u64, Burst)) {
        let zones = || self.members.iter().map(|member| net.zone(member.host));
        let of_stream: SmallVec<[_; 9]> = zones().flat_map(|from| zones().map(move |to| (from, to))).collect();
        for Before { zones, meter, .. } in &self.before {
            add(*zones, meter.bytes, meter.wire);
        }
        for (zones, meter) in of_stream.iter().zip(&self.meters).filter(|(_, meter)| meter.wire.bytes > 0) {
            add(*zones, meter.bytes, meter.wire);
        }
        for (stream, _, Volume { bytes, wire, .. }) in self.uncounted(now, net) {
            add(of_stream[stream], bytes, wire);
        }
    }
}
