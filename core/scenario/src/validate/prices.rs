//! Price books and prices: of each provider one for everything that the scenario has.

use std::collections::BTreeMap;

use crate::error::{one_of, quote};
use crate::ids::EtcdId;
use crate::kube::KubeModel;
use crate::lowering::{CheckCtx, Members, quoted};
use crate::prices::{Check, Item, NodeCharge, Price, PriceBookName, PriceKind, Prices, Provider, Shape, Unit, VolumeCharge};
use crate::raw::{RawPrice, RawScenario};
use zonefall_kernel::time::Time;

const PRICE_OF_IT: &str = "a price of it in `prices.custom`, 0 where it is free";
const SHAPE: &str = "CPUs and GiB of memory, such as \"8cpu-32gib\"";

/// A node of which the file does not say what machine it is.
const USUAL_NODE: Shape = Shape::of(2, 8);

/// What is charged for what runs.
pub(super) fn validate(ctx: &mut CheckCtx<'_>, raw: &RawScenario, kube: &KubeModel, members: &Members) -> Prices {
    let (scenario, raw) = (raw, &raw.prices);
    let machine = raw.machine.as_ref().and_then(|text| shape(ctx, "prices.machine", text));
    let mut providers: Vec<Provider> = Vec::new();
    let usual = if raw.custom.is_empty() { &[PriceBookName::AwsEuWest1][..] } else { &[] };
    for (b, name) in raw.books.as_deref().unwrap_or(usual).iter().enumerate() {
        let book = name.book();
        if providers.iter().any(|own| own.name == book.provider) {
            let expected = format!("one book of each provider: there is another of {} already", book.provider);
            ctx.error(&format!("prices.books[{b}]"), quote(book.name), expected);
            continue;
        }
        providers.push(book.charges());
    }
    let mut given: BTreeMap<&str, Vec<Price>> = BTreeMap::new();
    for (k, line) in raw.custom.iter().enumerate() {
        let path = format!("prices.custom[{k}]");
        let of = given.entry(line.provider.as_str()).or_default();
        let Some(price) = price(ctx, &path, line) else { continue };
        if of.iter().any(|own| own.item == price.item) {
            ctx.error(&path, format!("a price of {} for {} again", line.provider, words(price.item)), "each price once");
        } else {
            of.push(price);
        }
    }
    for (name, prices) in given {
        match providers.iter_mut().find(|own| own.name == name) {
            Some(provider) => replace(&mut provider.prices, prices),
            None => providers.push(Provider { name: name.to_owned(), region: None, prices }),
        }
    }
    if providers.is_empty() && raw.machine.is_some() {
        ctx.error("prices.books", "nothing", "a book to charge machines by; or a price in `prices.custom`");
    }
    let (nodes, volumes) = (nodes(ctx, scenario, members, machine), volumes(scenario, members));
    let mut prices = Prices { providers, machine, nodes, volumes };
    if !ctx.errors.is_empty() {
        return prices;
    }
    let missing: Vec<String> = prices.providers.iter().flat_map(|provider| missing(provider, &prices, kube)).collect();
    if raw.books.is_none() && raw.custom.is_empty() && raw.machine.is_none() {
        if let [first, ..] = &missing[..] {
            ctx.warn("prices", format!("{first}: no costs are computed"), format!("{PRICE_OF_IT}, or `books: []` for no costs"));
            prices.providers.clear();
        }
    } else {
        for found in missing {
            ctx.error("prices", found, PRICE_OF_IT);
        }
        prices.providers.iter().for_each(|provider| same_unit(ctx, provider));
    }
    prices
}

/// The nodes of the file: each is the etcd clusters' that have a member there, at any time.
fn nodes(ctx: &mut CheckCtx<'_>, raw: &RawScenario, members: &Members, machine: Option<Shape>) -> Vec<NodeCharge> {
    let mut etcd: Vec<Vec<EtcdId>> = vec![Vec::new(); raw.topology.nodes.len()];
    for (id, cluster) in members.clusters.iter_enumerated() {
        for member in &cluster.members {
            if let Some(of_node) = etcd.get_mut(usize::from(member.node)).filter(|of_node| of_node.last() != Some(&id)) {
                of_node.push(id);
            }
        }
    }
    let charge = |(n, etcd): (usize, Vec<EtcdId>)| {
        let path = format!("topology.nodes[{n}].machine");
        let own = raw.topology.nodes[n].machine.as_ref().and_then(|text| shape(ctx, &path, text));
        NodeCharge { shape: machine.or(own).unwrap_or(USUAL_NODE), etcd }
    };
    etcd.into_iter().enumerate().map(charge).collect()
}

/// The volumes of the file, and those that members of its etcd clusters have of their own.
fn volumes(raw: &RawScenario, members: &Members) -> Vec<VolumeCharge> {
    let named = raw.topology.volumes.iter().map(|volume| VolumeCharge { bytes: volume.size.0, from: Time::ZERO, etcd: None });
    let mut all: Vec<VolumeCharge> = named.collect();
    for ((id, lives), cluster) in members.lifetimes.iter_enumerated().zip(&raw.etcd) {
        for life in lives {
            let Some(volume) = life.volume else { continue };
            match all.get_mut(usize::from(volume)).filter(|_| usize::from(volume) < raw.topology.volumes.len()) {
                Some(named) => named.etcd = named.etcd.or(Some(id)),
                None => all.push(VolumeCharge { bytes: cluster.volume_size.0, from: life.from, etcd: Some(id) }),
            }
        }
    }
    all
}

/// The price that a line says, if it says one.
fn price(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawPrice) -> Option<Price> {
    let errors = ctx.errors.len();
    let units: &[Unit] = match raw.kind {
        PriceKind::Machine | PriceKind::LoadBalancerHours => &[Unit::Hour],
        PriceKind::Volume => &[Unit::GibMonth, Unit::DiskMonth],
        PriceKind::LoadBalancerBytes | PriceKind::CrossZoneOut | PriceKind::CrossZoneIn => &[Unit::Gb, Unit::Gib],
        PriceKind::BackupStorage => &[Unit::GibMonth],
        PriceKind::BackupRequests => &[Unit::Requests],
    };
    if !units.contains(&raw.unit) {
        let expected = format!("{} for {}", one_of(units.iter().map(|unit| unit.word())), raw.kind.word());
        ctx.error(&format!("{path}.unit"), quote(raw.unit.word()), expected);
    }
    if !is_date(&raw.date) {
        ctx.error(&format!("{path}.date"), quote(&raw.date), "a month or a day, such as \"2026-01\" or \"2026-01-31\"");
    }
    let place = format!("{path}.machine");
    let machine = match (&raw.machine, raw.kind) {
        (Some(text), PriceKind::Machine) => shape(ctx, &place, text),
        (None, PriceKind::Machine) => {
            ctx.error(&place, "nothing", format!("{SHAPE}: the shape of the machine"));
            None
        }
        (Some(text), _) => {
            ctx.error(&place, quote(text), format!("no value: {} is not a machine", raw.kind.word()));
            None
        }
        (None, _) => None,
    };
    let tiered = raw.unit == Unit::DiskMonth;
    match raw.up_to {
        Some(size) if !tiered => {
            ctx.error(&format!("{path}.up_to"), quoted(size), "no `up_to`: it is only for prices per disk-month");
        }
        None if tiered => ctx.error(&format!("{path}.up_to"), "nothing", "the size of the largest volume in this price tier"),
        Some(_) | None => {}
    }
    let item = match raw.kind {
        PriceKind::Machine => Item::Machine(machine?),
        PriceKind::Volume => Item::Volume { up_to: raw.up_to.map(|size| size.0) },
        PriceKind::LoadBalancerHours => Item::LoadBalancerHours,
        PriceKind::LoadBalancerBytes => Item::LoadBalancerBytes,
        PriceKind::CrossZoneOut => Item::CrossZoneOut,
        PriceKind::CrossZoneIn => Item::CrossZoneIn,
        PriceKind::BackupStorage => Item::BackupStorage,
        PriceKind::BackupRequests => Item::BackupRequests,
    };
    let (what, date, source) = (words(item).into(), raw.date.clone().into(), raw.source.clone().into());
    (ctx.errors.len() == errors).then_some(Price { item, what, usd: raw.usd, unit: raw.unit, date, source, check: Check::Given })
}

/// Prices that are given come instead of those of a book; of volumes instead of all of its tiers.
fn replace(book: &mut Vec<Price>, given: Vec<Price>) {
    let volumes = given.iter().any(|price| price.item.kind() == PriceKind::Volume);
    let again = |own: &Price| given.iter().any(|price| price.item == own.item);
    book.retain(|own| !(again(own) || volumes && own.item.kind() == PriceKind::Volume));
    book.extend(given);
}

/// What a provider has no price of. It charges everything that there is: what is free costs 0.
fn missing(provider: &Provider, prices: &Prices, kube: &KubeModel) -> Vec<String> {
    let name = &provider.name;
    let mut missing = Vec::new();
    let largest = prices.volume_sizes(kube).last().copied();
    for kind in PriceKind::ALL {
        let needed = match kind {
            // There is one for each shape of machine, below.
            PriceKind::Machine => false,
            PriceKind::Volume => !kube.seeds.is_empty() || largest.is_some(),
            PriceKind::LoadBalancerHours => !kube.seeds.is_empty(),
            PriceKind::CrossZoneOut | PriceKind::CrossZoneIn => true,
            PriceKind::LoadBalancerBytes | PriceKind::BackupStorage | PriceKind::BackupRequests => kube.has_shoots_in_use(),
        };
        if needed && provider.only(kind).is_none() {
            missing.push(format!("no price of {name} for {}", kind.word()));
        }
    }
    for shape in prices.shapes(kube).into_iter().filter(|shape| provider.machine(*shape).is_none()) {
        missing.push(format!("no price of {name} for a machine of {shape}"));
    }
    let tiers = provider.only(PriceKind::Volume).is_some();
    if let Some(bytes) = largest.filter(|bytes| tiers && provider.volume(*bytes).is_none()) {
        missing.push(format!("no price of {name} for a volume of {}", crate::units::Size(bytes)));
    }
    missing
}

/// What leaves a zone and what enters another is the same, counted once.
fn same_unit(ctx: &mut CheckCtx<'_>, provider: &Provider) {
    let name = &provider.name;
    let unit = |kind| provider.only(kind).map(|price| price.unit);
    if let (Some(out), Some(back)) = (unit(PriceKind::CrossZoneOut), unit(PriceKind::CrossZoneIn))
        && out != back
    {
        let found = format!("cross_zone_out of {name} per {} and cross_zone_in per {}", out.word(), back.word());
        ctx.error("prices", found, "prices per the same unit");
    }
}

fn shape(ctx: &mut CheckCtx<'_>, path: &str, text: &str) -> Option<Shape> {
    let shape = text.parse().ok();
    if shape.is_none() {
        ctx.error(path, quote(text), SHAPE);
    }
    shape
}

/// What a price is of, in words.
fn words(item: Item) -> String {
    match item {
        Item::Machine(shape) => format!("a machine of {shape}"),
        Item::Volume { up_to: None } => "a volume by size".to_owned(),
        Item::Volume { up_to: Some(most) } => format!("a volume of up to {}", crate::units::Size(most)),
        Item::LoadBalancerHours => "a load balancer".to_owned(),
        Item::LoadBalancerBytes => "bytes through a load balancer".to_owned(),
        Item::CrossZoneOut => "bytes to another zone".to_owned(),
        Item::CrossZoneIn => "bytes from another zone".to_owned(),
        Item::BackupStorage => "backups by size".to_owned(),
        Item::BackupRequests => "requests that upload backups".to_owned(),
    }
}

/// Whether a text is a month or a day, as far as its form goes.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let within = |part: &str, length, most: u32| {
        part.len() == length
            && part.bytes().all(|b| b.is_ascii_digit())
            && part.parse().is_ok_and(|n: u32| (1..=most).contains(&n))
    };
    match parts[..] {
        [year, month] => within(year, 4, 9_999) && within(month, 2, 12),
        [year, month, day] => within(year, 4, 9_999) && within(month, 2, 12) && within(day, 2, 31),
        _ => false,
    }
}
