//! The mixer of bitcoin as its customers see it: it takes coins in custody and pays others out later.

use std::collections::BTreeMap;

use headwater_types::{Address, TxHash};

use super::World;
use crate::book::{Insufficient, PaymentOutcome, WalletId};

/// The mixer as its customers see it.
#[derive(Default)]
pub(crate) struct Tumbler {
    pub(crate) wallet: Option<WalletId>,
    /// The orders to be paid out, by time and number of the order.
    pub(crate) orders: BTreeMap<(i64, u64), Order>,
    taken: u64,
}

/// An order to be paid out.
pub(crate) struct Order {
    pub(crate) to: Address,
    pub(crate) satoshis: u64,
    pub(crate) pool: Address,
    pub(crate) deposit: TxHash,
    pub(crate) depositor: Address,
}

impl World {
    /// Pays into the mixer; it pays `to` after a delay of hours or days. Gives the payment and where it went.
    pub(crate) fn tumble(
        &mut self,
        now: i64,
        wallet: WalletId,
        (satoshis, delay_secs): (u64, i64),
        to: Address,
    ) -> Result<(PaymentOutcome, Address), Insufficient> {
        let mixer = self.tumbler.wallet.ok_or(Insufficient)?;
        let pool = self.bitcoin.receiving(mixer);
        let paid = self.bitcoin.pay(now, wallet, &[(pool, satoshis)])?;
        // A commission of 1.5 to 3 %, so that amounts do not show who is who.
        let commission = satoshis / 1_000 * (15 + satoshis % 16);
        self.tumbler.taken += 1;
        let order = Order { to, satoshis: satoshis - commission, pool, deposit: paid.hash, depositor: paid.from[0] };
        self.tumbler.orders.insert((now + delay_secs, self.tumbler.taken), order);
        Ok((paid, pool))
    }
}
