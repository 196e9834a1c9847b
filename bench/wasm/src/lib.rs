//! The work that is timed both natively and in wasm: the same code, called as a library here and through exports there.
//!
//! The exports take and give plain numbers, so that neither glue code nor a tool to make it is needed: `run.mjs` loads the module,
//! calls one of them and prints the time and the result, which must be the native one.

pub mod engine;
pub mod mm1;

/// [`mm1::run`] with `customers`; its checksum.
#[expect(unsafe_code, reason = "an export's name must not be mangled; no other function is called so")]
#[unsafe(no_mangle)]
pub extern "C" fn queueing(customers: u32) -> u64 {
    mm1::run(u64::from(customers)).checksum
}

/// [`engine::run`] over the first `seconds` of the bundled zone outage; its checksum.
#[expect(unsafe_code, reason = "an export's name must not be mangled; no other function is called so")]
#[unsafe(no_mangle)]
pub extern "C" fn outage(seconds: u32) -> u64 {
    engine::run(&engine::zone_outage(), u64::from(seconds), engine::Stepping::EveryEvent).checksum
}
