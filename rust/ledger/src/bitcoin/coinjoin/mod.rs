//! Transactions that several people make together, so that nobody can see who paid whom.
//!
//! They are known by their shape: equal outputs, many payers, amounts that a protocol uses. One file holds one protocol. A
//! shape proves nothing, and some rounds have none; see `docs/bitcoin.md`.
//!
//! Conditions and confidences are those of GraphSense (2026), with what rounds of later protocols look like.

mod equal_outputs;
mod shape;
mod wasabi;
mod whirlpool;

use headwater_types::Timestamp;

use self::shape::Shape;
pub use self::whirlpool::{Premix, premix};
use super::TransactionView;

/// Least confidence, before it is halved for unknown inputs, at which common inputs link nobody. A wrong link joins strangers;
/// a missing one leaves two clusters of one owner apart.
pub const LINKS_NOBODY_FROM: f64 = 0.25;

/// Least confidence at which a transaction is taken for a CoinJoin: it has no change, and no pairs of payer and payee. A
/// payroll may look like a CoinJoin of less, and keeps its payees.
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
    /// Equal outputs that as many people can have funded, by no known protocol.
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
    /// The confidence of the shape alone, 0 to 1.
    pub confidence: f64,
    /// True if it is not held what some input spends. What is held contradicts nothing; the confidence is halved.
    pub inputs_unknown: bool,
}

impl CoinJoin {
    /// Returns whether it makes no pairs of payer and payee: see [`EXCLUDES_FROM`].
    #[must_use]
    pub fn excludes(&self) -> bool {
        self.confidence >= EXCLUDES_FROM
    }

    /// Returns whether its shape, unknown inputs or not, is that of a CoinJoin.
    #[must_use]
    pub fn is_detected(&self) -> bool {
        self.of_shape() >= EXCLUDES_FROM
    }

    /// Returns whether its inputs link nobody: see [`LINKS_NOBODY_FROM`].
    #[must_use]
    pub fn links_nobody(&self) -> bool {
        self.of_shape() >= LINKS_NOBODY_FROM
    }

    /// The confidence before it is halved for unknown inputs.
    fn of_shape(&self) -> f64 {
        if self.inputs_unknown { 2.0 * self.confidence } else { self.confidence }
    }
}

/// The facts about a transaction beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// True if an input spends from an address that labels call an exchange: exchanges pay many people equal amounts.
    pub has_exchange_input: bool,
    /// True if every input spends from a premix transaction or a round of Whirlpool.
    pub descends_from_whirlpool: bool,
}

/// The CoinJoin that a transaction looks like: of several the one of the largest confidence.
///
/// Where it is not held what inputs spend, conditions about them hold unless what is held contradicts them.
#[must_use]
pub fn coinjoin(transaction: &TransactionView<'_>, surroundings: Surroundings) -> Option<CoinJoin> {
    let shape = Shape::of(transaction)?;
    let scale = if shape.unknown_inputs > 0 { 0.5 } else { 1.0 };
    let mut found: Option<CoinJoin> = None;
    for protocol in Protocol::ALL {
        let is_vetoed = match protocol {
            Protocol::Whirlpool => false,
            Protocol::WasabiTwo => shape.is_stonewall() || surroundings.has_exchange_input,
            Protocol::WasabiOne | Protocol::JoinMarket => {
                shape.is_stonewall() || surroundings.has_exchange_input || shape.has_too_few_equal_outputs()
            }
            // Whatever labels say, what links nobody is shown.
            Protocol::Unknown => {
                let is_weak = shape.is_stonewall() || surroundings.has_exchange_input;
                shape.has_few_equal_outputs() && is_weak || shape.has_too_few_equal_outputs()
            }
        };
        if is_vetoed {
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
