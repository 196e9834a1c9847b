//! The one integration binary. Natively it runs every test; in wasm those that hold wasm against native results.

mod portable;
#[cfg(not(target_arch = "wasm32"))]
mod schema;
