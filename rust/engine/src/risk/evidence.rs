//! What a behaviour rests on, as answers carry it.

use std::collections::BTreeMap;

use headwater_intel::behaviour::{Evidence, Fact};
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
            facts: evidence.facts.iter().map(|(name, fact)| ((*name).to_owned(), value(fact))).collect(),
        })
    }
}

fn value(fact: &Fact) -> Value {
    match fact {
        Fact::Count(count) => json!(count),
        Fact::Usd(usd) => json!(rounded(usd.to_f64(), 2)),
        Fact::Ratio(ratio) | Fact::Units(ratio) => json!(rounded(*ratio, 6)),
        Fact::Secs(secs) => json!(secs),
        Fact::Word(word) => json!(word),
        Fact::Addresses(addresses) | Fact::Path(addresses) => json!(texts(addresses)),
        Fact::Pairs(pairs) => json!(pairs.iter().map(|(one, other)| texts(&[*one, *other])).collect::<Vec<_>>()),
        Fact::Numbers(numbers) => json!(numbers.iter().map(|number| rounded(*number, 6)).collect::<Vec<_>>()),
        Fact::EachSecs(secs) => json!(secs),
        Fact::Words(words) => json!(words),
        Fact::Asset(Asset::Native) => json!("native"),
        Fact::Asset(Asset::Token(contract)) => json!(contract.to_string()),
    }
}

fn texts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(Address::to_string).collect()
}
