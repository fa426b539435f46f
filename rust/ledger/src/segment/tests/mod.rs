mod damage;
pub(crate) mod economy;
mod round_trip;
mod rules;
