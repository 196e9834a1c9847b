//! How quantities appear in JSON and in its schema.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use super::int_or_percent::IntOrPercent;
use super::{Bandwidth, Name, Probability, Quantity, Rate, Size, Span};

/// Serde, schema and `Debug` of a quantity that is a JSON string.
macro_rules! json_text {
    ($type:ident, $description:literal) => {
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(|why| D::Error::custom(format!("expected {}: {why}", Self::EXPECTED)))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": $description,
                    "type": "string",
                    "x-unit": Self::UNIT,
                    "pattern": Self::PATTERN,
                    "examples": [Self::EXAMPLE],
                })
            }
        }
    };
}

json_text!(Span, "A length of time with its unit: \"2m\", \"1.3s\", \"1h30m\", \"500us\", \"2d\".");
json_text!(Size, "An amount of data with its unit: \"8B\", \"1KiB\", \"512MiB\", \"5.1GB\".");
json_text!(Bandwidth, "A throughput with its unit: \"1Gbit/s\", \"120MiB/s\".");
json_text!(Rate, "Events per time: \"100/s\", \"6/min\", \"0.5/h\".");
json_text!(Name, "Letters, digits, \".\", \"_\" and \"-\".");

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Probability;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability, 0 to 1 or \"0%\" to \"100%\"")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Probability, E> {
                if (0.0..=1.0).contains(&value) {
                    Ok(Probability(value))
                } else {
                    Err(E::custom("a probability is between 0 and 1"))
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A probability: 0.01 or \"1%\".",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "x-unit": "percentage", "pattern": r"^[0-9]+(\.[0-9]+)?%$", "examples": ["1%"]},
            ],
        })
    }
}

/// The comparable amount of `text` as a quantity of the schema's `x-unit`, or why it is none.
pub(crate) fn base_of(unit: &str, text: &str) -> Result<u128, String> {
    fn base<Q: Quantity>(text: &str) -> Result<u128, String> {
        text.parse::<Q>().map(|quantity| quantity.base())
    }
    match unit {
        Span::UNIT => base::<Span>(text),
        Size::UNIT => base::<Size>(text),
        Bandwidth::UNIT => base::<Bandwidth>(text),
        Rate::UNIT => base::<Rate>(text),
        Name::UNIT => base::<Name>(text),
        IntOrPercent::UNIT => base::<IntOrPercent>(text),
        "percentage" => text.parse::<Probability>().map(|part| (part.0 * 1e9).round() as u128),
        other => Err(format!("no such unit: {other}")),
    }
}

/// What to write where the schema's `x-unit` is this.
pub(crate) fn expected_of(unit: &str) -> &'static str {
    match unit {
        Span::UNIT => Span::EXPECTED,
        Size::UNIT => Size::EXPECTED,
        Bandwidth::UNIT => Bandwidth::EXPECTED,
        Rate::UNIT => Rate::EXPECTED,
        Name::UNIT => Name::EXPECTED,
        IntOrPercent::UNIT => IntOrPercent::EXPECTED,
        _ => "a percentage such as \"1%\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_percentages_have_no_fraction() {
        assert!(base_of(IntOrPercent::UNIT, "25%").is_ok() && base_of(IntOrPercent::UNIT, "2.5%").is_err());
    }
}
