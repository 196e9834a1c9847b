//! What a scenario says must come out.

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation;
