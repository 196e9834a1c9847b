//! The one integration binary.

mod api_availability;
mod availability;
mod capacity;
mod cost;
mod flows;
mod fuzz;
mod in_flight;
mod kube;
mod logs;
mod measurements;
mod modes;
mod old_names;
mod oracles;
mod over_zones;
mod portable;
mod replications;
mod runs;
mod scenarios;
mod sixty_five_pools;
mod validation;
mod worlds;
mod zonal_shift;
