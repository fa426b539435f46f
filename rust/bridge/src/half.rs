//! One leg of a bridge transfer, as one chain shows it.

use std::fmt;
use std::sync::Arc;

use headwater_types::{Address, Amount, Timestamp, TxHash};

use crate::chain::BridgeChain;
use crate::party::Party;

/// The statement of a leg about its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The source: money or a message went into the bridge.
    Sent,
    /// Neither end: it says that what one key names continues under another (a bus of Stargate).
    Carried,
    /// The destination: it came out.
    Received,
    /// The destination tried and could not deliver; a later [`Step::Received`] can follow.
    Failed,
    /// The source paid it back.
    Refunded,
}

/// The rule by which legs of a family are joined, by what they share (`bridges.md`, match strength).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchClass {
    /// Both logs contain one unique id.
    UniqueId,
    /// Both logs contain one unique tuple: origin chain, counter, contract.
    UniqueTuple,
    /// The destination contains the hash of the source transaction.
    SourceHash,
    /// The id is computed from the source.
    DerivedId,
    /// Both have the same content; equal ones are joined in order of time.
    Content,
    /// Receiver, amount and time alone.
    Heuristic,
}

impl MatchClass {
    /// All classes, strongest first.
    pub const ALL: [Self; 6] =
        [Self::UniqueId, Self::UniqueTuple, Self::SourceHash, Self::DerivedId, Self::Content, Self::Heuristic];

    /// Its letter, `A` to `F`.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::UniqueId => 'A',
            Self::UniqueTuple => 'B',
            Self::SourceHash => 'C',
            Self::DerivedId => 'D',
            Self::Content => 'E',
            Self::Heuristic => 'F',
        }
    }

    /// Returns what the legs share, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UniqueId => "id",
            Self::UniqueTuple => "counter with chain and contract",
            Self::SourceHash => "hash of the source transaction",
            Self::DerivedId => "id computed from the source",
            Self::Content => "equal content",
            Self::Heuristic => "receiver, amount and time",
        }
    }
}

/// The key that the legs of one transfer share. Legs of one family with an equal key belong together.
///
/// Its text is the value that people look up: an id in `0x` hex, or parts with `:` between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkKey(Box<str>);

impl LinkKey {
    /// A key from its text.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An asset as a bridge names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// The native coin of the chain.
    Native,
    /// A contract of the chain, or what another kind of chain has in its place.
    Contract(Party),
    /// A symbol: the event names no contract.
    Symbol(Arc<str>),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Contract(contract) => fmt::Display::fmt(contract, f),
            Self::Symbol(symbol) => f.write_str(symbol),
        }
    }
}

impl Token {
    /// A contract of an EVM chain or TRON.
    #[must_use]
    pub const fn contract(address: Address) -> Self {
        Self::Contract(Party::Account(address))
    }
}

/// The identity of a leg: unique, and ordered by chain, block and log index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HalfId {
    /// The chain.
    pub chain: BridgeChain,
    /// The height of the block.
    pub block: u64,
    /// The log that the leg was read from; [`u64::MAX`] where it was read from call data.
    pub log_index: u64,
    /// The transaction.
    pub transaction: TxHash,
    /// The statement of the leg.
    pub step: Step,
    /// The protocol.
    pub family: Arc<str>,
    /// The first key.
    pub key: LinkKey,
}

/// One leg of a bridge transfer: what a transaction of one chain says about it.
///
/// Amounts are in the smallest unit of the token on the leg's own chain; `other_*` are what the event says about the
/// other chain. A field is `None` where the protocol does not state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// The protocol whose keys these are: the namespace of [`Half::keys`].
    pub family: Arc<str>,
    /// The name for people, of the bridge that used the protocol.
    pub bridge: Arc<str>,
    /// The event, or the function whose call data were read.
    pub event: Arc<str>,
    /// The statement of the leg.
    pub step: Step,
    /// The rule by which legs of this kind are joined.
    pub class: MatchClass,
    /// The keys that it shares with the other legs, the one for people first. Never empty.
    pub keys: Vec<LinkKey>,
    /// The chain.
    pub chain: BridgeChain,
    /// The height of the block.
    pub block: u64,
    /// The time of the block.
    pub time: Timestamp,
    /// The transaction.
    pub transaction: TxHash,
    /// The log; [`u64::MAX`] where it was read from call data.
    pub log_index: u64,
    /// The other chain.
    pub other_chain: Option<BridgeChain>,
    /// The transaction on the other chain, where the event names it.
    pub other_transaction: Option<TxHash>,
    /// The sender, on the source chain.
    pub sender: Option<Party>,
    /// The receiver, on the destination chain.
    pub receiver: Option<Party>,
    /// The asset on this chain.
    pub token: Option<Token>,
    /// The amount of it.
    pub amount: Option<Amount>,
    /// The asset on the other chain.
    pub other_token: Option<Token>,
    /// The amount of that.
    pub other_amount: Option<Amount>,
}

impl Half {
    /// Its identity.
    #[must_use]
    pub fn id(&self) -> HalfId {
        HalfId {
            chain: self.chain,
            block: self.block,
            log_index: self.log_index,
            transaction: self.transaction,
            step: self.step,
            family: Arc::clone(&self.family),
            key: self.key().clone(),
        }
    }

    /// The first key: the message id of answers.
    #[must_use]
    pub fn key(&self) -> &LinkKey {
        self.keys.first().expect("a leg has a key")
    }

    /// Returns whether the leg states what moved: others are messages, or deliveries that leave that to the source.
    #[must_use]
    pub fn states_amount(&self) -> bool {
        self.amount.is_some()
    }

    /// Returns whether both have one identity.
    pub(crate) fn is_same_leg(&self, other: &Self) -> bool {
        let place = |half: &Self| (half.chain, half.block, half.log_index, half.transaction, half.step);
        place(self) == place(other) && self.key() == other.key() && self.family == other.family
    }

    /// The order of legs of all chains: time, then identity.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (self.time, self.chain, self.block, self.log_index, self.transaction, self.step, &self.family, &self.keys)
    }
}
