mod damage;
pub(crate) mod economy;
mod encodings;
mod hubs;
mod merges;
mod round_trip;
mod rules;
