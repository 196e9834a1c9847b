//! The one integration binary. Natively it runs every test; in wasm those that hold wasm against native results.

#[cfg(not(target_arch = "wasm32"))]
mod dice;
#[cfg(not(target_arch = "wasm32"))]
mod flows;
#[cfg(not(target_arch = "wasm32"))]
mod fuzz;
#[cfg(not(target_arch = "wasm32"))]
mod in_flight;
#[cfg(not(target_arch = "wasm32"))]
mod kube;
#[cfg(not(target_arch = "wasm32"))]
mod measurements;
#[cfg(not(target_arch = "wasm32"))]
mod modes;
#[cfg(not(target_arch = "wasm32"))]
mod money;
#[cfg(not(target_arch = "wasm32"))]
mod oracles;
mod portable;
#[cfg(not(target_arch = "wasm32"))]
mod scenarios;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
#[cfg(not(target_arch = "wasm32"))]
mod validation;
