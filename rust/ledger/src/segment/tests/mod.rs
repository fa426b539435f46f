mod damage;
pub(crate) mod economy;
mod hubs;
mod merges;
mod reading;
mod round_trip;
mod rules;
