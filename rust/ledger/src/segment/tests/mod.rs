mod damage;
mod encodings;
mod hubs;
pub(crate) mod economy;
mod round_trip;
mod rules;
