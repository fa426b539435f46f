//! Addresses to account ids: all addresses of the segment in order of their keys.

use std::collections::HashMap;

use headwater_types::{Address, Family};
use rayon::prelude::*;

use super::columns::id;
use crate::LedgerError;
use crate::facts::TransactionFacts;
use crate::read::Result;
use crate::segment::SegmentInput;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{
    ACCOUNT_FENCES, ACCOUNT_FLAGS, ACCOUNT_KEY_STARTS, ACCOUNT_KEYS, ACCOUNT_TEXT_ORDER, FENCE_STEP, account, prefix,
};

/// All addresses of a segment.
pub(super) struct Dictionary {
    addresses: Vec<Address>,
    ids: HashMap<Address, u32>,
    flags: Vec<u8>,
}

impl Dictionary {
    pub(super) fn collect(input: &SegmentInput) -> Result<Self> {
        let mut ids: HashMap<Address, u32> = HashMap::new();
        let mut foreign = None;
        let mut see = |address: &Address| {
            if foreign.is_none() {
                foreign = foreignness(input, address);
            }
            ids.entry(*address).or_insert(0);
        };
        for transaction in &input.transactions {
            each_address(transaction, &mut see);
        }
        input.contracts.iter().for_each(&mut see);
        input.tokens.iter().for_each(|token| see(&token.contract));
        if let Some(error) = foreign {
            return Err(error);
        }
        let mut addresses: Vec<Address> = ids.keys().copied().collect();
        addresses.par_sort_unstable_by(|a, b| a.key().as_slice().cmp(b.key().as_slice()));
        id(addresses.len(), "addresses")?;
        for (place, address) in addresses.iter().enumerate() {
            ids.insert(*address, id(place, "addresses")?);
        }
        let flags = vec![0; addresses.len()];
        let mut dictionary = Self { addresses, ids, flags };
        dictionary.mark_contracts(input);
        Ok(dictionary)
    }

    fn mark_contracts(&mut self, input: &SegmentInput) {
        for contract in &input.contracts {
            self.mark(contract, account::STATED);
        }
        for token in &input.tokens {
            self.mark(&token.contract, account::IMPLIED);
        }
        for transaction in &input.transactions {
            let created = transaction.created.filter(|_| transaction.status != Some(crate::read::Status::Failed));
            let assets = transaction.movements.iter().filter_map(|movement| movement.asset.contract());
            let emitters = transaction.logs.iter().map(|log| &log.address);
            for address in created.iter().chain(assets).chain(emitters) {
                self.mark(address, account::IMPLIED);
            }
        }
    }

    fn mark(&mut self, address: &Address, bit: u8) {
        let id = self.id(address);
        self.flags[id as usize] |= bit;
    }

    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }

    pub(super) fn id(&self, address: &Address) -> u32 {
        self.ids[address]
    }

    pub(super) fn put(&self, out: &mut ContainerWriter, family: Family) {
        let mut keys = Vec::with_capacity(self.addresses.len() * 20);
        let mut starts = vec![0_u64];
        let mut fences = Vec::new();
        for (place, address) in self.addresses.iter().enumerate() {
            let key = address.key();
            if place % FENCE_STEP == 0 {
                fences.push(prefix(key.as_slice()));
            }
            keys.extend_from_slice(key.as_slice());
            starts.push(keys.len() as u64);
        }
        out.put(ACCOUNT_KEYS, &keys);
        out.put(ACCOUNT_FENCES, &fences);
        out.put(ACCOUNT_FLAGS, &self.flags);
        match family {
            // Keys of 20 bytes, whose text is ordered like them: hex, or Base58 of numbers of one length.
            Family::Evm | Family::Tron => {
                out.put(ACCOUNT_KEY_STARTS, &[]);
                out.put(ACCOUNT_TEXT_ORDER, &[]);
            }
            Family::Utxo => {
                out.put(ACCOUNT_KEY_STARTS, &starts);
                out.put(ACCOUNT_TEXT_ORDER, &self.text_order());
            }
        }
    }

    fn text_order(&self) -> Vec<u32> {
        let mut texts: Vec<(String, u32)> =
            self.addresses.par_iter().map(|address| (address.to_string(), self.id(address))).collect();
        texts.par_sort_unstable();
        texts.into_iter().map(|(_, id)| id).collect()
    }
}

fn foreignness(input: &SegmentInput, address: &Address) -> Option<LedgerError> {
    let chain = input.chain;
    match address {
        _ if address.family() != chain.family() => Some(LedgerError::ForeignAddress { chain, address: *address }),
        Address::Utxo(utxo) if utxo.network != input.network => {
            Some(LedgerError::NetworkMismatch { chain, held: input.network, offered: utxo.network })
        }
        Address::Evm(_) | Address::Tron(_) | Address::Utxo(_) => None,
    }
}

fn each_address(transaction: &TransactionFacts, see: &mut impl FnMut(&Address)) {
    if let Some(body) = &transaction.body {
        body.from.iter().chain(&body.to).for_each(&mut *see);
    }
    transaction.created.iter().for_each(&mut *see);
    for movement in &transaction.movements {
        movement.from.iter().chain(&movement.to).chain(movement.asset.contract()).for_each(&mut *see);
    }
    transaction.logs.iter().for_each(|log| see(&log.address));
    if let Some(utxo) = &transaction.utxo {
        let spent = utxo.inputs.iter().filter_map(|input| input.spent.as_ref());
        spent.chain(&utxo.outputs).filter_map(|output| output.owner.as_ref()).for_each(&mut *see);
    }
}
