//! Who the address is, as far as that changes what its behaviours mean.

use headwater_ledger::labels::{Category, Code};

use super::parameters::Parameters;
use crate::label::Aggregate;

/// Who the address is. Money in and out within the hour is the business of an exchange, and grave of a mixer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// An exchange.
    Exchange,
    /// An address at which an exchange takes deposits.
    Deposit,
    /// A decentralised exchange.
    Dex,
    /// Another protocol.
    Defi,
    /// A bridge.
    Bridge,
    /// Payments, shops, gambling.
    Payment,
    /// A mining pool.
    MiningPool,
    /// A bot.
    MevBot,
    /// A mixer.
    Mixer,
    /// Somebody illicit.
    Illicit,
}

impl Context {
    /// The columns of the weights of a behaviour, by their names in the parameter file.
    pub const COLUMNS: [&'static str; 8] =
        ["exchange", "deposit", "protocol", "payment", "mining_pool", "mev_bot", "mixer", "illicit"];

    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Deposit => "deposit",
            Self::Dex => "dex",
            Self::Defi => "defi",
            Self::Bridge => "bridge",
            Self::Payment => "payment",
            Self::MiningPool => "mining_pool",
            Self::MevBot => "mev_bot",
            Self::Mixer => "mixer",
            Self::Illicit => "illicit",
        }
    }

    /// Its place in [`Context::COLUMNS`].
    #[must_use]
    pub const fn column(self) -> usize {
        match self {
            Self::Exchange => 0,
            Self::Deposit => 1,
            Self::Dex | Self::Defi | Self::Bridge => 2,
            Self::Payment => 3,
            Self::MiningPool => 4,
            Self::MevBot => 5,
            Self::Mixer => 6,
            Self::Illicit => 7,
        }
    }

    fn of(code: Code) -> Option<Self> {
        Some(match code {
            Code::Exchange | Code::ExchangeHotWallet | Code::NoKycExchange | Code::HighRiskExchange => Self::Exchange,
            Code::Deposit => Self::Deposit,
            Code::Dex => Self::Dex,
            Code::Defi => Self::Defi,
            Code::Bridge => Self::Bridge,
            Code::Payment | Code::Merchant | Code::Gambling => Self::Payment,
            Code::MiningPool => Self::MiningPool,
            Code::MevBot => Self::MevBot,
            Code::Mixer | Code::CoinjoinCoordinator => Self::Mixer,
            _ => match code.category() {
                Category::Sanctions
                | Category::Terrorism
                | Category::Theft
                | Category::Ransomware
                | Category::Darknet
                | Category::Scam => Self::Illicit,
                _ => return None,
            },
        })
    }
}

/// The context that was chosen, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextChoice {
    /// Who the address is.
    pub context: Context,
    /// κ, 0 to 1.
    pub confidence: f64,
}

impl ContextChoice {
    /// The context of the labels: the identity with the largest confidence; of equal ones the one that accuses least.
    #[must_use]
    pub fn of_labels(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Option<Self> {
        let named = aggregate.codes.iter().filter_map(|code| Some((Context::of(code.code)?, code.confidence)));
        let (context, confidence) =
            named.max_by(|one, other| one.1.total_cmp(&other.1).then_with(|| other.0.cmp(&one.0)))?;
        (confidence >= parameters.context.least_confidence).then_some(Self { context, confidence })
    }

    /// The context of a classification by behaviour, of a calibrated probability.
    #[must_use]
    pub fn of_class(parameters: &Parameters, context: Context, probability: f64) -> Option<Self> {
        let confidence = parameters.context.classifier_factor * probability;
        (probability >= parameters.context.least_probability).then_some(Self { context, confidence })
    }

    /// The weight of a behaviour: `1 + κ · (w - 1)`.
    #[must_use]
    pub fn weight(&self, weights: &[f64; 8]) -> f64 {
        1.0 + self.confidence * (weights[self.context.column()] - 1.0)
    }
}
