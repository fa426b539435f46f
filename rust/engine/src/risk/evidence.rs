//! What a behaviour rests on, as answers carry it.

use std::collections::BTreeMap;

use headwater_intel::behaviour::{Evidence, Fact};
use headwater_intel::risk::significant;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Family};
use serde::Serialize;

use super::rounded;
use crate::fields::HashText;

/// By what a behaviour can be checked: transactions, the window of the rule, and what was measured, by the names that
/// `docs/behaviours.md` explains.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct EvidenceRecord {
    /// Transactions of the most marked episode, in order of time, at most ten.
    pub tx_hashes: Vec<HashText>,
    /// The length of the window of the rule; null for rules about all that is known of the address.
    pub window_seconds: Option<i64>,
    /// How probable a pattern at least as marked is by chance, 0 to 1; null for rules without a model of chance. It is in no score.
    #[schema(minimum = 0, maximum = 1)]
    pub p_value: Option<f64>,
    /// What was counted and summed.
    #[serde(flatten)]
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    pub facts: BTreeMap<String, MeasuredValue>,
}

/// A measured value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MeasuredValue {
    /// A number of something.
    Count(u64),
    /// Seconds.
    Secs(i64),
    /// US dollars, a share, a factor or whole units of an asset.
    Number(f64),
    /// A word, an asset or another text.
    Text(String),
    /// Words, or addresses in order.
    Texts(Vec<String>),
    /// Pairs of addresses that belong together.
    Pairs(Vec<[String; 2]>),
    /// A number for each address of a path.
    Numbers(Vec<f64>),
    /// Seconds for each address of a path.
    EachSecs(Vec<i64>),
    /// The features that decided a class.
    Features(Vec<MeasuredFeature>),
}

/// A feature of a classifier, as `address-classify` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredFeature {
    /// Its name.
    pub feature: String,
    /// The value of the address; null where it has none.
    pub value: Option<f64>,
    /// What it adds in log-odds.
    pub contribution: f64,
}

impl EvidenceRecord {
    pub(super) fn new(ledger: &dyn Ledger, evidence: &Evidence, family: Family) -> Result<Self, LedgerError> {
        let hash = |transaction: &_| Ok(HashText::new(&ledger.transaction_head(*transaction)?.hash, family));
        Ok(Self {
            tx_hashes: evidence.transactions.iter().map(hash).collect::<Result<_, LedgerError>>()?,
            window_seconds: evidence.window_secs,
            p_value: evidence.p_value.map(|p_value| significant(p_value, 4)),
            facts: evidence.facts.iter().map(|(name, fact)| ((*name).to_owned(), value(fact))).collect(),
        })
    }
}

fn value(fact: &Fact) -> MeasuredValue {
    match fact {
        Fact::Count(count) => MeasuredValue::Count(*count),
        Fact::Usd(usd) => MeasuredValue::Number(rounded(usd.to_f64(), 2)),
        Fact::Ratio(ratio) | Fact::Units(ratio) => MeasuredValue::Number(significant(*ratio, 6)),
        Fact::Secs(secs) => MeasuredValue::Secs(*secs),
        Fact::Word(word) => MeasuredValue::Text((*word).to_owned()),
        Fact::Addresses(addresses) | Fact::Path(addresses) => MeasuredValue::Texts(texts(addresses)),
        Fact::Pairs(pairs) => {
            MeasuredValue::Pairs(pairs.iter().map(|(one, other)| [one, other].map(Address::to_string)).collect())
        }
        Fact::Numbers(numbers) => MeasuredValue::Numbers(numbers.iter().map(|number| rounded(*number, 6)).collect()),
        Fact::EachSecs(secs) => MeasuredValue::EachSecs(secs.clone()),
        Fact::Words(words) => MeasuredValue::Texts(words.iter().map(|word| (*word).to_owned()).collect()),
        Fact::Text(text) => MeasuredValue::Text(text.clone()),
        Fact::Features(features) => MeasuredValue::Features(features.iter().map(feature).collect()),
        Fact::Asset(Asset::Native) => MeasuredValue::Text("native".to_owned()),
        Fact::Asset(Asset::Token(contract)) => MeasuredValue::Text(contract.to_string()),
    }
}

fn feature((name, value, contribution): &(&'static str, f64, f64)) -> MeasuredFeature {
    MeasuredFeature {
        feature: (*name).to_owned(),
        value: value.is_finite().then(|| significant(*value, 6)),
        contribution: significant(*contribution, 6),
    }
}

fn texts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(Address::to_string).collect()
}
