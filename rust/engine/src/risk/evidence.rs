//! What a behaviour rests on, as answers carry it.

use std::collections::BTreeMap;

use headwater_intel::behaviour::{Evidence, Fact};
use headwater_intel::risk::significant;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Family};
use serde::Serialize;
use serde_json::{Value, json};

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
    pub facts: BTreeMap<String, Value>,
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

fn value(fact: &Fact) -> Value {
    match fact {
        Fact::Count(count) => json!(count),
        Fact::Usd(usd) => json!(rounded(usd.to_f64(), 2)),
        Fact::Ratio(ratio) | Fact::Units(ratio) => json!(significant(*ratio, 6)),
        Fact::Secs(secs) => json!(secs),
        Fact::Word(word) => json!(word),
        Fact::Addresses(addresses) | Fact::Path(addresses) => json!(texts(addresses)),
        Fact::Pairs(pairs) => json!(pairs.iter().map(|(one, other)| texts(&[*one, *other])).collect::<Vec<_>>()),
        Fact::Numbers(numbers) => json!(numbers.iter().map(|number| rounded(*number, 6)).collect::<Vec<_>>()),
        Fact::EachSecs(secs) => json!(secs),
        Fact::Words(words) => json!(words),
        Fact::Text(text) => json!(text),
        Fact::Features(features) => features.iter().map(feature).collect(),
        Fact::Asset(Asset::Native) => json!("native"),
        Fact::Asset(Asset::Token(contract)) => json!(contract.to_string()),
    }
}

/// A feature as `address-classify` shows it; null where the address has no value.
fn feature((name, value, contribution): &(&'static str, f64, f64)) -> Value {
    let value = value.is_finite().then(|| significant(*value, 6));
    json!({"feature": name, "value": value, "contribution": significant(*contribution, 6)})
}

fn texts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(Address::to_string).collect()
}
