//! The behaviours of an address: their catalogue and the rules that find them.
//!
//! A behaviour is a pattern in movements. It is not an accusation: exchanges, shops and bots show many of them, which is why
//! risk reads them in the light of who the address is. One file under `rules/` contains one behaviour, with its limits;
//! the parameter file contains their values ([`crate::risk::Parameters`]). All rules of an address share one reading of
//! its movements ([`History`]).
//!
//! # Adding a behaviour
//! 1. A file in `rules/` with its limits and [`Detect`], or [`DetectAmongOthers`] where it has to see what others did.
//! 2. A line in the catalogue below.
//! 3. Its section in `risk/parameters.toml`.
//!
//! `scam_pattern` is a behaviour without a rule: the classifier finds it, see [`crate::risk::ScamLikeness`].

mod chance;
mod episodes;
mod gather;
mod history;
mod others;
mod patterns;
mod rules;

#[cfg(test)]
mod tests;

use headwater_ledger::LedgerError;
use headwater_types::{Address, Usd};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

pub use self::episodes::{Detection, Evidence, Fact};
pub use self::gather::{HistoryGather, KnownAs};
pub use self::history::{
    AssetKind, AssetNote, Counterparty, CounterpartyFlow, DustGuard, History, NOBODY, Roles, Transfer, Way,
};
pub use self::others::{
    Creation, Moved, NoOthers, Others, OthersInLedger, OthersLimits, Reading, Sent, WholeTransaction,
};

/// The maximum number of transactions and addresses that a detection lists.
pub const MAX_LISTED: usize = 10;

/// How grave a behaviour is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Common among honest users.
    Low,
    /// Worth a look.
    Medium,
    /// Rarely innocent.
    High,
}

impl Severity {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Behaviours of one family are views of one thing: the second one counts half, further ones a quarter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// How fast.
    Velocity,
    /// From few to many.
    Dispersal,
    /// From many to few.
    Collection,
    /// Ways that hide where money comes from.
    Layering,
    /// Addresses that are used up.
    Disposable,
    /// Mixers.
    Obfuscation,
    /// Deceit.
    Fraud,
    /// Trades.
    Market,
    /// Machines.
    Automation,
    /// Like scams that are known.
    Scam,
    /// Worth knowing, without a score.
    Info,
}

impl Family {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Velocity => "velocity",
            Self::Dispersal => "dispersal",
            Self::Collection => "collection",
            Self::Layering => "layering",
            Self::Disposable => "disposable",
            Self::Obfuscation => "obfuscation",
            Self::Fraud => "fraud",
            Self::Market => "market",
            Self::Automation => "automation",
            Self::Scam => "scam",
            Self::Info => "info",
        }
    }
}

/// The movements that a rule needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Movements of the address, whatever they are worth.
    Movements,
    /// Movements of the address that have a worth.
    Values,
}

/// A rule that finds one behaviour. Pure: the same history gives the same find.
pub trait Detect {
    /// The movements that it needs.
    const NEEDS: Needs = Needs::Values;

    /// Returns the find in the history of an address; `None` if the rule does not hold.
    fn detect(&self, history: &History) -> Option<Detection>;
}

/// A rule that finds one behaviour in what an address and others did. It asks others only where the history of the
/// address leaves it open, and what it may not read is noted in the [`Reading`].
pub trait DetectAmongOthers {
    /// The movements of the address itself that it needs.
    const NEEDS: Needs;
    /// True if it reads movements of others.
    const READS_OTHERS: bool = true;

    /// Returns the find in the history of an address; `None` if the rule does not hold, or cannot be decided.
    ///
    /// # Errors
    /// When others cannot be read.
    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError>;
}

impl<T: Detect> DetectAmongOthers for T {
    const NEEDS: Needs = T::NEEDS;
    const READS_OTHERS: bool = false;

    fn detect_among(&self, history: &History, _: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        Ok(self.detect(history))
    }
}

/// The finds of the rules about one address.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Findings {
    /// The finds, in the order of the catalogue.
    pub found: Vec<(Behaviour, Detection)>,
    /// Those that could not be decided, in the order of the catalogue: prices are not held, or it would take too much
    /// reading of others.
    pub deferred: Vec<Behaviour>,
}

impl Findings {
    /// The rules that were decided, in the order of the catalogue.
    pub fn evaluated(&self) -> impl Iterator<Item = Behaviour> {
        Behaviour::ALL.iter().copied().filter(|behaviour| !self.deferred.contains(behaviour))
    }
}

/// When the classifier counts, and how. `risk::ScamLikeness` states the formula.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScamPattern {
    /// The likeness from which the pattern counts as found. Below it only adds its points.
    pub least_likeness: f64,
    /// The number of real scams that a model of the program has learnt from, at least. An operator's own model always counts.
    pub least_examples: u64,
    /// By how much the odds of the model are divided; `None` for the `least_odds` that the model states.
    pub odds: Option<f64>,
}

/// One behaviour's parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule<L> {
    /// How grave it is; also how long it is remembered.
    pub severity: Severity,
    /// The score of one fresh episode of full intensity, 0 to 100.
    pub base: f64,
    /// How its score changes with who the address is, one number for each of the eight kinds of
    /// context.
    pub weights: [f64; 8],
    /// Its thresholds.
    pub limits: L,
}

macro_rules! catalogue {
    ($($variant:ident $field:ident $family:ident $name:literal $name_zh:literal $limits:ty;)*) => {
        /// An entry of the catalogue of behaviours.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Behaviour {
            $(#[doc = $name] $variant,)*
            /// Scam pattern, which the classifier finds.
            ScamPattern,
        }

        impl Behaviour {
            /// The behaviours with a rule, in the order of the catalogue: all but [`Behaviour::ScamPattern`].
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code in answers.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => stringify!($field),)* Self::ScamPattern => "scam_pattern" }
            }

            /// The name in English.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::ScamPattern => "Scam pattern" }
            }

            /// The name in Chinese.
            #[must_use]
            pub const fn name_zh(self) -> &'static str {
                match self { $(Self::$variant => $name_zh,)* Self::ScamPattern => "诈骗模式" }
            }

            /// The family.
            #[must_use]
            pub const fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family,)* Self::ScamPattern => Family::Scam }
            }

            /// Returns the movements of the address itself that its rule needs.
            #[must_use]
            pub const fn needs(self) -> Needs {
                match self {
                    $(Self::$variant => <$limits as DetectAmongOthers>::NEEDS,)*
                    Self::ScamPattern => Needs::Movements,
                }
            }

            /// Returns true if its rule reads movements of others.
            #[must_use]
            pub const fn reads_others(self) -> bool {
                match self {
                    $(Self::$variant => <$limits as DetectAmongOthers>::READS_OTHERS,)*
                    Self::ScamPattern => false,
                }
            }
        }

        /// The rules of all behaviours.
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Rules {
            $(#[doc = $name] pub $field: Rule<$limits>,)*
            /// Scam pattern.
            pub scam_pattern: Rule<ScamPattern>,
        }

        impl Rules {
            /// Severity and base score of a behaviour.
            #[must_use]
            pub fn terms(&self, behaviour: Behaviour) -> (Severity, f64) {
                match behaviour {
                    $(Behaviour::$variant => (self.$field.severity, self.$field.base),)*
                    Behaviour::ScamPattern => (self.scam_pattern.severity, self.scam_pattern.base),
                }
            }

            /// How the score of a behaviour changes with who the address is.
            #[must_use]
            pub fn weights(&self, behaviour: Behaviour) -> &[f64; 8] {
                match behaviour {
                    $(Behaviour::$variant => &self.$field.weights,)*
                    Behaviour::ScamPattern => &self.scam_pattern.weights,
                }
            }

            /// Applies the rules to the history of an address, and to movements of others where that leaves a rule open.
            ///
            /// # Errors
            /// When others cannot be read.
            pub fn scan(&self, address: &Address, history: &History, others: &dyn Others) -> Result<Findings, LedgerError> {
                if history.all.is_empty() {
                    return Ok(Findings { found: Vec::new(), deferred: Behaviour::ALL.to_vec() });
                }
                let mut findings = Findings::default();
                $({
                    let reading = Reading::new(others, *address);
                    match self.$field.limits.detect_among(history, &reading)? {
                        Some(find) => findings.found.push((Behaviour::$variant, find)),
                        None if reading.has_missed() || !Behaviour::$variant.is_evaluated_on(history) => {
                            findings.deferred.push(Behaviour::$variant);
                        }
                        None => {}
                    }
                })*
                Ok(findings)
            }
        }
    };
}

use self::rules::{
    AddressPoisoning, AlwaysOn, ApprovalDrain, AssetHopping, BridgeHopping, BurnerWallet, DormantReactivation, Dusting,
    EqualAmountSplit, FanIn, FanOut, FixedInterval, GasFundedByMixer, GatherScatter, HighFrequency, LayeringHop,
    MevBot, MixerInteraction, MultiExchangeCashout, NewTokenDump, PassThrough, PeelChain, PoisoningTarget, PonziPayout,
    RapidInOut, RoundAmounts, RoundTrip, SandwichAttack, ScatterGather, Structuring, WashTrading,
};

catalogue! {
    RapidInOut rapid_in_out Velocity "Rapid in and out" "快进快出" RapidInOut;
    PassThrough pass_through Velocity "Pass-through address" "资金过境" PassThrough;
    FanOut fan_out Dispersal "Dispersal to many" "资金分散" FanOut;
    FanIn fan_in Collection "Collection from many" "资金归集" FanIn;
    GatherScatter gather_scatter Layering "Gather then scatter" "聚合再分散" GatherScatter;
    ScatterGather scatter_gather Layering "Scatter then gather" "分散再聚合" ScatterGather;
    BurnerWallet burner_wallet Disposable "Burner wallet" "一次性钱包" BurnerWallet;
    PeelChain peel_chain Layering "Peel chain" "剥离链" PeelChain;
    DormantReactivation dormant_reactivation Disposable "Dormant reactivation" "休眠后激活" DormantReactivation;
    Structuring structuring Dispersal "Structuring (smurfing)" "拆分交易" Structuring;
    EqualAmountSplit equal_amount_split Dispersal "Equal-amount split" "等额拆分" EqualAmountSplit;
    RoundAmounts round_amounts Dispersal "Round amounts" "整数金额偏好" RoundAmounts;
    MixerInteraction mixer_interaction Obfuscation "Mixer interaction" "混币器交互" MixerInteraction;
    GasFundedByMixer gas_funded_by_mixer Obfuscation "Gas funded by mixer" "混币器提供手续费" GasFundedByMixer;
    AddressPoisoning address_poisoning Fraud "Address poisoning sender" "地址投毒" AddressPoisoning;
    Dusting dusting Fraud "Dusting sender" "粉尘攻击" Dusting;
    PoisoningTarget poisoning_target Info "Poisoning target" "投毒攻击目标" PoisoningTarget;
    RoundTrip round_trip Layering "Round trip" "循环回流" RoundTrip;
    WashTrading wash_trading Market "Wash trading" "刷量交易" WashTrading;
    BridgeHopping bridge_hopping Layering "Bridge hopping" "跨链跳转" BridgeHopping;
    AssetHopping asset_hopping Layering "Asset hopping" "换币洗转" AssetHopping;
    LayeringHop layering_hop Layering "Layering hop" "多层转移" LayeringHop;
    MultiExchangeCashout multi_exchange_cashout Dispersal "Split cash-out" "多交易所出金" MultiExchangeCashout;
    SandwichAttack sandwich_attack Market "Sandwich attack" "三明治攻击" SandwichAttack;
    MevBot mev_bot Market "MEV bot" "MEV 机器人" MevBot;
    HighFrequency high_frequency Velocity "High-frequency transfers" "高频交易" HighFrequency;
    AlwaysOn always_on Automation "Round-the-clock automation" "全天候自动化" AlwaysOn;
    FixedInterval fixed_interval Automation "Fixed-interval transfers" "固定间隔转账" FixedInterval;
    NewTokenDump new_token_dump Fraud "New-token dump" "新币砸盘" NewTokenDump;
    ApprovalDrain approval_drain Fraud "Approval drain" "授权钓鱼盗取" ApprovalDrain;
    PonziPayout ponzi_payout Fraud "Ponzi-like payouts" "庞氏分红" PonziPayout;
}

impl Behaviour {
    /// The behaviour of a code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().chain([Self::ScamPattern]).find(|behaviour| behaviour.code() == code)
    }

    /// Returns true if a history is enough of the address itself for its rule.
    #[must_use]
    pub fn is_evaluated_on(self, history: &History) -> bool {
        match self.needs() {
            Needs::Movements => !history.all.is_empty(),
            Needs::Values => !history.all.is_empty() && (history.unpriced == 0 || !history.valued.is_empty()),
        }
    }
}

/// One value by another; 0 where the other is nothing.
fn ratio(part: Usd, whole: Usd) -> f64 {
    if whole == Usd::ZERO { 0.0 } else { part.to_f64() / whole.to_f64() }
}

/// Returns the inflow that did not leave, at its worth when it came.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn residual(history: &History) -> Usd {
    let mut by_asset: FxHashMap<u32, (u128, u128, Usd)> = FxHashMap::default();
    for transfer in &history.valued {
        let (came, left, usd) = by_asset.entry(transfer.asset).or_default();
        match transfer.way {
            Way::In => {
                *came = came.saturating_add(transfer.raw);
                *usd += transfer.usd;
            }
            Way::Out => *left = left.saturating_add(transfer.raw),
        }
    }
    let stays = |(came, left, usd): &(u128, u128, Usd)| match came.saturating_sub(*left) {
        0 => Usd::ZERO,
        rest => Usd::from_f64(usd.to_f64() * (rest as f64 / *came as f64)).unwrap_or(*usd),
    };
    by_asset.values().map(stays).sum()
}
