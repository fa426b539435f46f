//! From segments back to facts: what is edited, or several as one for tests.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use headwater_types::{Address, Chain, Network};

use super::parts::Part;
use crate::Cancel;
use crate::facts::{BlockFacts, TokenFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::{self, Segment, SegmentInput};

/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 4096;

/// The changes of a part that is written anew.
#[derive(Default)]
pub(super) struct Edits {
    /// By row: what is there now, `None` when it moves elsewhere.
    pub(super) rows: HashMap<u32, Option<TransactionFacts>>,
    /// Transactions that come to it.
    pub(super) added: Vec<TransactionFacts>,
    pub(super) blocks: BTreeMap<u64, BlockFacts>,
    pub(super) tokens: BTreeMap<Address, TokenFacts>,
}

/// The facts of several parts as the input of one segment.
pub(super) fn combined(chain: Chain, network: Network, parts: &[Arc<Part>], cancel: &Cancel) -> Result<SegmentInput> {
    let mut gathered = GatheredFacts::default();
    for part in parts {
        gathered.take(part, chain, cancel)?;
    }
    Ok(gathered.into_input(chain, network))
}

/// The corrections of rows of a part, as a segment of its own to be merged with it, and the rows that are left
/// out, ascending.
pub(super) fn corrections(part: &Part, edits: Edits, cancel: &Cancel) -> Result<(Segment, Vec<u32>)> {
    let segment = &part.segment;
    let mut without: Vec<u32> = edits.rows.keys().copied().collect();
    without.sort_unstable();
    let transactions: Vec<TransactionFacts> = edits.rows.into_values().flatten().chain(edits.added).collect();
    let mut blocks = edits.blocks;
    for facts in &transactions {
        if let Entry::Vacant(entry) = blocks.entry(facts.block)
            && let Some(block) = segment.block(facts.block)?
        {
            entry.insert(block);
        }
    }
    let input = SegmentInput {
        chain: segment.chain(),
        network: segment.network(),
        blocks: blocks.into_values().collect(),
        transactions,
        contracts: Vec::new(),
        tokens: edits.tokens.into_values().collect(),
    };
    Ok((Segment::from_bytes("corrections", segment::build(&input, cancel)?)?, without))
}

#[derive(Default)]
struct GatheredFacts {
    stated: StatedFacts,
    transactions: Vec<TransactionFacts>,
    contracts: BTreeSet<Address>,
}

/// Blocks and tokens, which may be in several parts: what these say is joined.
#[derive(Default)]
pub(super) struct StatedFacts {
    pub(super) blocks: BTreeMap<u64, BlockFacts>,
    pub(super) tokens: BTreeMap<Address, TokenFacts>,
}

impl StatedFacts {
    pub(super) fn take(&mut self, segment: &Segment, chain: Chain) -> Result<()> {
        for block in segment.blocks()? {
            let joined = match self.blocks.remove(&block.number) {
                Some(known) => known.join(&block, chain)?,
                None => block,
            };
            self.blocks.insert(joined.number, joined);
        }
        for token in segment.tokens()? {
            let joined = match self.tokens.remove(&token.contract) {
                Some(known) => known.join(token),
                None => token,
            };
            self.tokens.insert(joined.contract, joined);
        }
        Ok(())
    }
}

impl GatheredFacts {
    fn take(&mut self, part: &Part, chain: Chain, cancel: &Cancel) -> Result<()> {
        let segment = &part.segment;
        for row in 0..segment.transactions() {
            if row % ROWS_PER_CHECK == 0 {
                cancel.check()?;
            }
            self.transactions.push(segment.facts(row)?);
        }
        self.stated.take(segment, chain)?;
        self.contracts.extend(segment.contracts()?);
        Ok(())
    }

    fn into_input(self, chain: Chain, network: Network) -> SegmentInput {
        SegmentInput {
            chain,
            network,
            blocks: self.stated.blocks.into_values().collect(),
            transactions: self.transactions,
            contracts: self.contracts.into_iter().collect(),
            tokens: self.stated.tokens.into_values().collect(),
        }
    }
}
