//! The one integration binary. Natively it runs every test; in wasm those that hold wasm against native results.

#[cfg(not(target_arch = "wasm32"))]
mod measurements;
mod portable;
#[cfg(not(target_arch = "wasm32"))]
mod scenarios;
