//! The table `traces`: which frames of a transaction moved value.
//!
//! A frame moves value when it and all frames above it succeeded and it is a call, a creation or a self-destruction;
//! `delegatecall`, `callcode` and `staticcall` move nothing. The root frame is the transaction itself: it tells the
//! transaction's own value and status, once. So frames are gathered by block and judged together.
//!
//! The ordinal of a movement is its rank among the frames of the transaction that moved something, depth first, calls
//! and creations before self-destructions: it is the same whether or not a node reports frames that move nothing
//! (calls of precompiled contracts), and whether or not it knows what a self-destruction moved.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use headwater_ledger::facts::{Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, TxHash};

use super::{needed, transactions};
use crate::error::{Fault, FieldError, Place, RowError};
use crate::source::Row;
use crate::{IngestError, Sink};

/// Frames are judged once so many are gathered.
const GATHERED_FRAMES: usize = 500_000;
/// A block counts as complete once so many rows of other blocks followed it: exports made with several workers
/// interleave the rows of neighbouring blocks.
const INTERLEAVED_ROWS: u64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call { moves: bool },
    Create,
    Suicide,
}

#[derive(Debug)]
struct Frame {
    place: Place,
    path: Vec<u32>,
    kind: Kind,
    from: Option<Address>,
    to: Option<Address>,
    value: Amount,
    failed: bool,
    error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Hash(TxHash),
    Index(u32),
}

#[derive(Debug, Default)]
struct BlockFrames {
    last_row: u64,
    transactions: BTreeMap<Key, (Option<u32>, Vec<Frame>)>,
    system: BTreeMap<TxHash, Body>,
}

/// Gathers the frames of a file.
pub(super) struct Traces {
    file: PathBuf,
    rows: u64,
    gathered: usize,
    blocks: BTreeMap<u64, BlockFrames>,
    done: HashSet<u64>,
}

impl Traces {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), rows: 0, gathered: 0, blocks: BTreeMap::new(), done: HashSet::new() }
    }

    /// Takes a row in and gives its block.
    pub(super) fn row(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<u64, Fault> {
        let chain = sink.chain();
        let block = needed(row.u64("block_number")?, "block_number")?;
        if self.done.contains(&block) {
            let expected = "the rows of one block together: sort the file by block_number";
            return Err(FieldError::new("block_number", Some(&block.to_string()), expected).into());
        }
        let kind = needed(row.text("trace_type")?, "trace_type")?;
        let from = row.address("from_address", chain)?;
        let to = row.address("to_address", chain)?;
        let value = row.amount("value")?;
        let kind = match &*kind {
            "reward" | "genesis" | "daofork" => {
                let system = &mut self.blocks.entry(block).or_default().system;
                movement_without_transaction(&kind, block, from, to, value, system)?;
                return Ok(self.gathered(block, sink)?);
            }
            "call" => Kind::Call { moves: matches!(row.text("call_type")?.as_deref(), None | Some("call")) },
            "create" => Kind::Create,
            "suicide" => Kind::Suicide,
            other => {
                let expected = "one of call, create, suicide, reward, genesis, daofork";
                return Err(FieldError::new("trace_type", Some(other), expected).into());
            }
        };
        if kind == Kind::Suicide && (from.is_none() || value.is_none()) {
            sink.warn("self-destructions without addresses and amounts: what they moved is missing");
        }
        let status = transactions::status(row, "status")?;
        let error = row.text("error")?.map(std::borrow::Cow::into_owned);
        let index = row.u32("transaction_index")?;
        let key = match row.transaction("transaction_hash", chain)? {
            Some(hash) => Key::Hash(hash),
            None => Key::Index(needed(index, "transaction_index")?),
        };
        let frame = Frame {
            place: row.place(),
            path: path(row)?,
            kind,
            from,
            to,
            value: value.unwrap_or(Amount::ZERO),
            failed: status.map_or(error.is_some(), |status| status == Status::Failed),
            error,
        };
        let transactions = &mut self.blocks.entry(block).or_default().transactions;
        transactions.entry(key).or_insert((index, Vec::new())).1.push(frame);
        Ok(self.gathered(block, sink)?)
    }

    fn gathered(&mut self, block: u64, sink: &mut Sink<'_>) -> Result<u64, IngestError> {
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
        Ok(block)
    }

    /// Judges all that is left.
    pub(super) fn resolve_all(&mut self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let rest = std::mem::take(&mut self.blocks);
        self.resolve(rest, sink)
    }

    fn resolve(&mut self, blocks: BTreeMap<u64, BlockFrames>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        for (block, frames) in blocks {
            self.done.insert(block);
            for (hash, body) in frames.system {
                let mut facts = TransactionFacts::new(hash, block);
                facts.body = Some(body);
                facts.status = Some(Status::Success);
                sink.transaction(facts);
            }
            for (key, (index, frames)) in frames.transactions {
                if let Some(hash) = self.hash(key, block, &frames, sink)? {
                    transaction(hash, block, index, frames, sink);
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

/// The place of a frame in the tree of its transaction; nothing for the root.
fn path(row: &Row<'_>) -> Result<Vec<u32>, FieldError> {
    let Some(text) = row.text("trace_address")? else { return Ok(Vec::new()) };
    let parts: Option<Vec<u32>> = text.split([',', '_']).map(crate::source::plain_number).collect();
    parts.ok_or_else(|| FieldError::new("trace_address", Some(&text), "numbers joined by commas"))
}

/// Rewards, allocations and forks. One account may get several rewards in one block (its own and an uncle's): they
/// have one id, so they are one movement of their sum. A row of a fork is known by the account it drains, since all
/// of them have one receiver.
fn movement_without_transaction(
    kind: &str,
    block: u64,
    from: Option<Address>,
    to: Option<Address>,
    value: Option<Amount>,
    system: &mut BTreeMap<TxHash, Body>,
) -> Result<(), FieldError> {
    let to = needed(to, "to_address")?;
    let value = needed(value, "value")?;
    let number = u32::try_from(block)
        .map_err(|_| FieldError::new("block_number", Some(&block.to_string()), "a number of at most 32 bits"))?;
    let hash = match kind {
        "reward" => TxHash::reward(number, &to),
        "genesis" => TxHash::genesis(&to),
        _ => TxHash::fork(number, &from.unwrap_or(to)),
    };
    let body = system.entry(hash).or_insert(Body { from, to: Some(to), value: Amount::ZERO });
    let sum = body.value.checked_add(value);
    body.value = sum.ok_or_else(|| FieldError::new("value", Some(&value.to_string()), "a sum of at most 256 bits"))?;
    Ok(())
}

/// Judges the frames of one transaction.
fn transaction(hash: TxHash, block: u64, index: Option<u32>, mut frames: Vec<Frame>, sink: &mut Sink<'_>) {
    frames.sort_by(|a, b| a.path.cmp(&b.path));
    let mut facts = TransactionFacts::new(hash, block);
    facts.index = index;
    let mut failed: Option<&[u32]> = None;
    let mut moved: Vec<&Frame> = Vec::new();
    for frame in &frames {
        let below_failure = failed.is_some_and(|path| frame.path.starts_with(path));
        if !below_failure && frame.failed {
            failed = Some(&frame.path);
        }
        let fails = below_failure || frame.failed;
        if frame.path.is_empty() && frame.kind != Kind::Suicide {
            root(frame, &mut facts);
        } else if !fails && moves(frame) {
            moved.push(frame);
        }
        if let (Kind::Create, false, Some(created)) = (frame.kind, fails, frame.to) {
            sink.contract(created);
        }
    }
    moved.sort_by_key(|frame| frame.kind == Kind::Suicide);
    facts.movements = (0..)
        .zip(moved)
        .map(|(rank, frame)| Movement {
            kind: MovementFact::Internal,
            ordinal: Ordinal::Indexed(rank),
            from: frame.from,
            to: frame.to,
            asset: Asset::Native,
            amount: frame.value,
        })
        .collect();
    sink.transaction(facts);
}

fn moves(frame: &Frame) -> bool {
    let kind = match frame.kind {
        Kind::Call { moves } => moves,
        Kind::Create | Kind::Suicide => true,
    };
    kind && !frame.value.is_zero() && frame.from.is_some() && frame.to.is_some()
}

fn root(frame: &Frame, facts: &mut TransactionFacts) {
    let creates = frame.kind == Kind::Create;
    if frame.from.is_some() {
        let to = if creates { None } else { frame.to };
        facts.body = Some(Body { from: frame.from, to, value: frame.value });
    }
    if frame.failed {
        facts.status = Some(Status::Failed);
        facts.failure_reason.clone_from(&frame.error);
    } else {
        facts.status = Some(Status::Success);
        facts.created = frame.to.filter(|_| creates);
    }
}
