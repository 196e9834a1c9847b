//! A number of things, or a percentage of how many there are (`apimachinery/pkg/util/intstr`).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use super::Quantity;

/// `3`, or `"25%"` of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOrPercent {
    /// So many.
    Int(u32),
    /// So many hundredths; more than a hundred is more than there is.
    Percent(u32),
}

impl IntOrPercent {
    /// Whether it is none, however many there are.
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Int(0) | Self::Percent(0))
    }

    /// How many of `total` that is, a fraction left out.
    pub const fn of_rounded_down(self, total: u32) -> u32 {
        match self {
            Self::Int(number) => number,
            Self::Percent(percent) => saturated(percent as u64 * total as u64 / 100),
        }
    }

    /// How many of `total` that is, a fraction counted as one.
    pub const fn of_rounded_up(self, total: u32) -> u32 {
        match self {
            Self::Int(number) => number,
            Self::Percent(percent) => saturated((percent as u64 * total as u64).div_ceil(100)),
        }
    }
}

const fn saturated(number: u64) -> u32 {
    if number > u32::MAX as u64 { u32::MAX } else { number as u32 }
}

impl FromStr for IntOrPercent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').ok_or("a percentage ends with %")?;
        if number.is_empty() || number.contains(|c: char| !c.is_ascii_digit()) {
            return Err("a whole number must stand before %".to_owned());
        }
        number.parse().map(Self::Percent).map_err(|_| "it is too large".to_owned())
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Quantity for IntOrPercent {
    const UNIT: &'static str = "whole percentage";
    const EXPECTED: &'static str = "a whole percentage such as \"25%\"";
    const PATTERN: &'static str = "^[0-9]+%$";
    const EXAMPLE: &'static str = "25%";
    fn base(&self) -> u128 {
        match self {
            Self::Int(number) | Self::Percent(number) => u128::from(*number),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_u32(*number),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = IntOrPercent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number, or {}", IntOrPercent::EXPECTED)
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<IntOrPercent, E> {
                u32::try_from(value).map(IntOrPercent::Int).map_err(|_| E::custom("it is too large"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<IntOrPercent, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for IntOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or a percentage of what there is: 3 or \"25%\".",
            "anyOf": [
                {"type": "integer", "format": "uint32", "minimum": 0},
                {"type": "string", "x-unit": Self::UNIT, "pattern": Self::PATTERN, "examples": [Self::EXAMPLE]},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::IntOrPercent::{Int, Percent};
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        for (json, value) in [("3", Int(3)), ("0", Int(0)), ("\"25%\"", Percent(25)), ("\"150%\"", Percent(150))] {
            assert_eq!(serde_json::from_str::<IntOrPercent>(json).ok(), Some(value), "{json}");
            assert_eq!(serde_json::to_string(&value).ok().as_deref(), Some(json));
        }
        for json in ["-1", "1.5", "4294967296", "\"3\"", "\"%\"", "\"2.5%\"", "\"+1%\"", "\"25 %\"", "\"4294967296%\"", "null"] {
            assert!(serde_json::from_str::<IntOrPercent>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn percentages_are_rounded_as_asked() {
        for (value, total, down, up) in
            [(Int(3), 1, 3, 3), (Percent(25), 4, 1, 1), (Percent(25), 3, 0, 1), (Percent(25), 10, 2, 3), (Percent(0), 10, 0, 0)]
        {
            assert_eq!((value.of_rounded_down(total), value.of_rounded_up(total)), (down, up), "{value} of {total}");
        }
        assert_eq!(Percent(u32::MAX).of_rounded_up(u32::MAX), u32::MAX);
    }
}
