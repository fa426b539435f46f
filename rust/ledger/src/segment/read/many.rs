//! Look-ups of many keys at once, in order of the keys, by leaping: whichever of the keys and the index is behind
//! continues to where the other is, in steps of growing width. So a commit of n transactions costs a segment of N
//! about min(n, N) x log(max / min) probes, next to each other, instead of n searches of the whole index.

use std::ops::Range;

use headwater_types::{Address, TxHash};

use super::super::container::search;
use super::super::layout::account;
use super::{Segment, Spend};
use crate::error::Result;
use crate::facts::{BlockFacts, OutputFacts};

impl Segment {
    /// Those of `hashes` that are held, as (place in `hashes`, row). `hashes` are in order.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn find_many(&self, hashes: &[TxHash]) -> Result<Vec<(usize, u32)>> {
        self.transactions.find_many(hashes)
    }

    /// The inputs held here that spend outputs of any of `hashes`, which are in order, as (place in `hashes`, input).
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn spenders_of_many(&self, hashes: &[TxHash]) -> Result<Vec<(usize, Spend)>> {
        let mut found = Vec::new();
        for place in self.utxo.may_be_spent(hashes)? {
            found.extend(self.utxo.spenders_of(&hashes[place])?.into_iter().map(|spend| (place, spend)));
        }
        Ok(found)
    }

    /// Those of the blocks that are held, as (place in `numbers`, block). `numbers` are in order.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn find_blocks(&self, numbers: &[u64]) -> Result<Vec<(usize, BlockFacts)>> {
        let mut found = Vec::new();
        let (held, end) = (&self.blocks.numbers, self.blocks.length);
        let (mut place, mut at) = (0, 0);
        while place < numbers.len() {
            let wanted = numbers[place];
            at = leap(at..end, |at| Ok(held.get(at)? < wanted))?;
            if at == end {
                break;
            }
            let number = held.get(at)?;
            if number == wanted {
                found.push((place, self.block_at(at)?));
                place += 1;
            } else {
                place = leap(place..numbers.len(), |place| Ok(numbers[place] < number))?;
            }
        }
        Ok(found)
    }

    /// Returns whether a source states that an address is a contract.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn is_stated_contract(&self, address: &Address) -> Result<bool> {
        let Some(id) = self.accounts.find(address)? else { return Ok(false) };
        Ok(self.accounts.flags(id)? & u64::from(account::STATED) != 0)
    }

    /// An output of the transaction of a row.
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn output_of(&self, row: u32, index: u32) -> Result<Option<OutputFacts>> {
        let output = self.utxo.output(row, index, &self.blobs)?;
        output.map(|output| self.output_facts(output)).transpose()
    }
}

/// First place of an ordered range where `before` no longer holds, looked for from its start.
fn leap(range: Range<usize>, mut before: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let (mut low, mut step) = (range.start, 1);
    while low + step <= range.end {
        let probe = low + step - 1;
        if !before(probe)? {
            return search(low..probe, before);
        }
        low = probe + 1;
        step *= 2;
    }
    search(low..range.end, before)
}

#[cfg(test)]
mod tests {
    use headwater_types::Chain;
    use proptest::prelude::*;

    use super::*;
    use crate::Cancel;
    use crate::segment::build;
    use crate::segment::tests::economy;

    proptest! {
        #[test]
        fn leaping_finds_what_halving_finds(mut numbers in prop::collection::vec(0..50_u64, 0..60), from in 0..60_usize, wanted in 0..55_u64) {
            numbers.sort_unstable();
            let from = from.min(numbers.len());
            let found = leap(from..numbers.len(), |at| Ok(numbers[at] < wanted)).unwrap();
            prop_assert_eq!(found, from.max(numbers.partition_point(|number| *number < wanted)));
        }

        #[test]
        fn many_keys_at_once_are_found_as_each_by_itself(input in prop_oneof![economy::input(Chain::ETHEREUM, 0..30), economy::input(Chain::BITCOIN, 0..30)], step in 1..9_usize) {
            let segment = Segment::from_bytes("test", build(&input, &Cancel::new()).unwrap()).unwrap();
            let mut hashes: Vec<TxHash> = (0..60).map(economy::hash).collect();
            hashes.extend((0..20_u8).map(|byte| TxHash::new([byte; 32])));
            hashes.sort_unstable();
            let hashes: Vec<TxHash> = hashes.into_iter().step_by(step).collect();
            let (mut each, mut spends) = (Vec::new(), Vec::new());
            for (place, hash) in hashes.iter().enumerate() {
                each.extend(segment.find(hash).unwrap().map(|row| (place, row)));
                spends.extend(segment.spenders_of(hash).unwrap().into_iter().map(|spend| (place, spend)));
            }
            prop_assert_eq!(segment.find_many(&hashes).unwrap(), each);
            prop_assert_eq!(segment.spenders_of_many(&hashes).unwrap(), spends);
            let numbers: Vec<u64> = (0..20).step_by(step).collect();
            let blocks: Vec<_> = numbers.iter().filter_map(|number| segment.block(*number).unwrap()).collect();
            let many: Vec<_> = segment.find_blocks(&numbers).unwrap().into_iter().map(|(_, block)| block).collect();
            prop_assert_eq!(many, blocks);
            let stated = segment.contracts().unwrap();
            for number in 0..12 {
                let address = economy::address(input.chain, number);
                prop_assert_eq!(segment.is_stated_contract(&address).unwrap(), stated.contains(&address));
            }
        }
    }
}
