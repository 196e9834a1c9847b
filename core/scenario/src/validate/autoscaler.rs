//! Options of the cluster autoscaler: how it chooses node groups (`expander/factory/expander_factory.go`, `expander/priority/priority.go`).

use crate::error::{quote, show};
use crate::kube::autoscaler::{ClusterAutoscaler, Expander, group_pattern};
use crate::lowering::CheckCtx;

/// Reports expanders and priorities that upstream refuses, and priorities that nothing reads.
pub(super) fn validate(ctx: &mut CheckCtx<'_>, path: &str, options: &ClusterAutoscaler) {
    for (k, expander) in options.expander.iter().enumerate() {
        let (place, found) = (format!("{path}.expander[{k}]"), show(&serde_json::json!(expander)));
        if options.expander[..k].contains(expander) {
            ctx.error(&place, format!("{found} again"), "each expander once");
        } else if options.expander[..k].contains(&Expander::Random) {
            ctx.error(&place, found, "no expander after `random`, which leaves one group");
        }
    }
    let reads_priorities = options.expander.contains(&Expander::Priority);
    if reads_priorities && options.priorities.is_empty() {
        let expected = "`priorities` beside it: without their ConfigMap no group would ever grow";
        ctx.error(&format!("{path}.expander"), "priority", expected);
    } else if !reads_priorities && !options.priorities.is_empty() {
        let found = format!("{} priorities", options.priorities.len());
        ctx.error(&format!("{path}.priorities"), found, "none without `priority` among the expanders: nothing else reads them");
    }
    for (k, entry) in options.priorities.iter().enumerate() {
        for (n, pattern) in entry.groups.iter().enumerate() {
            if group_pattern(pattern).is_none() {
                ctx.error(
                    &format!("{path}.priorities[{k}].groups[{n}]"),
                    quote(pattern),
                    "a regular expression, of at most 32 KiB once it is compiled",
                );
            }
        }
    }
}
