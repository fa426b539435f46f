//! From segments back to facts, to be written anew: with edits, or several as one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use headwater_types::{Address, Chain, Network};

use super::contents::Part;
use crate::Cancel;
use crate::facts::{BlockFacts, TokenFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::SegmentInput;

/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 4096;

/// What changes when a part is written anew.
#[derive(Default)]
pub(super) struct Edits {
    /// By row: what stands there now, `None` when it moves elsewhere.
    pub(super) rows: HashMap<u32, Option<TransactionFacts>>,
    pub(super) blocks: BTreeMap<u64, BlockFacts>,
    pub(super) tokens: BTreeMap<Address, TokenFacts>,
}

/// The facts of several parts as the input of one segment. Copies of one block, contract or token are equal, so
/// whichever comes last may stand.
pub(super) fn combined(chain: Chain, network: Network, parts: &[Arc<Part>], cancel: &Cancel) -> Result<SegmentInput> {
    let mut gathered = Gathered::default();
    for part in parts {
        gathered.take(part, Edits::default(), cancel)?;
    }
    Ok(gathered.into_input(chain, network))
}

/// The facts of one part with edits.
pub(super) fn edited(part: &Part, edits: Edits, cancel: &Cancel) -> Result<SegmentInput> {
    let mut gathered = Gathered::default();
    gathered.take(part, edits, cancel)?;
    Ok(gathered.into_input(part.segment.chain(), part.segment.network()))
}

#[derive(Default)]
struct Gathered {
    blocks: BTreeMap<u64, BlockFacts>,
    transactions: Vec<TransactionFacts>,
    contracts: BTreeSet<Address>,
    tokens: BTreeMap<Address, TokenFacts>,
}

impl Gathered {
    fn take(&mut self, part: &Part, mut edits: Edits, cancel: &Cancel) -> Result<()> {
        let segment = &part.segment;
        for row in 0..segment.transactions() {
            if row % ROWS_PER_CHECK == 0 {
                cancel.check()?;
            }
            let facts = match edits.rows.remove(&row) {
                Some(Some(facts)) => facts,
                Some(None) => continue,
                None => segment.facts(row)?,
            };
            self.transactions.push(facts);
        }
        self.blocks.extend(segment.blocks()?.into_iter().map(|block| (block.number, block)));
        self.blocks.append(&mut edits.blocks);
        self.contracts.extend(segment.contracts()?);
        self.tokens.extend(segment.tokens()?.into_iter().map(|token| (token.contract, token)));
        self.tokens.append(&mut edits.tokens);
        Ok(())
    }

    fn into_input(self, chain: Chain, network: Network) -> SegmentInput {
        SegmentInput {
            chain,
            network,
            blocks: self.blocks.into_values().collect(),
            transactions: self.transactions,
            contracts: self.contracts.into_iter().collect(),
            tokens: self.tokens.into_values().collect(),
        }
    }
}
