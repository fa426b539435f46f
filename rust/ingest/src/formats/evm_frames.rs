//! The frames of a transaction that moved value, of any table of traces.
//!
//! A frame moves value when it and all frames above it succeeded and it is a call, a creation or a self-destruction;
//! `delegatecall`, `callcode` and `staticcall` move nothing. The root frame is the transaction itself: it states the
//! transaction's own value and status, once. So frames are gathered by block and judged together.
//!
//! The ordinal of a movement is its rank among the frames of the transaction that moved something, depth first, calls
//! and creations before self-destructions: it is the same whether or not a node reports frames that move nothing
//! (calls of precompiled contracts), and whether or not it knows what a self-destruction moved.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use headwater_ledger::facts::{AmountOf, Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Timestamp, TxHash};

use super::evm_system::{System, SystemKind};
use super::stated_amount::StatedAmount;
use crate::error::{Fault, FieldError, Place, RowError};
use crate::{IngestError, Sink};

/// Frames are judged once so many are gathered.
const GATHERED_FRAMES: usize = 500_000;
/// A block counts as complete once so many rows of other blocks followed it: exports made with several workers
/// interleave the rows of neighbouring blocks.
const INTERLEAVED_ROWS: u64 = 10_000;

/// The content of a row of traces.
#[derive(Debug)]
pub(super) struct FrameRow {
    pub(super) block: u64,
    pub(super) time: Option<Timestamp>,
    pub(super) block_hash: Option<BlockHash>,
    /// The transaction, or its place in the block; neither for rewards and the like.
    pub(super) hash: Option<TxHash>,
    pub(super) index: Option<u32>,
    /// Place in the tree of the transaction; empty for the root.
    pub(super) path: Vec<u32>,
    pub(super) kind: FrameKind,
    pub(super) from: Option<Address>,
    pub(super) to: Option<Address>,
    pub(super) value: Option<StatedAmount>,
    pub(super) failed: bool,
    pub(super) error: Option<String>,
}

/// The action of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// A call; of another account's code, or one that may change nothing, it moves no value.
    Call {
        moves: bool,
    },
    Create,
    Suicide,
    /// A reward of a block or uncle, outside transactions.
    Reward,
    /// An allocation of the first block.
    Genesis,
    /// A movement by a fork.
    Fork,
}

impl FrameKind {
    /// Its kind outside transactions.
    const fn without_transaction(self) -> Option<SystemKind> {
        match self {
            Self::Reward => Some(SystemKind::Reward),
            Self::Genesis => Some(SystemKind::Genesis),
            Self::Fork => Some(SystemKind::Fork),
            Self::Call { .. } | Self::Create | Self::Suicide => None,
        }
    }
}

#[derive(Debug)]
struct Frame {
    place: Place,
    row: FrameRow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Hash(TxHash),
    Index(u32),
}

#[derive(Debug, Default)]
struct BlockFrames {
    last_row: u64,
    time: Option<Timestamp>,
    transactions: BTreeMap<Key, Vec<Frame>>,
    system: System,
}

/// Gathers the frames of a file.
pub(super) struct Frames {
    file: PathBuf,
    rows: u64,
    gathered: usize,
    blocks: BTreeMap<BlockKey, BlockFrames>,
    done: HashSet<BlockKey>,
}

/// A block: rows of an orphaned one may lie beside those of the block that took its place.
type BlockKey = (u64, Option<BlockHash>);

impl Frames {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), rows: 0, gathered: 0, blocks: BTreeMap::new(), done: HashSet::new() }
    }

    /// Takes a row in.
    pub(super) fn take(&mut self, row: FrameRow, place: Place, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let block = row.block;
        let key = (block, row.block_hash);
        if self.done.contains(&key) {
            let expected = "the rows of one block together: sort the file by block_number";
            return Err(FieldError::new("block_number", Some(&block.to_string()), expected).into());
        }
        if row.kind == FrameKind::Suicide && (row.from.is_none() || row.value.is_none()) {
            sink.warn("self-destructions without addresses and amounts: what they moved is missing");
        }
        if row.kind == (FrameKind::Call { moves: true }) && row.from.is_none() && !row.path.is_empty() {
            let expected = "the caller of a call; some nodes write self-destructions as calls without one";
            return Err(FieldError::new("from_address", None, expected).into());
        }
        let frames = self.blocks.entry(key).or_default();
        frames.time = frames.time.or(row.time);
        if let Some(kind) = row.kind.without_transaction() {
            let needed = |column| FieldError::new(column, None, "a value");
            let to = row.to.ok_or_else(|| needed("to_address"))?;
            let value = row.value.ok_or_else(|| needed("value"))?.amount;
            frames.system.add(kind, block, (row.from, to), value)?;
        } else {
            let needed = || FieldError::new("transaction_index", None, "a value, where the row names no transaction");
            let transaction = match row.hash {
                Some(hash) => Key::Hash(hash),
                None => Key::Index(row.index.ok_or_else(needed)?),
            };
            frames.transactions.entry(transaction).or_default().push(Frame { place, row });
        }
        Ok(self.gathered(key, sink)?)
    }

    fn gathered(&mut self, block: BlockKey, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.rows += 1;
        self.gathered += 1;
        self.blocks.entry(block).or_default().last_row = self.rows;
        if self.gathered >= GATHERED_FRAMES {
            let quiet = self.rows.saturating_sub(INTERLEAVED_ROWS);
            let (complete, open) = std::mem::take(&mut self.blocks).into_iter().partition(|(_, f)| f.last_row < quiet);
            self.blocks = open;
            self.gathered = 0;
            self.resolve(complete, sink)?;
        }
        Ok(())
    }

    /// Judges all that is left.
    pub(super) fn resolve_all(&mut self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let rest = std::mem::take(&mut self.blocks);
        self.resolve(rest, sink)
    }

    fn resolve(&mut self, blocks: BTreeMap<BlockKey, BlockFrames>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        for ((block, block_hash), frames) in blocks {
            self.done.insert((block, block_hash));
            frames.system.hand_over(block, (frames.time, block_hash), sink);
            let time = match frames.time {
                Some(time) => Some(time),
                None => sink.block_time(block)?,
            };
            let burns = burns_itself(sink.chain(), block, time);
            for (key, of_transaction) in frames.transactions {
                if let Some(hash) = self.hash(key, block, &of_transaction, sink)? {
                    let mut facts = TransactionFacts::new(hash, block);
                    (facts.time, facts.block_hash) = (frames.time, block_hash);
                    transaction(facts, of_transaction, burns, sink);
                }
            }
            sink.boundary()?;
        }
        Ok(())
    }

    fn hash(&self, key: Key, block: u64, frames: &[Frame], sink: &mut Sink<'_>) -> Result<Option<TxHash>, IngestError> {
        let index = match key {
            Key::Hash(hash) => return Ok(Some(hash)),
            Key::Index(index) => index,
        };
        let found = sink.transaction_at(block, index)?;
        if found.is_none() {
            let expected = format!("a hash, or transaction {index} of block {block} ingested before its traces");
            let field = FieldError::new("transaction_hash", None, expected);
            let place = frames.first().map_or(Place::Row(0), |frame| frame.place);
            sink.reject(RowError { file: self.file.clone(), place, field })?;
        }
        Ok(found)
    }
}

/// The effect on the coins of a contract that destroys itself and names itself as its heir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToItself {
    /// They are gone.
    Burns,
    /// They stay (EIP-6780), unless the contract was created by the same transaction.
    Stays,
}

/// The rule of a block. EIP-6780 came with Cancun, on Ethereum at a block, on BNB Smart Chain at a time.
fn burns_itself(chain: Chain, block: u64, time: Option<Timestamp>) -> ToItself {
    const CANCUN_BLOCK: u64 = 19_426_587;
    const BSC_CANCUN_SECS: i64 = 1_718_863_500;
    let is_after = match chain {
        Chain::BSC => time.is_some_and(|time| time.secs() >= BSC_CANCUN_SECS),
        _ => block >= CANCUN_BLOCK,
    };
    if is_after { ToItself::Stays } else { ToItself::Burns }
}

/// Judges the frames of one transaction.
fn transaction(mut facts: TransactionFacts, frames: Vec<Frame>, to_itself: ToItself, sink: &mut Sink<'_>) {
    let origin = (frames.first().map_or(Place::Row(0), |frame| frame.place), frames.len());
    let mut frames: Vec<FrameRow> = frames.into_iter().map(|frame| frame.row).collect();
    frames.sort_by(|a, b| a.path.cmp(&b.path));
    facts.index = frames.iter().find_map(|frame| frame.index);
    let mut failed: Option<&[u32]> = None;
    let mut moved: Vec<&FrameRow> = Vec::new();
    let mut created: Vec<Address> = Vec::new();
    let is_to_itself = |frame: &FrameRow| frame.kind == FrameKind::Suicide && frame.from == frame.to;
    for frame in &frames {
        let below_failure = failed.is_some_and(|path| frame.path.starts_with(path));
        if !below_failure && frame.failed {
            failed = Some(&frame.path);
        }
        let fails = below_failure || frame.failed;
        if frame.path.is_empty() && frame.kind != FrameKind::Suicide {
            root(frame, &mut facts);
        } else if !fails && moves(frame) {
            let is_new = frame.from.is_some_and(|contract| created.contains(&contract));
            if !is_to_itself(frame) || to_itself == ToItself::Burns || is_new {
                moved.push(frame);
            }
        }
        if let (FrameKind::Create, false, Some(contract)) = (frame.kind, fails, frame.to) {
            created.push(contract);
            sink.contract(contract);
        }
    }
    moved.sort_by_key(|frame| frame.kind == FrameKind::Suicide);
    let is_approximate = |frame: &FrameRow| frame.value.is_some_and(|value| value.is_approximate);
    let approximate: Vec<AmountOf> = (0..)
        .zip(&moved)
        .filter(|(_, frame)| is_approximate(frame))
        .map(|(rank, _)| AmountOf::Internal(rank))
        .collect();
    facts.movements = (0..)
        .zip(moved)
        .map(|(rank, frame)| Movement {
            kind: MovementFact::Internal,
            ordinal: Ordinal::Indexed(rank),
            from: frame.from,
            to: frame.to.filter(|_| !is_to_itself(frame)),
            asset: Asset::Native,
            amount: amount_of(frame),
        })
        .collect();
    facts.approximate.extend(approximate);
    sink.transaction_of(facts, origin);
}

fn amount_of(frame: &FrameRow) -> Amount {
    frame.value.map_or(Amount::ZERO, |value| value.amount)
}

fn moves(frame: &FrameRow) -> bool {
    let kind = match frame.kind {
        FrameKind::Call { moves } => moves,
        FrameKind::Create | FrameKind::Suicide => true,
        FrameKind::Reward | FrameKind::Genesis | FrameKind::Fork => false,
    };
    kind && !amount_of(frame).is_zero() && frame.from.is_some() && frame.to.is_some()
}

fn root(frame: &FrameRow, facts: &mut TransactionFacts) {
    let creates = frame.kind == FrameKind::Create;
    if frame.from.is_some() {
        let to = if creates { None } else { frame.to };
        facts.body = Some(Body { from: frame.from, to, value: amount_of(frame) });
        if frame.value.is_some_and(|value| value.is_approximate) {
            facts.approximate.insert(AmountOf::Value);
        }
    }
    if frame.failed {
        facts.status = Some(Status::Failed);
        facts.failure_reason.clone_from(&frame.error);
    } else {
        facts.status = Some(Status::Success);
        facts.created = frame.to.filter(|_| creates);
    }
}
