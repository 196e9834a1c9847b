//! Tests of the tests of API access: rows that are wrong, or not understood, are refused.

use super::broken::{outcome, refused};

/// A file with one row.
fn file(row: &str) -> String {
    format!(r#"{{"source": "", "rule": "", "form": {{}}, "cases": [{{"name": "a", "origin": "code", {row}}}]}}"#)
}

#[test]
fn oracle_rows_of_access_say_what_they_are() {
    let name = "lb_health_cases.json";
    let good = r#""rise": 2, "fall": 1, "first_rise": 1, "initial": "initial", "checks": [true, false], "want": ["healthy", "unhealthy"]"#;
    assert_eq!(outcome("health-good", name, &file(good)), Ok(1));
    refused("health-value", name, &file(&good.replace(r#", "unhealthy""#, r#", "healthy""#)), "wanted [Healthy, Healthy]");
    refused("health-short", name, &file(&good.replace("[true, false]", "[true]")), "found [Healthy]");
    refused("health-word", name, &file(&good.replace(r#""initial","#, r#""new","#)), "new");
    refused("health-field", name, &file(&good.replace("first_rise", "first")), "first");
    refused(
        "health-none",
        name,
        &file(good).replace(&format!(r#"{{"name": "a", "origin": "code", {good}}}"#), ""),
        "not a single row",
    );
    refused("health-origin", name, &file(good).replace(r#""code""#, r#""dream""#), "dream");
    // A row that its source does not have must be understood, and may differ.
    let differs = good.replace(r#", "unhealthy""#, r#", "healthy""#) + r#", "verified": false"#;
    assert_eq!(outcome("health-unverified", name, &file(&differs)), Ok(1));
    refused("health-verified", name, &file(&differs.replace(": false", ": true")), "wanted [Healthy, Healthy]");
    refused("health-perhaps", name, &file(&differs.replace(": false", r#": "no""#)), "expected a boolean");
    refused("health-unverified-field", name, &file(&differs.replace("first_rise", "first")), "first");
}

#[test]
fn oracle_rows_of_load_balancers_are_read_strictly() {
    let name = "lb_detect_time_cases.json";
    let good = r#""interval_s": 7, "timeout_s": 3, "rise": 2, "fall": 3, "next_check_in_s": 1.5, "change": "down_silent",
        "want_seen_after_s": 18.5"#;
    assert_eq!(outcome("detection-good", name, &file(good)), Ok(1));
    refused("detection-value", name, &file(&good.replace("down_silent", "down")), "found 15.5s, wanted 18.5s");
    refused("detection-up", name, &file(&good.replace("down_silent", "up")), "found 8.5s, wanted 18.5s");
    refused("detection-word", name, &file(&good.replace("down_silent", "slow")), "slow");
    refused("detection-time", name, &file(&good.replace("1.5", "-1")), "-1 s");
}

#[test]
fn oracle_rows_of_alternative_services_are_read_strictly() {
    let name = "altsvc_parse_cases.json";
    let good = r#""header": "h2=\":6443\"", "answered_by": "a.example", "want_hosts": ["a.example:6443"]"#;
    assert_eq!(outcome("parse-good", name, &file(good)), Ok(1));
    refused("parse-value", name, &file(&good.replace("h2", "h3")), "found None");
    refused("parse-field", name, &file(&good.replace("answered_by", "host")), "host");

    let name = "altsvc_server_cases.json";
    let good = r#""requests": [{"at_s": 5, "fetch_ok": true, "endpoints": [["10.0.0.2"], ["10.0.0.3"]]}, {"at_s": 64.9, "fetch_ok": true, "endpoints": []}],
        "want_headers": ["", "h2=\"10.0.0.2:6443\"; ma=600, h2=\"10.0.0.3:6443\"; ma=600"]"#;
    assert_eq!(outcome("server-good", name, &file(good)), Ok(1));
    refused("server-late", name, &file(&good.replace("64.9", "65")), "found");
    refused("server-failed", name, &file(&good.replacen("true", "false", 1)), "found");

    let name = "altsvc_cache_cases.json";
    let entry =
        |host: &str, at: &str| format!(r#"{{"host": "{host}", "local": false, "blocked_at_s": {at}, "blocked_forever": false}}"#);
    let cache = |op: &str, want: &str| {
        let before = entry("a", "null");
        file(&format!(
            r#""before": [{before}], "op": "{op}", "hosts": ["a"], "forever": false, "now_s": 3, "local_hosts": [], "want": [{want}]"#
        ))
    };
    assert_eq!(outcome("cache-good", name, &cache("block", &entry("a", "3"))), Ok(1));
    refused("cache-value", name, &cache("block", &entry("a", "4")), "found");
    refused("cache-op", name, &cache("clear", ""), "clear");

    let name = "altsvc_select_cases.json";
    let select = |now: &str, want: &str| {
        let known = [entry("a", "null"), entry("b", "10")].join(", ");
        file(&format!(r#""now_s": {now}, "cache": [{known}], "last": null, "host": "lb", "want_any": {want}"#))
    };
    assert_eq!(outcome("select-good", name, &select("30", r#"["a", "b"]"#)), Ok(1));
    refused("select-blocked", name, &select("29.9", r#"["a", "b"]"#), r#"found ["a"], wanted"#);
    refused("select-one-of", name, &select("30", r#"["a"]"#), r#"found ["a", "b"], wanted"#);
}

#[test]
fn oracle_rows_of_requests_to_alternatives_are_read_strictly() {
    let name = "altsvc_round_trip_cases.json";
    let good = r#""local_hosts": [], "allow_localhost": false, "last": null,
        "cache": [{"host": "a:1", "local": false, "blocked_at_s": null, "blocked_forever": false}],
        "requests": [{"at_s": 9, "scheme": "https", "host": "lb", "alt_used": false, "answers": {"a:1": {"kind": "ok", "alt_svc": "clear"}}}],
        "want": [{"tried": ["a:1"], "error": false, "rewritten": true, "last": "a:1", "cache": []}]"#;
    assert_eq!(outcome("trip-good", name, &file(good)), Ok(1));
    refused("trip-value", name, &file(&good.replace(r#""rewritten": true"#, r#""rewritten": false"#)), "found");
    refused("trip-header", name, &file(&good.replace("clear", "Clear")), "found");
    refused("trip-unknown", name, &file(&good.replace(r#""a:1": {"kind"#, r#""b:1": {"kind"#)), "what a:1 answers is not said");
    refused("trip-kind", name, &file(&good.replace(r#""ok""#, r#""slow""#)), "slow");
    refused(
        "trip-used",
        name,
        &file(&good.replace(r#""alt_used": false"#, r#""alt_used": true"#)),
        "what lb answers is not said",
    );
}

#[test]
fn oracle_rows_of_leader_election_are_read_strictly() {
    let name = "leader_election_acquire_cases.json";
    let good = r#""me": "a", "now_s": 20, "lease": {"holder": "b", "duration_s": 15, "transitions": 2},
        "observed": {"holder": "b", "duration_s": 15, "seen_at_s": 5}, "lease_changed": false, "want": {"success": true, "holder": "a", "transitions": 3}"#;
    assert_eq!(outcome("acquire-good", name, &file(good)), Ok(1));
    refused("acquire-young", name, &file(&good.replace(r#""seen_at_s": 5"#, r#""seen_at_s": 5.1"#)), "success: false");
    refused("acquire-mine", name, &file(&good.replace(r#""b""#, r#""a""#)), "transitions: 2");

    let name = "leader_election_config_cases.json";
    let good = r#""lease_s": 15, "renew_s": 12, "retry_s": 10, "identity": "a", "want_error": "renew""#;
    assert_eq!(outcome("config-good", name, &file(good)), Ok(1));
    refused("config-value", name, &file(&good.replace(r#""renew_s": 12"#, r#""renew_s": 12.1"#)), "found None");
    refused("config-word", name, &file(&good.replace(r#""renew""#, r#""name""#)), "name");

    let name = "leader_election_defaults_cases.json";
    let good = r#""profile": "openshift", "lease_s": null, "renew_s": null, "retry_s": 20, "want": {"lease_s": 137, "renew_s": 107, "retry_s": 20},
        "want_retries": 5, "want_clock_skew_s": 30, "want_downtime_s": 80, "want_worst_crash_takeover_s": 157, "want_worst_graceful_takeover_s": 20"#;
    assert_eq!(outcome("defaults-good", name, &file(good)), Ok(1));
    refused("defaults-fixed", name, &file(&good.replace("openshift", "openshift_single_node")), "found");
    let fixed = good
        .replace("openshift", "openshift_single_node")
        .replace(r#""lease_s": 137, "renew_s": 107, "retry_s": 20}"#, r#""lease_s": 270, "renew_s": 240, "retry_s": 60}"#)
        .replace(": 5,", ": 4,")
        .replace(": 80", ": 180")
        .replace(": 157", ": 330")
        .replace("takeover_s\": 20", "takeover_s\": 60");
    assert_eq!(outcome("defaults-single", name, &file(&fixed)), Ok(1));
    refused("defaults-downtime", name, &file(&good.replace("80", "100")), "downtime: found 80s");

    let name = "leader_election_health_cases.json";
    let good =
        r#""elector": true, "is_leader": true, "lease_s": 15, "tolerance_s": 5, "since_renewal_s": 20, "want_healthy": true"#;
    assert_eq!(outcome("watchdog-good", name, &file(good)), Ok(1));
    refused("watchdog-value", name, &file(&good.replace("20", "20.5")), "found false");

    let name = "leader_election_renew_cases.json";
    let good = r#""lease_s": 15, "renew_s": 10, "retry_s": 3, "api_down": [[3, 13]], "until_s": 40,
        "want": {"lost_at_s": 13, "last_renewal_s": 0, "expires_at_s": 15}"#;
    assert_eq!(outcome("renew-good", name, &file(good)), Ok(1));
    refused("renew-up", name, &file(&good.replace("[3, 13]", "[3, 12]")), "found (None, t+39s)");
    refused("renew-expiry", name, &file(&good.replace(": 15}", ": 16}")), "found Some(t+15s)");
}
