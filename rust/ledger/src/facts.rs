//! Facts that sources state about a chain.
//!
//! A source is rarely complete: a transaction list has no receipts, an account export no log index, a raw
//! Bitcoin block no amounts of what it spends. So a fact is optional until a source states it, and the unit that
//! sources agree or disagree about is the *transaction with all its movements*. Facts of one transaction from two
//! sources are joined: the join is commutative, associative and idempotent, hence what a ledger holds does not depend
//! on the order, the number or the overlap of the files it came from.

use std::collections::BTreeSet;

use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Network, Timestamp, TxHash};

use crate::primitives::{CoverageTable, Ordinal, ScriptType, Status};

mod approximate;
mod canonical;
mod implied;
mod join;
mod movements;
mod opening;
mod place;

pub use approximate::AmountOf;
pub use opening::{OPENING_PART, opening};

pub(crate) use canonical::Canonical;

/// All that one ingest step offers to a store; the unit of a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The chain all of it belongs to.
    pub chain: Chain,
    /// The network, where the source states it.
    pub network: Option<Network>,
    /// Blocks, in any order.
    pub blocks: Vec<BlockFacts>,
    /// Transactions, in any order; the same one may occur more than once.
    pub transactions: Vec<TransactionFacts>,
    /// Addresses known to be contracts.
    pub contracts: Vec<Address>,
    /// Statements of sources about tokens. Never a reason to trust them: see [`crate::market`].
    pub tokens: Vec<TokenFacts>,
    /// The ranges that this batch completes.
    pub claims: Vec<Claim>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub const fn new(chain: Chain) -> Self {
        Self {
            chain,
            network: None,
            blocks: Vec::new(),
            transactions: Vec::new(),
            contracts: Vec::new(),
            tokens: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Returns whether it states nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let Self { chain: _, network: _, blocks, transactions, contracts, tokens, claims } = self;
        blocks.is_empty() && transactions.is_empty() && contracts.is_empty() && tokens.is_empty() && claims.is_empty()
    }
}

/// A statement of completeness that a source makes; coverage is the union of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Claim {
    /// These tables are complete for these blocks, both included.
    Blocks {
        /// First block.
        first: u64,
        /// Last block.
        last: u64,
        /// The table that is complete.
        table: CoverageTable,
    },
    /// This table is complete for one account (an account export).
    Account {
        /// The account.
        address: Address,
        /// The table that is complete.
        table: CoverageTable,
    },
}

/// A block as a source states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFacts {
    /// Height.
    pub number: u64,
    /// Hash.
    pub hash: Option<BlockHash>,
    /// Hash of the parent.
    pub parent: Option<BlockHash>,
    /// Time of the block.
    pub time: Timestamp,
}

/// The facts that a token states of itself on chain, or an export of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenFacts {
    /// The contract.
    pub contract: Address,
    /// Symbol as written.
    pub symbol: Option<String>,
    /// Name as written.
    pub name: Option<String>,
    /// Decimals.
    pub decimals: Option<u8>,
    /// True if a source states that it is not fungible (ERC-721): what its transfers call an amount is an id.
    pub is_non_fungible: bool,
}

/// One transaction as a source states it, with its movements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionFacts {
    /// Its hash, or the made id of an allocation, reward, fork or opening.
    pub hash: TxHash,
    /// Block it is in.
    pub block: u64,
    /// Time of the block, where the source states it with the transaction.
    pub time: Option<Timestamp>,
    /// Hash of that block, where the source states it with the transaction. It is held with the block: two sources that
    /// place a transaction of one height in different blocks contradict each other.
    pub block_hash: Option<BlockHash>,
    /// Position in the block.
    pub index: Option<u32>,
    /// Sender, receiver and value, known together or not at all. `None` on UTXO chains.
    pub body: Option<Body>,
    /// The contract that the transaction created.
    pub created: Option<Address>,
    /// The outcome.
    pub status: Option<Status>,
    /// The reason for the failure.
    pub failure_reason: Option<String>,
    /// Sender's counter.
    pub nonce: Option<u64>,
    /// Gas it might use.
    pub gas_limit: Option<u64>,
    /// Gas it used.
    pub gas_used: Option<u64>,
    /// Price per gas that the transaction names.
    pub gas_price: Option<Amount>,
    /// Price per gas that was paid; takes precedence over `gas_price`.
    pub effective_gas_price: Option<Amount>,
    /// The fee itself, where the source states it rather than gas and price.
    pub fee: Option<Amount>,
    /// True if it carries blobs (EIP-4844). Their gas is paid apart, so gas and price alone do not make the fee.
    pub carries_blobs: bool,
    /// The call data.
    pub input: Option<Vec<u8>>,
    /// First four bytes of the call data, where only they are known.
    pub method_id: Option<[u8; 4]>,
    /// Name of the method as the source gives it.
    pub method: Option<String>,
    /// Internal and token movements; the transaction's own value is in `body`.
    pub movements: Vec<Movement>,
    /// Event logs, by log index.
    pub logs: Vec<LogFacts>,
    /// Inputs and outputs, on UTXO chains.
    pub utxo: Option<UtxoFacts>,
    /// Amounts that are stated to the precision of a double only, for the source holds them as such. They are shown as
    /// approximate and count in no balance, and an exact statement of another source takes their place. An amount below
    /// 2^53 is exact in a double and does not belong here.
    pub approximate: BTreeSet<AmountOf>,
}

impl TransactionFacts {
    /// A transaction of which nothing is known but where it is.
    #[must_use]
    pub const fn new(hash: TxHash, block: u64) -> Self {
        Self {
            hash,
            block,
            time: None,
            block_hash: None,
            index: None,
            body: None,
            created: None,
            status: None,
            failure_reason: None,
            nonce: None,
            gas_limit: None,
            gas_used: None,
            gas_price: None,
            effective_gas_price: None,
            fee: None,
            carries_blobs: false,
            input: None,
            method_id: None,
            method: None,
            movements: Vec::new(),
            logs: Vec::new(),
            utxo: None,
            approximate: BTreeSet::new(),
        }
    }
}

/// Sender, receiver and value of an account-chain transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Sender; `None` for allocations and rewards.
    pub from: Option<Address>,
    /// Receiver; `None` when the transaction creates a contract.
    pub to: Option<Address>,
    /// Value in the native coin.
    pub value: Amount,
}

/// The kind of movement that a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MovementFact {
    /// A value-bearing call inside the transaction, of the native coin.
    Internal,
    /// A fungible token moved.
    Token,
    /// A non-fungible (or multi-) token moved: kept, so that no later source counts it, but in no amount.
    NonFungible,
    /// The balance of `to` in a token at the block, as a list of its holders states it. Nothing moved: it counts in
    /// balances and nowhere else. See [`opening()`].
    Opening,
}

/// One movement inside a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Movement {
    /// The kind of the movement.
    pub kind: MovementFact,
    /// Log index or trace ordinal; [`Ordinal::Unindexed`] where the source has none (account exports).
    ///
    /// Indexed movements of one transaction are joined by index. Unindexed ones are joined by content: inside one
    /// source equal rows are separate movements, across sources the same ones, and an indexed row of equal content
    /// takes the place of an unindexed one.
    pub ordinal: Ordinal,
    /// Sender; `None` when there is none.
    pub from: Option<Address>,
    /// Receiver; `None` when there is none.
    pub to: Option<Address>,
    /// The asset.
    pub asset: Asset,
    /// The amount, in the smallest unit.
    pub amount: Amount,
}

/// One event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFacts {
    /// Index in the block.
    pub index: u64,
    /// The contract that emitted it.
    pub address: Address,
    /// Up to four topics.
    pub topics: Vec<[u8; 32]>,
    /// Unindexed data.
    pub data: Vec<u8>,
}

/// Inputs and outputs of a UTXO transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UtxoFacts {
    /// True if it mints the block reward; then it has no inputs here.
    pub coinbase: bool,
    /// Version; nodes print it signed or unsigned, here its four bytes are unsigned.
    pub version: Option<u32>,
    /// Height (below 500 000 000) or epoch second before which it could not be mined; 0 for no such limit.
    pub lock_time: Option<u32>,
    /// Weight units (BIP 141): three times the bytes without witnesses plus the bytes with them. A virtual byte is
    /// four of them, rounded up.
    pub weight_wu: Option<u32>,
    /// Inputs in order.
    pub inputs: Vec<InputFacts>,
    /// Outputs in order.
    pub outputs: Vec<OutputFacts>,
}

impl UtxoFacts {
    /// Inputs and outputs, and nothing of how the transaction was written.
    #[must_use]
    pub const fn new(coinbase: bool, inputs: Vec<InputFacts>, outputs: Vec<OutputFacts>) -> Self {
        Self { coinbase, version: None, lock_time: None, weight_wu: None, inputs, outputs }
    }

    /// Returns whether it says that it may be replaced (BIP 125): an input with a sequence number below `0xfffffffe`.
    /// `None` when the sequence numbers that would show it are not known.
    #[must_use]
    pub fn signals_replacement(&self) -> Option<bool> {
        const FIRST_FINAL: u32 = 0xffff_fffe;
        let mut sequences = self.inputs.iter().map(|input| input.sequence);
        if sequences.clone().flatten().any(|sequence| sequence < FIRST_FINAL) {
            return Some(true);
        }
        sequences.all(|sequence| sequence.is_some()).then_some(false)
    }
}

/// Names one output of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OutPoint {
    /// The transaction.
    pub hash: TxHash,
    /// The index of the output.
    pub index: u32,
}

impl OutPoint {
    /// Stands for the output of an input whose source states owner and amount but not which output it spends. It is
    /// what a coinbase names on chain, so no transaction has it.
    pub const UNKNOWN: Self = Self { hash: TxHash::new([0; 32]), index: u32::MAX };

    /// Returns whether the output is unknown.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::UNKNOWN
    }
}

/// One input. `spent` is what the source states of the output it spends; the store completes it when it holds that
/// output, now or by a later commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFacts {
    /// The output spent.
    pub previous: OutPoint,
    /// That output, where known.
    pub spent: Option<OutputFacts>,
    /// Sequence number: what it says of replacement and of relative lock times.
    pub sequence: Option<u32>,
}

impl InputFacts {
    /// An input of which the sequence number is not known.
    #[must_use]
    pub const fn new(previous: OutPoint, spent: Option<OutputFacts>) -> Self {
        Self { previous, spent, sequence: None }
    }
}

/// One output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFacts {
    /// The one address that owns it; `None` for bare multisig, data and unknown scripts.
    pub owner: Option<Address>,
    /// Satoshis.
    pub amount: u64,
    /// Form of the script.
    pub script: ScriptType,
    /// The pushed bytes of an `OP_RETURN`.
    pub data: Option<Vec<u8>>,
}

impl OutputFacts {
    /// Returns whether anybody may be able to spend it, or nobody is known to hold its key: keyless addresses, and
    /// scripts of no known form, such as a bare `OP_1`.
    #[must_use]
    pub fn is_keyless(&self) -> bool {
        self.owner.map_or(self.script == ScriptType::Nonstandard, |owner| owner.is_keyless())
    }
}
