//! The list of addresses that victims of extortion paid.

use std::collections::BTreeMap;

use headwater_types::{Address, Chain, Timestamp};
use serde::Serialize;

use super::publish::{LabelFile, LabelFormat, LabelList};
use crate::clock::DAY;
use crate::random::Stream;
use crate::truth::{AddressTruth, PublicLabel};
use crate::world::World;
use crate::world::ransoms::RansomPayment;

/// The name of the list.
const NAME: &str = "ransomware";
/// The publisher.
const GROUP: &str = "ransomwhe.re";
/// The level of trust.
const LEVEL: &str = "forensic";
/// The number of addresses in a hundred that were paid and are known.
const KNOWN_PERCENT: u64 = 75;
/// The number of addresses of victims in a hundred that are taken for those of the extortioner.
const CONFUSED_PERCENT: u64 = 12;
/// Names of families; larger economies have more cases, which go by name and number.
const FAMILIES: [&str; 4] = ["GreyTide", "NullVault", "PaperWolf", "IronLatch"];

/// A row, in the form of Ransomwhere's export.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    address: String,
    /// Satoshis that came in.
    balance: u64,
    blockchain: &'static str,
    created_at: String,
    family: Option<String>,
    transactions: Vec<Transaction>,
}

#[derive(Debug, Serialize)]
struct Transaction {
    hash: String,
    time: i64,
    amount: u64,
    #[serde(rename = "amountUSD")]
    amount_usd: serde_json::Number,
}

#[derive(Debug, Serialize)]
struct Export {
    result: Vec<Row>,
}

/// The list while it is made.
pub(super) struct RansomwareList {
    paid: BTreeMap<Address, Vec<RansomPayment>>,
    rows: Vec<Row>,
    stream: Stream,
}

impl RansomwareList {
    pub(super) fn new(world: &World) -> Self {
        let mut paid: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for payment in &world.ransoms {
            paid.entry(payment.to).or_default().push(payment.clone());
        }
        Self { paid, rows: Vec::new(), stream: Stream::new(world.seed, "list/ransomware") }
    }

    /// Returns what it says of an address: mostly that it was paid, at times of a victim that it paid.
    pub(super) fn claim(&mut self, truth: &AddressTruth, since: i64, end: i64) -> Option<PublicLabel> {
        if truth.chain != Chain::BITCOIN {
            return None;
        }
        let paid = self.paid.remove(&truth.address);
        let victim = truth.owner.starts_with("firm-ransomware-");
        let percent = if paid.is_some() { KNOWN_PERCENT } else { CONFUSED_PERCENT };
        if (paid.is_none() && !victim) || self.stream.below(100) >= percent {
            return None;
        }
        let family = paid.as_ref().map(|paid| family(&paid[0].case));
        // Whoever reports a payment does so within months.
        let reported = since + self.stream.secs(DAY, 80 * DAY);
        let reported = reported.min(end);
        let transactions: Vec<_> = paid.iter().flatten().map(transaction).collect();
        self.rows.push(Row {
            address: truth.address.to_string(),
            balance: transactions.iter().map(|transaction| transaction.amount).sum(),
            blockchain: Chain::BITCOIN.name(),
            created_at: Timestamp::new(reported).to_string().replace('Z', ".000Z"),
            family: family.clone(),
            transactions,
        });
        Some(PublicLabel {
            chain: truth.chain,
            address: truth.address,
            code: "ransomware".to_owned(),
            correct: family.is_some(),
            entity: family.unwrap_or_default(),
            list: NAME.to_owned(),
            group: GROUP.to_owned(),
            level: LEVEL.to_owned(),
            asserted_secs: Some(reported.unsigned_abs()),
            valid_until_secs: None,
        })
    }

    pub(super) fn publish(self) -> LabelList {
        let export = Export { result: self.rows };
        let bytes = serde_json::to_vec_pretty(&export).expect("rows of texts and numbers are JSON");
        LabelList {
            name: NAME.to_owned(),
            source: GROUP.to_owned(),
            format: LabelFormat::Ransomwhere,
            level: LEVEL,
            edition: None,
            files: vec![LabelFile { name: format!("{NAME}.json"), bytes }],
        }
    }
}

/// The family behind a case, which ends in its number.
fn family(case: &str) -> String {
    let number = case.rsplit('-').next().and_then(|text| text.parse::<usize>().ok()).unwrap_or(1).max(1) - 1;
    let name = FAMILIES[number % FAMILIES.len()];
    match number / FAMILIES.len() {
        0 => name.to_owned(),
        round => format!("{name} {}", round + 1),
    }
}

fn transaction(payment: &RansomPayment) -> Transaction {
    let &RansomPayment { ref hash, secs, satoshis, cents, .. } = payment;
    let hash = hash.display(Chain::BITCOIN.family());
    let dollars = format!("{}.{:02}", cents / 100, cents % 100);
    let amount_usd = dollars.parse().expect("digits with a point are a number");
    Transaction { hash, time: secs, amount: satoshis, amount_usd }
}
