//! Calls to the cloud provider's API fail.

use super::prelude::*;
use crate::error::quote;
use crate::units::Probability;

/// Calls to the cloud provider's API fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "cloud API fails")]
pub struct Raw {
    /// Zone whose machines and volumes are affected.
    #[serde(default)]
    #[schemars(
        title = "Zone",
        extend("x-target" = "zone", "x-default" = "all zones", "x-source" = "credentials are valid in all zones or in none")
    )]
    pub zone: Option<String>,
    /// Result of calls that create a machine.
    #[serde(default)]
    #[schemars(title = "Create machines", extend("examples" = ["refused"], "x-default" = "works", "x-source" = "calls succeed"))]
    pub create: Option<CloudAnswer>,
    /// Result of calls that get the status of a machine or delete it.
    #[serde(default)]
    #[schemars(title = "Delete machines", extend("x-default" = "works", "x-source" = "calls succeed"))]
    pub delete: Option<CloudAnswer>,
    /// Result of calls that attach or detach a volume.
    #[serde(default)]
    #[schemars(title = "Attach volumes", extend("x-default" = "works", "x-source" = "calls succeed"))]
    pub attach: Option<CloudAnswer>,
    /// Share of these calls that fail, drawn for each call. Without `create`, `delete` and `attach`: share of all calls, which fail
    /// as `unavailable`.
    #[serde(default)]
    #[schemars(title = "Share of calls", extend("x-default" = "100%", "x-source" = "every call fails"))]
    pub error_rate: Option<Probability>,
}

/// Reason why a call to the cloud provider's API fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloudAnswer {
    /// The credentials are not accepted.
    Refused,
    /// The API does not answer.
    Unavailable,
    /// The machine type is out of stock.
    OutOfStock,
}

traced! { enum CloudAnswer { Refused = 0, Unavailable = 1, OutOfStock = 2 } }

impl CloudAnswer {
    const fn text(self) -> &'static str {
        match self {
            Self::Refused => "bad credentials",
            Self::Unavailable => "no answer",
            Self::OutOfStock => "out of stock",
        }
    }
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<CloudApi> {
        let zone = self.zone.as_ref().map(|zone| ctx.zone_named("zone", zone));
        for (field, answer) in [("delete", self.delete), ("attach", self.attach)] {
            if answer == Some(CloudAnswer::OutOfStock) {
                ctx.error(field, &quote("out_of_stock"), "`refused` or `unavailable`: only machines can be out of stock");
            }
        }
        let named = [self.create, self.delete, self.attach];
        let [create, delete, attach] = match (named, self.error_rate) {
            ([None, None, None], None) => {
                ctx.error("", "a cloud_api fault without any effect", "`create`, `delete`, `attach` or `error_rate`");
                named
            }
            ([None, None, None], Some(_)) => [Some(CloudAnswer::Unavailable); 3],
            _ => named,
        };
        let error_rate = self.error_rate.map_or(1.0, |rate| rate.0);
        if error_rate <= 0.0 {
            ctx.error("error_rate", &error_rate.to_string(), "more than 0");
        }
        let zone = zone.map_or(Some(None), |zone| zone.map(Some))?;
        Some(CloudApi { zone, create, delete, attach, error_rate })
    }
}

/// Calls to the cloud provider's API fail; those that are `None` succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CloudApi {
    /// For machines and volumes of this zone; of all zones.
    pub zone: Option<ZoneId>,
    /// To create a machine.
    pub create: Option<CloudAnswer>,
    /// To ask how a machine is, and to delete it.
    pub delete: Option<CloudAnswer>,
    /// To attach or detach a volume.
    pub attach: Option<CloudAnswer>,
    /// Share of these calls that fails, above 0 and up to 1.
    pub error_rate: f64,
}

impl Traced for CloudApi {
    /// The error rate stands in it where it is below 1: before there was one, every call failed.
    fn trace(&self, form: &mut Form) {
        self.zone.trace(form);
        for answer in [self.create, self.delete, self.attach] {
            answer.trace(form);
        }
        if self.error_rate < 1.0 {
            self.error_rate.trace(form);
        }
    }
}

impl CloudApi {
    fn text(&self, scenario: &dyn Inventory) -> String {
        let of_zone = |id: ZoneId| format!("the cloud API for zone {}", scenario.zones()[id].name);
        self.zone.map_or_else(|| "the cloud API".to_owned(), of_zone)
    }
}

impl FaultKind for CloudApi {
    fn hits(&self) -> Vec<Hit> {
        self.zone.map(|zone| Hit::Zone(FaultTarget::Named(zone))).into_iter().collect()
    }

    fn limits(&self) -> Result<(), String> {
        if [self.delete, self.attach].contains(&Some(CloudAnswer::OutOfStock)) {
            return Err("only calls that create machines can fail as out of stock".to_owned());
        }
        if (self.create, self.delete, self.attach) == (None, None, None) {
            return Err("expected at least one kind of call that fails".to_owned());
        }
        if !(self.error_rate > 0.0 && self.error_rate <= 1.0) {
            return Err(format!("expected a share of calls above 0 and up to 1, found {}", self.error_rate));
        }
        Ok(())
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        let Self { zone, create, delete, attach, error_rate } = *self;
        let zone = zone.map(|zone| scenario.zones()[zone].name.clone());
        RawFaultKind::CloudApi(Raw { zone, create, delete, attach, error_rate: Some(Probability(error_rate)) })
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        let calls = [("create machines", self.create), ("delete machines", self.delete), ("attach volumes", self.attach)];
        let fails = |(what, answer): (&str, Option<CloudAnswer>)| answer.map(|a| format!("cannot {what}: {}", a.text()));
        let how: Vec<String> = calls.into_iter().filter_map(fails).collect();
        let how = how.join(", ");
        if self.error_rate < 1.0 {
            return format!("{} fails {} % of calls ({how})", self.text(scenario), (self.error_rate * 1e4).round() / 1e2);
        }
        format!("{} {how}", self.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still fails", self.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} works again", self.text(scenario))
    }

    fn amount(&self) -> Option<Amount> {
        fn with_rate(fault: &Fault, text: &str) -> Result<Fault, String> {
            let Fault::CloudApi(fails) = fault else { return Ok(fault.clone()) };
            let rate: Probability = read_quantity(text, "30%")?;
            Ok(CloudApi { error_rate: rate.0, ..fails.clone() }.into())
        }
        Some(Amount { label: "Share of calls that fail", usual: "100%", set: with_rate })
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let Hit::Zone(FaultTarget::Named(zone)) = on else { return Vec::new() };
        let mut machines = scenario.kube().clusters.iter().flat_map(|cluster| &cluster.machine_deployments);
        if !machines.any(|deployment| deployment.zone == zone) {
            return Vec::new();
        }
        let [create, delete, attach] = [Some(CloudAnswer::Unavailable); 3];
        let fault = Self { zone: Some(zone), create, delete, attach, error_rate: 1.0 };
        let about = "this share of the API calls for its machines and volumes gets no answer";
        vec![Offer { id: "cloud-api", label: "Cloud API fails", about, fault: fault.into() }]
    }
}
