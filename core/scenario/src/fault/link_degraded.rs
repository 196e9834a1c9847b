//! A link is degraded.

use super::prelude::*;
use super::target::link;
use crate::text;
use crate::units::{Bandwidth, Probability, Span};
use zonefall_kernel::time::Duration;

/// The path between two zones is degraded in both directions: more delay, packet loss or less bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "degraded link")]
pub struct Raw {
    /// Names of two zones; the same name twice means the network inside that zone.
    #[schemars(title = "Between", extend("x-target" = "zone"))]
    pub between: [String; 2],
    /// Added one-way delay.
    #[serde(default)]
    #[schemars(title = "Added one-way delay", extend("examples" = ["100ms"], "x-max" = "1m", "x-source" = "unchanged"))]
    pub delay: Span,
    /// Probability that a packet is lost, where it is higher than normal; 1 cuts the link, as `link_partition` does.
    #[serde(default)]
    #[schemars(title = "Loss", extend("x-source" = "unchanged"))]
    pub loss: Probability,
    /// Bandwidth of one connection, where it is lower than normal.
    #[serde(default)]
    #[schemars(title = "Bandwidth", extend("x-min" = "1B/s", "x-default" = "unchanged", "x-source" = "unchanged"))]
    pub bandwidth: Option<Bandwidth>,
}

/// As `delay` of a file's fault.
const MOST_DELAY: Duration = Duration::from_secs(60);

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LinkDegraded> {
        let [a, b] = ctx.zones("between", &self.between)?;
        let bytes_per_s = self.bandwidth.map(Bandwidth::bytes_per_s);
        let change = LinkChange { delay: self.delay.0, loss: self.loss.0, bytes_per_s };
        if change == LinkChange::NONE {
            ctx.error("", "a link_degraded fault without any effect", "`delay`, `loss` or `bandwidth`");
        }
        Some(LinkDegraded { a, b, change })
    }
}

/// The path between two zones is degraded in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkDegraded {
    /// One zone.
    pub a: ZoneId,
    /// The other, or the same: the inside of the zone.
    pub b: ZoneId,
    /// What changes.
    pub change: LinkChange,
}

/// How a link is degraded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkChange {
    /// Added one-way delay.
    pub delay: Duration,
    /// Probability of loss instead of the usual, where it is higher.
    pub loss: f64,
    /// Throughput of one connection in bytes per second instead of the usual, where it is lower.
    pub bytes_per_s: Option<u64>,
}

traced! { struct LinkDegraded { a, b, change } struct LinkChange { delay, loss, bytes_per_s } }

impl LinkChange {
    /// No change, for one to be made.
    const NONE: Self = Self { delay: Duration::ZERO, loss: 0.0, bytes_per_s: None };

    /// What changes, in words; `delay` says the delay.
    fn text(self, delay: impl FnOnce(String) -> String) -> String {
        let mut how = Vec::new();
        if self.delay > Duration::ZERO {
            how.push(delay(text::duration(self.delay)));
        }
        if self.loss > 0.0 {
            how.push(format!("{} % loss", (self.loss * 1e4).round() / 1e2));
        }
        if let Some(rate) = self.bytes_per_s {
            how.push(format!("at most {}/s", text::bytes(rate)));
        }
        how.join(", ")
    }
}

impl LinkDegraded {
    fn link(&self, scenario: &dyn Inventory) -> String {
        link(Place::Zone(self.a), Place::Zone(self.b), scenario)
    }
}

impl FaultKind for LinkDegraded {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Link(Place::Zone(self.a), Place::Zone(self.b))]
    }

    fn limits(&self) -> Result<(), String> {
        let LinkChange { delay, loss, bytes_per_s } = self.change;
        if !(0.0..=1.0).contains(&loss) {
            return Err(format!("expected a packet loss from 0 to 1, found {loss}"));
        }
        if delay > MOST_DELAY {
            return Err(format!("expected at most {MOST_DELAY} of added delay, found {delay}"));
        }
        if bytes_per_s == Some(0) {
            return Err("expected a bandwidth of at least 1 B/s; to stop all packets, use a partition".to_owned());
        }
        if self.change == LinkChange::NONE {
            return Err("expected added delay, packet loss or less bandwidth".to_owned());
        }
        Ok(())
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        let LinkChange { delay, loss, bytes_per_s } = self.change;
        RawFaultKind::LinkDegraded(Raw {
            between: [self.a, self.b].map(|zone| scenario.zones()[zone].name.clone()),
            delay: Span(delay),
            loss: Probability(loss),
            bandwidth: bytes_per_s.map(Bandwidth::from_bytes_per_s),
        })
    }

    fn impact(&self) -> Impact {
        if self.change.loss < 1.0 { Impact::SlowsNetwork } else { Impact::Cuts }
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} degraded ({})", self.link(scenario), self.change.text(|delay| format!("{delay} added delay")))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still degraded", self.link(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} has recovered", self.link(scenario))
    }

    fn mark(&self) -> String {
        self.change.text(|delay| format!("+{delay}"))
    }

    fn amount(&self) -> Option<Amount> {
        Some(if self.change.bytes_per_s.is_some() {
            Amount { label: "Bandwidth per connection", usual: "1MiB/s", set: with_rate }
        } else if self.change.loss > 0.0 {
            Amount { label: "Packet loss", usual: "5%", set: with_loss }
        } else {
            Amount { label: "Added one-way delay", usual: "50ms", set: with_delay }
        })
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let delay = LinkChange { delay: Duration::from_millis(50), ..LinkChange::NONE };
        let (a, b, ways) = match on {
            Hit::Zone(FaultTarget::Named(zone)) => {
                let about = "adds this one-way delay between the nodes of the zone";
                (zone, zone, vec![("delay", "Add one-way delay", about, delay)])
            }
            Hit::Link(Place::Zone(a), Place::Zone(b)) => {
                let (loss, bytes_per_s) = (0.05, Some(1 << 20));
                let ways = vec![
                    ("delay", "Add one-way delay", "adds this one-way delay", delay),
                    ("loss", "Lose packets", "drops this share of the packets", LinkChange { loss, ..LinkChange::NONE }),
                    (
                        "narrow",
                        "Limit bandwidth",
                        "limits the bandwidth of each connection",
                        LinkChange { bytes_per_s, ..LinkChange::NONE },
                    ),
                ];
                (a, b, ways)
            }
            _ => return Vec::new(),
        };
        let offer = |(id, label, about, change)| Offer { id, label, about, fault: Self { a, b, change }.into() };
        ways.into_iter().map(offer).collect()
    }
}

/// The same link with this change and no other.
fn changed(fault: &Fault, change: LinkChange) -> Fault {
    let Fault::LinkDegraded(LinkDegraded { a, b, .. }) = *fault else { return fault.clone() };
    LinkDegraded { a, b, change }.into()
}

fn with_delay(fault: &Fault, text: &str) -> Result<Fault, String> {
    let delay: Span = read_quantity(text, "50ms")?;
    Ok(changed(fault, LinkChange { delay: delay.0, ..LinkChange::NONE }))
}

fn with_loss(fault: &Fault, text: &str) -> Result<Fault, String> {
    let loss: Probability = read_quantity(text, "5%")?;
    Ok(changed(fault, LinkChange { loss: loss.0, ..LinkChange::NONE }))
}

fn with_rate(fault: &Fault, text: &str) -> Result<Fault, String> {
    let rate: Bandwidth = read_quantity(text, "1MiB/s or 10Mbit/s")?;
    Ok(changed(fault, LinkChange { bytes_per_s: Some(rate.bytes_per_s()), ..LinkChange::NONE }))
}
