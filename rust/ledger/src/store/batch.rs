//! A batch before it is joined with what is held: each block and each transaction of it once.

use headwater_types::{Chain, TxHash};

use crate::facts::{Batch, BlockFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::hash_prefix;

/// The blocks that a batch states, and those whose time a transaction of it states, with the hash it states, by number.
pub(super) fn offered_blocks(batch: &Batch, chain: Chain) -> Result<Vec<BlockFacts>> {
    let implied = batch.transactions.iter().filter_map(|transaction| {
        let (number, hash) = (transaction.block, transaction.block_hash);
        transaction.time.map(|time| BlockFacts { number, hash, parent: None, time })
    });
    // Transactions of one block mostly follow each other and say the same.
    let mut last = None;
    let implied = implied.filter(|block| {
        let said = Some((block.number, block.hash, block.time));
        std::mem::replace(&mut last, said) != said
    });
    let mut offered: Vec<BlockFacts> = batch.blocks.iter().cloned().chain(implied).collect();
    offered.sort_by_key(|block| block.number);
    let mut joined: Vec<BlockFacts> = Vec::with_capacity(offered.len());
    for block in offered {
        match joined.pop_if(|known| known.number == block.number) {
            Some(known) => joined.push(known.join(&block, chain)?),
            None => joined.push(block),
        }
    }
    Ok(joined)
}

/// One entry per transaction, canonical and in the order of the batch, and their places in order of hash. Facts are
/// large: they stay where they are, and batches come in order of rows, as the build reads them.
pub(super) fn joined(mut offered: Vec<TransactionFacts>, chain: Chain) -> Result<(Vec<TransactionFacts>, Vec<usize>)> {
    let mut by_hash = places_by_hash(&offered);
    let is_same = |a: &(u64, usize), b: &(u64, usize)| a.0 == b.0 && hash_at(&offered, a.1) == hash_at(&offered, b.1);
    let again = by_hash.chunk_by(is_same).filter(|same| same.len() > 1);
    let again: Vec<Vec<usize>> = again.map(|same| same.iter().map(|&(_, place)| place).collect()).collect();
    for same in &again {
        let mut take = |place: usize| {
            let facts = &mut offered[place];
            let taken = TransactionFacts::new(facts.hash, facts.block);
            std::mem::replace(facts, taken)
        };
        let first = take(same[0]);
        let joined = same[1..].iter().try_fold(first, |joined, &place| joined.join(take(place), chain))?;
        offered[same[0]] = joined;
    }
    if !again.is_empty() {
        let mut is_kept = vec![true; offered.len()];
        again.iter().flat_map(|same| &same[1..]).for_each(|&place| is_kept[place] = false);
        let mut kept = is_kept.into_iter();
        offered.retain(|_| kept.next().unwrap_or(true));
        by_hash = places_by_hash(&offered);
    }
    let mut unsettled: Vec<(TxHash, usize)> = Vec::new();
    for (place, facts) in offered.iter_mut().enumerate() {
        if !facts.settle(chain) {
            unsettled.push((facts.hash, place));
        }
    }
    unsettled.sort_unstable();
    for (hash, place) in unsettled {
        let block = offered[place].block;
        let facts = std::mem::replace(&mut offered[place], TransactionFacts::new(hash, block));
        offered[place] = facts.canonical(chain)?;
    }
    Ok((offered, by_hash.into_iter().map(|(_, place)| place).collect()))
}

/// The places of transactions in order of hash.
pub(super) fn by_hash(offered: &[TransactionFacts]) -> Vec<usize> {
    places_by_hash(offered).into_iter().map(|(_, place)| place).collect()
}

fn hash_at(facts: &[TransactionFacts], place: usize) -> &TxHash {
    &facts[place].hash
}

/// First bytes and places in order of (hash, place). The first bytes separate nearly all.
fn places_by_hash(facts: &[TransactionFacts]) -> Vec<(u64, usize)> {
    let mut places: Vec<(u64, usize)> =
        facts.iter().enumerate().map(|(place, facts)| (hash_prefix(facts.hash.as_bytes()), place)).collect();
    places.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| hash_at(facts, a.1).cmp(hash_at(facts, b.1))).then(a.1.cmp(&b.1))
    });
    places
}
