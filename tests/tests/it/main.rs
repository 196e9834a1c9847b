//! The one integration binary. Natively it runs every test; in wasm those that hold wasm against native results.

mod portable;
