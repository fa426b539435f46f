//! Transactions that several people make together, so that nobody can tell who paid whom.
//!
//! They are known by their shape: equal outputs, many payers, amounts that a protocol uses. One file holds one protocol. A
//! shape is no proof, and some rounds have none; see `docs/bitcoin.md`.
//!
//! Conditions and confidences are those of GraphSense (2026), the unknown kind is that of `BlockSci`.

mod equal_outputs;
mod shape;
mod wasabi;
mod whirlpool;

use headwater_types::Timestamp;

use self::shape::Shape;
pub use self::whirlpool::{Premix, premix};
use super::TransactionView;

/// Least confidence at which a transaction links nobody: it is left out of clusters and of pairs of payer and payee.
pub const EXCLUDES_FROM: f64 = 0.49;

/// Least confidence at which it is called a CoinJoin in a label.
pub const LABELS_FROM: f64 = 0.60;

/// The protocol of a CoinJoin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// Whirlpool: as many equal outputs of a pool's amount as inputs.
    Whirlpool,
    /// Wasabi 1.0 and 1.1: equal outputs of about 0.1 BTC and its doublings.
    WasabiOne,
    /// Wasabi 2.0: many standard amounts.
    WasabiTwo,
    /// `JoinMarket`: equal outputs of an amount that one party chose.
    JoinMarket,
    /// Equal outputs of half of all, by no known protocol.
    Unknown,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 5] = [Self::Whirlpool, Self::WasabiOne, Self::WasabiTwo, Self::JoinMarket, Self::Unknown];

    /// The name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whirlpool => "whirlpool",
            Self::WasabiOne => "wasabi1",
            Self::WasabiTwo => "wasabi2",
            Self::JoinMarket => "joinmarket",
            Self::Unknown => "unknown",
        }
    }
}

/// A transaction that looks like several people's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoinJoin {
    /// The protocol.
    pub protocol: Protocol,
    /// How much the shape tells, 0 to 1.
    pub confidence: f64,
    /// Whether it is not held what some input spends. What is held contradicts nothing; the confidence is halved.
    pub inputs_unknown: bool,
}

impl CoinJoin {
    /// Whether it links nobody: see [`EXCLUDES_FROM`].
    #[must_use]
    pub fn excludes(&self) -> bool {
        self.confidence >= EXCLUDES_FROM
    }
}

/// What is known of a transaction beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Whether an input spends from an address that labels call an exchange: exchanges pay many people equal amounts.
    pub has_exchange_input: bool,
    /// Whether every input spends from a premix transaction or a round of Whirlpool.
    pub descends_from_whirlpool: bool,
}

/// The CoinJoin that a transaction looks like: of several the one of the largest confidence.
///
/// Where it is not held what inputs spend, conditions about them hold unless what is held contradicts them.
#[must_use]
pub fn coinjoin(transaction: &TransactionView<'_>, surroundings: Surroundings) -> Option<CoinJoin> {
    let shape = Shape::of(transaction)?;
    let is_vetoed = shape.is_stonewall() || surroundings.has_exchange_input;
    let scale = if shape.unknown_inputs > 0 { 0.5 } else { 1.0 };
    let mut found: Option<CoinJoin> = None;
    for protocol in Protocol::ALL {
        if is_vetoed && protocol != Protocol::Whirlpool {
            continue;
        }
        let Some(confidence) = confidence(&shape, protocol, transaction.time(), surroundings) else { continue };
        let confidence = confidence * scale;
        if found.is_none_or(|best| confidence > best.confidence) {
            found = Some(CoinJoin { protocol, confidence, inputs_unknown: shape.unknown_inputs > 0 });
        }
    }
    found
}

fn confidence(shape: &Shape, protocol: Protocol, time: Timestamp, surroundings: Surroundings) -> Option<f64> {
    match protocol {
        Protocol::Whirlpool => whirlpool::confidence(shape, surroundings.descends_from_whirlpool),
        Protocol::WasabiOne => wasabi::one(shape),
        Protocol::WasabiTwo => wasabi::two(shape, time),
        Protocol::JoinMarket => equal_outputs::joinmarket(shape),
        Protocol::Unknown => equal_outputs::unknown(shape),
    }
}
