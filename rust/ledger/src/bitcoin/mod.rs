//! Views and shapes of Bitcoin transactions.
//!
//! * [`TransactionView`]: a transaction as rules read it.
//! * [`coinjoin`]: whether several people made it together, by its shape.
//!
//! Both are pure functions of [`crate::facts`]. What follows from them is judged elsewhere; they are here because
//! [`crate::clusters`] links nobody through a CoinJoin.

pub mod coinjoin;
mod view;

pub(crate) use self::view::DUST_BELOW;
pub use self::view::TransactionView;
