//! The byte form of facts that a trace hash is taken over, with explicit tags.
//!
//! ```text
//! traced! { enum Fact { Created = 0, Bound(node) = 1 } }      Fact::Bound(7) --trace--> 01 07
//! ```
//!
//! Each subsystem declares the form of its facts beside their types. A variant of an enum is its tag, one byte, followed by its fields.
//! Variants can therefore be reordered, renamed, inserted anywhere and moved to another enum: as long as the tag stays, the bytes and
//! the hash stay. An unsigned integer takes 7 bits per byte, the lowest first, with the highest bit set in all bytes but the last
//! (LEB128, as in `postcard` and `protobuf`). A `bool` is one byte. An `Option` is one byte and, if it is `Some`, the value. A struct is
//! its fields. Nothing depends on the width of `usize`.

use crate::time::Duration;

/// The bytes of one fact. The buffer can be used again for the next fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    bytes: Vec<u8>,
    declared_width: bool,
}

impl Form {
    /// Adds one byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Adds these bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds an unsigned integer: 7 bits per byte, the lowest first.
    pub fn varint(&mut self, mut value: u64) {
        while value > 0x7F {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// Lets `write` add integers at their declared width, the lowest byte first: the form of facts that are older than LEB128 here.
    pub fn at_declared_width(&mut self, write: impl FnOnce(&mut Self)) {
        self.declared_width = true;
        write(self);
        self.declared_width = false;
    }

    fn integer(&mut self, value: u64, width: usize) {
        if self.declared_width {
            self.bytes(&value.to_le_bytes()[..width]);
        } else {
            self.varint(value);
        }
    }

    /// The bytes added since the last [`Form::clear`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes all bytes and keeps the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// A fact, or a part of one, with a byte form.
pub trait Traced {
    /// Adds the byte form to `form`.
    fn trace(&self, form: &mut Form);
}

impl Traced for bool {
    fn trace(&self, form: &mut Form) {
        form.byte(u8::from(*self));
    }
}

impl Traced for u8 {
    fn trace(&self, form: &mut Form) {
        form.byte(*self);
    }
}

impl Traced for u16 {
    fn trace(&self, form: &mut Form) {
        form.integer(u64::from(*self), 2);
    }
}

impl Traced for u32 {
    fn trace(&self, form: &mut Form) {
        form.integer(u64::from(*self), 4);
    }
}

impl Traced for u64 {
    fn trace(&self, form: &mut Form) {
        form.integer(*self, 8);
    }
}

impl Traced for f64 {
    /// Traces its bits as an integer.
    fn trace(&self, form: &mut Form) {
        form.integer(self.to_bits(), 8);
    }
}

impl Traced for Duration {
    /// Traces it as nanoseconds.
    fn trace(&self, form: &mut Form) {
        form.integer(self.as_nanos(), 8);
    }
}

impl<T: Traced> Traced for Option<T> {
    fn trace(&self, form: &mut Form) {
        form.byte(u8::from(self.is_some()));
        if let Some(value) = self {
            value.trace(form);
        }
    }
}

/// Declares the byte form of an enum by the tag of each variant, or that of structs by their fields in order.
///
/// ```
/// use zonefall_kernel::traced;
/// use zonefall_kernel::traced::{Form, Traced};
///
/// struct Node(u32);
/// enum Fact {
///     Created,
///     Bound(Node),
///     Started { restarts: u64 },
/// }
/// traced! { struct Node { 0 } }
/// traced! { enum Fact { Created = 0, Bound(node) = 2, Started { restarts } = 1 } }
///
/// let mut form = Form::default();
/// for fact in [Fact::Created, Fact::Bound(Node(7)), Fact::Started { restarts: 300 }] {
///     fact.trace(&mut form);
/// }
/// assert_eq!(form.as_bytes(), [0, 2, 7, 1, 0xAC, 2]);
/// ```
///
/// A declaration that leaves out a variant or a field does not compile, nor does one with the same tag twice:
///
/// ```compile_fail,E0081
/// enum Verb {
///     Read,
///     Write,
/// }
/// zonefall_kernel::traced! { enum Verb { Read = 0, Write = 0 } }
/// ```
#[macro_export]
macro_rules! traced {
    (enum $name:ident { $($variant:ident $(($($item:ident),+))? $({ $($field:ident),+ })? = $tag:literal),+ $(,)? }) => {
        impl $crate::traced::Traced for $name {
            fn trace(&self, form: &mut $crate::traced::Form) {
                // The compiler refuses equal discriminants, hence equal tags.
                #[repr(u8)]
                enum Tag {
                    $($variant = $tag),+
                }
                match self {
                    $(Self::$variant $(($($item),+))? $({ $($field),+ })? => {
                        form.byte(Tag::$variant as u8);
                        $($($crate::traced::Traced::trace($item, form);)+)?
                        $($($crate::traced::Traced::trace($field, form);)+)?
                    })+
                }
            }
        }
    };
    ($(struct $name:ident { $($field:tt),+ $(,)? })+) => {
        $(impl $crate::traced::Traced for $name {
            fn trace(&self, form: &mut $crate::traced::Form) {
                // The compiler refuses a pattern without all fields.
                let Self { $($field: _),+ } = self;
                $($crate::traced::Traced::trace(&self.$field, form);)+
            }
        })+
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_options_and_lengths_of_time_have_the_form_that_is_documented() {
        let check = |value: &dyn Traced, expected: &[u8]| {
            let mut form = Form::default();
            value.trace(&mut form);
            assert_eq!(form.as_bytes(), expected);
        };
        check(&0_u64, &[0]);
        check(&127_u16, &[0x7F]);
        check(&128_u16, &[0x80, 1]);
        check(&16_384_u32, &[0x80, 0x80, 1]);
        check(&u32::MAX, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
        check(&u64::MAX, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]);
        check(&2.0_f64, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]);
        check(&200_u8, &[200]);
        check(&true, &[1]);
        check(&None::<u16>, &[0]);
        check(&Some(300_u16), &[1, 0xAC, 2]);
        check(&Duration::from_micros(1), &[0xE8, 7]);
    }

    #[test]
    fn integers_at_their_declared_width_have_the_lowest_byte_first() {
        let mut form = Form::default();
        form.at_declared_width(|form| {
            300_u16.trace(form);
            Some(1_u32).trace(form);
            1.0_f64.trace(form);
        });
        300_u16.trace(&mut form);
        assert_eq!(form.as_bytes(), [0x2C, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0xAC, 2]);
    }

    #[test]
    fn cleared_form_holds_only_what_is_added_next() {
        let mut form = Form::default();
        form.bytes(&[1, 2]);
        form.clear();
        form.byte(3);
        assert_eq!(form.as_bytes(), [3]);
    }
}
