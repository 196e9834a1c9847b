//! Which outages of clients are kept.

use super::*;

#[test]
fn the_longest_outages_are_kept() {
    let outage = |from_s: f64, lasts_s: f64| ClientOutageReport {
        client: "app".to_owned(),
        from_s,
        to_s: from_s + lasts_s,
        completed: true,
        silent_s: 0.0,
        cause: String::new(),
    };
    let mut outages = vec![outage(1.0, 2.0), outage(10.0, 5.0), outage(20.0, 1.0), outage(30.0, 300.0)];
    assert_eq!(keep_longest(&mut outages, 2), 2);
    assert_eq!(outages.iter().map(|outage| outage.from_s).collect::<Vec<_>>(), [10.0, 30.0]);
}
