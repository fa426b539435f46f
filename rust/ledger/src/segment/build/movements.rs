//! Movements as the accounts see them: one entry per movement and side, in order of rows, kinds and ordinals.

use std::collections::HashMap;

use headwater_types::{Address, Amount, Asset};

use super::assets::Assets;
use super::dictionary::Dictionary;
use super::ordinals;
use crate::facts::{MovementFact, TransactionFacts, UtxoFacts};
use crate::read::{MovementKind, Ordinal, Status};
use crate::segment::column::NONE;
use crate::segment::layout::posting;

/// One posting to be.
pub(super) struct Entry {
    pub(super) account: u32,
    pub(super) row: u32,
    pub(super) other: u32,
    pub(super) asset: u32,
    pub(super) flags: u8,
    pub(super) ordinal: u64,
    pub(super) amount: Amount,
}

/// Makes entries; counts movements on the way.
pub(super) struct Movements<'a> {
    dictionary: &'a Dictionary,
    assets: &'a Assets,
    pub(super) entries: Vec<Entry>,
    pub(super) count: u64,
}

struct Sides {
    from: Option<Address>,
    to: Option<Address>,
}

impl<'a> Movements<'a> {
    pub(super) fn new(dictionary: &'a Dictionary, assets: &'a Assets) -> Self {
        Self { dictionary, assets, entries: Vec::new(), count: 0 }
    }

    /// All movements of one transaction.
    pub(super) fn add(&mut self, row: u32, transaction: &TransactionFacts) {
        let status = match transaction.status {
            Some(Status::Success) => posting::SUCCESS,
            Some(Status::Failed) => posting::FAILED,
            // What no transaction made cannot fail, and no UTXO transaction in a block can.
            None if transaction.utxo.is_some() || transaction.hash.is_made() => posting::SUCCESS,
            None => 0,
        };
        if let Some(body) = &transaction.body {
            let creates = body.from.is_some() && body.to.is_none();
            let sides = Sides { from: body.from, to: body.to.or(transaction.created) };
            let flags = kind_bits(MovementKind::Native) | status | if creates { posting::CREATES } else { 0 };
            self.sides(row, &sides, Asset::Native, flags, 0, body.value);
        }
        self.facts(row, transaction, status);
        if let Some(utxo) = &transaction.utxo {
            self.net_changes(row, utxo, status);
        }
    }

    fn facts(&mut self, row: u32, transaction: &TransactionFacts, status: u8) {
        if transaction.movements.is_empty() {
            return;
        }
        let numbers = ordinals::numbers(transaction);
        let mut ordered: Vec<_> = transaction
            .movements
            .iter()
            .zip(numbers)
            .filter_map(|(movement, number)| {
                let kind = match movement.kind {
                    MovementFact::Internal => MovementKind::Internal,
                    MovementFact::Token => MovementKind::Token,
                    MovementFact::NonFungible => return None,
                };
                let unindexed = matches!(movement.ordinal, Ordinal::Unindexed(_));
                Some((kind, unindexed, number, movement))
            })
            .collect();
        ordered.sort_by_key(|&(kind, unindexed, number, _)| (kind, unindexed, number));
        for (kind, unindexed, number, movement) in ordered {
            let flags = kind_bits(kind) | status | if unindexed { posting::UNINDEXED } else { 0 };
            let sides = Sides { from: movement.from, to: movement.to };
            self.sides(row, &sides, movement.asset, flags, number, movement.amount);
        }
    }

    fn sides(&mut self, row: u32, sides: &Sides, asset: Asset, flags: u8, ordinal: u64, amount: Amount) {
        self.count += 1;
        let asset = self.assets.id(&asset);
        let from = sides.from.map(|address| self.dictionary.id(&address));
        let to = sides.to.map(|address| self.dictionary.id(&address));
        let mut push = |account: Option<u32>, other: Option<u32>, direction: u8| {
            if let Some(account) = account {
                let other = other.unwrap_or(NONE);
                self.entries.push(Entry { account, row, other, asset, flags: flags | direction, ordinal, amount });
            }
        };
        if from == to {
            push(from, to, posting::OWN);
        } else {
            push(from, to, posting::OUT);
            push(to, from, posting::IN);
        }
    }

    /// One entry per address: what the transaction changed for it.
    fn net_changes(&mut self, row: u32, utxo: &UtxoFacts, status: u8) {
        let mut places: HashMap<Address, usize> = HashMap::new();
        let mut sums: Vec<(Address, u128, u128)> = Vec::new();
        let spent = utxo.inputs.iter().filter_map(|input| input.spent.as_ref()).map(|output| (output, true));
        let made = utxo.outputs.iter().map(|output| (output, false));
        for (output, is_spent) in spent.chain(made) {
            let Some(owner) = output.owner else { continue };
            let place = *places.entry(owner).or_insert_with(|| {
                sums.push((owner, 0, 0));
                sums.len() - 1
            });
            let (_, gone, come) = &mut sums[place];
            *(if is_spent { gone } else { come }) += u128::from(output.amount);
        }
        for (ordinal, (owner, gone, come)) in sums.into_iter().enumerate() {
            let direction = match come.cmp(&gone) {
                std::cmp::Ordering::Greater => posting::IN,
                std::cmp::Ordering::Less => posting::OUT,
                std::cmp::Ordering::Equal => posting::OWN,
            };
            self.count += 1;
            self.entries.push(Entry {
                account: self.dictionary.id(&owner),
                row,
                other: NONE,
                asset: 0,
                flags: kind_bits(MovementKind::Utxo) | status | direction,
                ordinal: ordinal as u64,
                amount: Amount::from_u128(come.abs_diff(gone)),
            });
        }
    }
}

const fn kind_bits(kind: MovementKind) -> u8 {
    match kind {
        MovementKind::Native => 0,
        MovementKind::Internal => 1,
        MovementKind::Token => 2,
        MovementKind::Utxo => 3,
    }
}
