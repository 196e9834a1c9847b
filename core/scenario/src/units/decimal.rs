//! Exact decimals: what is written is what is meant, without a detour through floating point.

/// A number as written: `digits / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u128,
    places: u32,
}

/// More digits than any unit here can need.
const MAX_DIGITS: usize = 20;

impl Decimal {
    /// The number at the start of `text` and what follows it.
    pub(super) fn prefix(text: &str) -> Result<(Self, &str), String> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = !whole.is_empty() && !fraction.is_empty() && !fraction.contains('.');
        if !is_number {
            return Err(match text.chars().next() {
                Some('-') => "it is negative".to_owned(),
                Some(_) => format!("a number was due at {:?}", shorten(text)),
                None => "the number is missing".to_owned(),
            });
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        if digits.len() > MAX_DIGITS {
            return Err("it has too many digits".to_owned());
        }
        let digits = digits.parse().map_err(|_| "it has too many digits".to_owned())?;
        Ok((Self { digits, places: fraction.len() as u32 }, rest))
    }

    /// As a percentage: the nearest float, for up to fifteen digits.
    pub(super) fn percent(self) -> f64 {
        self.digits as f64 / 10_u128.pow(self.places + 2) as f64
    }

    /// This many `unit`s, where that is a whole number.
    pub(super) fn times(self, unit: u128) -> Result<u128, String> {
        let product = self.digits.checked_mul(unit).ok_or("it is too large")?;
        let scale = 10_u128.pow(self.places);
        if product.is_multiple_of(scale) { Ok(product / scale) } else { Err("it is finer than the smallest unit".to_owned()) }
    }
}

/// `value / unit` with at most `places` decimals, where that is exact.
pub(super) fn render(value: u128, unit: u128, places: u32) -> Option<String> {
    let scale = 10_u128.pow(places);
    let scaled = value.checked_mul(scale)?;
    if !scaled.is_multiple_of(unit) {
        return None;
    }
    let scaled = scaled / unit;
    let (whole, fraction) = (scaled / scale, scaled % scale);
    if fraction == 0 {
        return Some(whole.to_string());
    }
    let decimals = format!("{fraction:0width$}", width = places as usize);
    Some(format!("{whole}.{}", decimals.trim_end_matches('0')))
}

/// `value` in the unit that needs the fewest characters, a decimal point being worse than none; of equals, the first. The last unit must be 1.
pub(super) fn shortest(value: u128, units: &[(&str, u128)]) -> String {
    let mut best: Option<((usize, bool), String)> = None;
    for (unit, size) in units {
        let Some(number) = render(value, *size, 3) else { continue };
        let cost = (number.len(), number.contains('.'));
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, format!("{number}{unit}")));
        }
    }
    best.map_or_else(|| value.to_string(), |(_, text)| text)
}

/// The unit at the start of `text` (letters and `/`) and what follows it.
pub(super) fn unit_prefix(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphabetic() && c != '/').unwrap_or(text.len()))
}

/// The size of a unit, or an error that lists those there are.
pub(super) fn unit_size(unit: &str, units: &[(&str, u128)]) -> Result<u128, String> {
    if let Some((_, size)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(*size);
    }
    let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    let known = known.join(", ");
    Err(if unit.is_empty() {
        format!("its unit is missing ({known})")
    } else {
        format!("{:?} is no unit ({known})", shorten(unit))
    })
}

fn shorten(text: &str) -> String {
    if text.chars().count() > 20 { text.chars().take(19).chain(['…']).collect() } else { text.to_owned() }
}

/// `number unit`, nothing after it.
pub(super) fn single(text: &str, units: &[(&str, u128)]) -> Result<u128, String> {
    let (number, rest) = Decimal::prefix(text)?;
    let (unit, rest) = unit_prefix(rest);
    if !rest.is_empty() {
        return Err(format!("nothing may follow the unit, found {:?}", shorten(rest)));
    }
    number.times(unit_size(unit, units)?)
}
