//! Labels: claims of sources about addresses.
//!
//! A [`Claim`] is what one source says of one address, with where it says so, how far it is believed and when it held.
//! Claims that contradict each other are kept side by side; what they come to is computed when asked.

mod claim;
mod code;
mod entity;
mod level;

pub use claim::{Action, Claim, Scope};
pub use code::{Business, Category, Code};
pub use entity::{entity_key, entity_name};
pub use level::{Level, Link};
