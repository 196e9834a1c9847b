//! Options of etcd clusters.

use crate::cost::{Backend, RequestCost};
use crate::lowering::{CheckCtx, quoted};
use crate::options::EtcdOptions;
use crate::raw::{RawBackend, RawCost, RawOptions};
use crate::units::{Size, Span};
use zonefall_kernel::time::Duration;

/// The options of an etcd cluster that holds so much at the start. `usual_quota` is what whoever runs it gives it.
pub(super) fn options(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawOptions,
    (usual_quota, database_bytes): (u64, u64),
) -> EtcdOptions {
    let (heartbeat, election) = (raw.heartbeat_interval.0, raw.election_timeout.0);
    if election < heartbeat * 5 {
        let expected = format!("at least 5 x heartbeat_interval, {}, as etcd itself demands", Span(heartbeat * 5));
        ctx.error(&format!("{path}.election_timeout"), quoted(raw.election_timeout), expected);
    }
    let tick = raw.tick.map_or(heartbeat, |tick| tick.0);
    if tick > election {
        ctx.error(&format!("{path}.tick"), quoted(Span(tick)), format!("at most election_timeout, {}", raw.election_timeout));
    }
    if let Some(quota) = raw.quota_backend_bytes.filter(|quota| quota.0 <= database_bytes) {
        let expected = format!("more than the initial database, {}: members refuse all puts", Size(database_bytes));
        ctx.warn(&format!("{path}.quota_backend_bytes"), quoted(quota), expected);
    }
    EtcdOptions {
        heartbeat_interval: heartbeat,
        election_timeout: election,
        election_spread: None,
        tick,
        pre_vote: raw.pre_vote,
        check_quorum: raw.check_quorum,
        snapshot_count: raw.snapshot_count,
        catch_up_entries: raw.catch_up_entries,
        max_inflight: raw.max_inflight,
        max_append_bytes: raw.max_append_bytes.0,
        max_request_bytes: raw.max_request_bytes.0,
        quota_bytes: raw.quota_backend_bytes.map_or_else(|| usual_quota.max(database_bytes.saturating_mul(2)), |size| size.0),
        request_timeout: raw.request_timeout.map_or(Duration::from_secs(5) + election * 2, |span| span.0),
        rpc_overhead: raw.rpc_overhead.0,
        read_index_retry: raw.read_index_retry.0,
        strict_reconfig_check: raw.strict_reconfig_check,
        max_learners: raw.max_learners,
        start_up: raw.start_up.0,
        apply: raw.apply.0,
        cost: cost(&raw.cost),
        backend: raw.backend.as_ref().map(backend),
        answers_before_sync: raw.answers_before_sync,
    }
}

fn backend(raw: &RawBackend) -> Backend {
    Backend { interval: raw.interval.0, limit: raw.limit, syncs: raw.syncs }
}

fn cost(raw: &RawCost) -> RequestCost {
    RequestCost {
        cores: raw.cores,
        per_request: raw.per_request.0,
        per_mib: raw.per_mib.0,
        per_mib_read: raw.per_mib_read.0,
        per_key: raw.per_key.0,
        write: raw.write.0,
    }
}
