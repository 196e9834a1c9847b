//! The one integration binary.

mod flows;
mod fuzz;
mod in_flight;
mod kube;
mod measurements;
mod modes;
mod money;
mod oracles;
mod portable;
mod scenarios;
mod validation;
mod worlds;
