//! Transactions that several wallets make together, or one wallet in a form of its own.

use super::lock::{Lock, Size};
use super::payment::shuffle;
use super::utxo::{BuiltTransaction, NewOutput, Style, TakenCoin, UtxoBook};
use super::wallet::WalletId;
use crate::random::Stream;

/// The order in which inputs and outputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they are given.
    Given,
    /// By output spent and by amount (BIP 69).
    Sorted,
}

impl UtxoBook {
    /// Takes a coin of `low` to `high` satoshis out of a wallet.
    pub(crate) fn take(&mut self, wallet: WalletId, low: u64, high: u64) -> Option<TakenCoin> {
        let owner = &mut self.wallets[wallet.0];
        let (place, _) = owner.purse.between(low, high, owner.habits.coins).next()?;
        let coin = owner.purse.take(place)?;
        Some(TakenCoin { wallet, coin })
    }

    /// Takes coins of different addresses out of a wallet until they hold at least so much, at most `limit` of them;
    /// takes none when they do not.
    pub(crate) fn take_for(&mut self, wallet: WalletId, satoshis: u64, limit: usize) -> Option<Vec<TakenCoin>> {
        let mut taken = Vec::new();
        let mut held = 0;
        for (place, coin) in self.wallets[wallet.0].purse.liked() {
            let same = |(_, other): &&(_, super::purse::Coin)| other.key == coin.key;
            if coin.satoshis < 3_000 || taken.iter().find(same).is_some() {
                continue;
            }
            held += coin.satoshis;
            taken.push((place, coin));
            if held >= satoshis || taken.len() == limit {
                break;
            }
        }
        if held < satoshis {
            return None;
        }
        let purse = &mut self.wallets[wallet.0].purse;
        let coins = taken.iter().filter_map(|(place, _)| purse.take(*place));
        Some(coins.map(|coin| TakenCoin { wallet, coin }).collect())
    }

    /// Puts a coin back.
    pub(crate) fn give_back(&mut self, held: TakenCoin) {
        self.put(held);
    }

    /// Takes the coin that an output made out of its wallet.
    pub(crate) fn hold(&mut self, made: &BuiltTransaction, output: usize) -> Option<TakenCoin> {
        let (wallet, place) = made.coins.get(output).copied().flatten()?;
        let coin = self.wallets[wallet.0].purse.take(place)?;
        Some(TakenCoin { wallet, coin })
    }

    /// Returns what a transaction of these inputs and outputs would cost at the going rate.
    pub(crate) fn joint_fee(&self, now: i64, inputs: &[TakenCoin], outputs: &[Lock]) -> u64 {
        let add = |size: Size, held: &TakenCoin| {
            let lock = held.coin.key.lock();
            size.input(lock, 72 * lock.signatures())
        };
        let size = inputs.iter().fold(Size::default(), add);
        outputs.iter().fold(size, |size, &lock| size.locked(lock)).fee(self.rate(now))
    }

    /// Returns what one wallet's transaction of these inputs and outputs costs, as its software finds fees.
    pub(crate) fn own_fee(&self, now: i64, wallet: WalletId, inputs: &[TakenCoin], outputs: &[NewOutput]) -> u64 {
        let habits = &self.wallets[wallet.0].habits;
        let add = |size: Size, held: &TakenCoin| {
            let lock = held.coin.key.lock();
            size.input(lock, habits.max_signature_bytes(lock))
        };
        let size = inputs.iter().fold(Size::default(), add);
        let size = outputs.iter().fold(size, |size, out| out.sized(size));
        habits.fee(size.fee(habits.rate(self.rate(now))))
    }

    /// Spends the coins of several wallets together. In sorted order the places of the coins made follow the outputs as
    /// they are; `change` names the outputs, as given, that are change.
    pub(crate) fn join(
        &mut self,
        now: i64,
        (mut inputs, outputs): (Vec<TakenCoin>, Vec<NewOutput>),
        style: Style,
        order: Order,
        change: &[usize],
    ) -> BuiltTransaction {
        self.advance(now);
        let mut places: Vec<_> = (0..outputs.len()).collect();
        if order == Order::Sorted {
            inputs.sort_by_key(|held| {
                let point = self.point(held.coin);
                (point.hash, point.index)
            });
            places.sort_by_key(|&at| {
                let script = outputs[at].address.as_ref().map(super::lock::locking_script);
                (outputs[at].satoshis, script)
            });
        }
        let ordered: Vec<_> = places.iter().map(|&at| outputs[at].clone()).collect();
        let made = self.spend(&inputs, &ordered, style);
        for (number, at) in (0..).zip(&places) {
            if change.contains(at) {
                self.note_change(made.hash, number);
            }
        }
        made
    }

    /// Returns how a wallet writes a transaction now.
    pub(crate) fn written_by(&mut self, wallet: WalletId) -> Style {
        self.style(wallet)
    }

    /// Mixes a list up.
    pub(crate) fn shuffled<T>(mut list: Vec<T>, stream: &mut Stream) -> Vec<T> {
        shuffle(&mut list, stream);
        list
    }
}
