//! Alternative services (RFC 7838), as the enhancement Resilient Control Plane Networking has them: each API server tells its clients the
//! addresses of all, and a client goes straight to one of them.
//!
//! ```text
//!  server: endpoints of `kubernetes` --> [advertiser] --Alt-Svc: h2="10.0.0.2:6443"; ma=600, ...--> client
//!  client: [header] --> [alternatives] --> [selection] --attempt--> answer --> [client]: return it, or block and choose again
//! ```
//!
//! The rules exist twice: as the document has them and as its prototype does ([`Rules`]). Addresses are of any type that tells one from
//! another: text in a header, something smaller in a simulation.

pub mod advertiser;
pub mod alternatives;
pub mod authority;
pub mod client;
pub mod header;
mod rules;
pub mod selection;
#[cfg(test)]
mod tests;

pub use rules::Rules;
