//! Tests of the whole: real data where `HEADWATER_CORPUS` points, worked vectors, invariants.

mod celer;
mod corpus;
mod events;
mod invariants;
mod malformed;
mod matching;
mod nomad;
mod pairs;
mod tables;
mod worked;

use headwater_types::{Amount, Timestamp, TxHash};
use serde_json::Value as Json;

use crate::chain::BridgeChain;
use crate::half::Half;
use crate::log::{Log, Transaction};
use crate::{Tables, decode};

/// A log that owns its parts.
#[derive(Debug, Clone)]
pub(crate) struct OwnLog {
    pub(crate) contract: [u8; 20],
    pub(crate) topics: Vec<[u8; 32]>,
    pub(crate) data: Vec<u8>,
    pub(crate) index: u64,
}

/// A transaction that owns its parts.
#[derive(Debug, Clone)]
pub(crate) struct OwnedTransaction {
    pub(crate) chain: BridgeChain,
    pub(crate) block: u64,
    pub(crate) time: i64,
    pub(crate) hash: [u8; 32],
    pub(crate) from: Option<[u8; 20]>,
    pub(crate) to: Option<[u8; 20]>,
    pub(crate) input: Vec<u8>,
    pub(crate) logs: Vec<OwnLog>,
}

impl OwnedTransaction {
    pub(crate) fn on(chain: &str, hash: u8) -> Self {
        Self {
            chain: chain_named(chain),
            block: 1,
            time: 1_700_000_000,
            hash: [hash; 32],
            from: None,
            to: None,
            input: Vec::new(),
            logs: Vec::new(),
        }
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&Transaction<'_>) -> T) -> T {
        let log = |log: &'_ OwnLog| (log.contract, log.index);
        let logs: Vec<Log<'_>> = self
            .logs
            .iter()
            .map(|own| {
                let (contract, index) = log(own);
                Log { contract, topics: &own.topics, data: &own.data, index }
            })
            .collect();
        read(&Transaction {
            chain: self.chain,
            block: self.block,
            time: Timestamp::new(self.time),
            hash: TxHash::new(self.hash),
            succeeded: true,
            from: self.from,
            to: self.to,
            value: Amount::ZERO,
            input: &self.input,
            logs: &logs,
            transfers: &[],
        })
    }

    pub(crate) fn legs(&self) -> Vec<Half> {
        self.with(|transaction| decode(Tables::builtin(), transaction))
    }

    /// One leg, and no other.
    pub(crate) fn leg(&self) -> Half {
        let mut legs = self.legs();
        assert_eq!(legs.len(), 1, "{legs:#?}");
        legs.remove(0)
    }
}

pub(crate) fn chain_named(name: &str) -> BridgeChain {
    BridgeChain::from_name(name).unwrap_or_else(|| panic!("no chain {name}"))
}

pub(crate) fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text.trim_start_matches("0x")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn fixed<const N: usize>(text: &str) -> [u8; N] {
    bytes(text).try_into().unwrap_or_else(|bytes: Vec<u8>| panic!("{} bytes, not {N}", bytes.len()))
}

/// A number as a word.
pub(crate) fn word(number: u128) -> [u8; 32] {
    Amount::from_u128(number).to_be_bytes()
}

/// An account in a word.
pub(crate) fn padded(account: [u8; 20]) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&account);
    word
}

/// A log of the event that a table has under a name, with topics and words.
pub(crate) fn log(index: u64, contract: &str, signature: &str, topics: &[[u8; 32]], data: &[u8]) -> OwnLog {
    let event = Tables::builtin().events().iter().find(|event| event.signature() == signature);
    let topic0 = *event.unwrap_or_else(|| panic!("no event {signature}")).topic0();
    let topics = [&[topic0], topics].concat();
    OwnLog { contract: fixed(contract), topics, data: data.to_vec(), index }
}

/// `Transfer(address,address,uint256)`.
pub(crate) fn token_transfer(index: u64, token: [u8; 20], from: [u8; 20], to: [u8; 20], amount: u128) -> OwnLog {
    let topic0 = fixed("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
    OwnLog { contract: token, topics: vec![topic0, padded(from), padded(to)], data: word(amount).to_vec(), index }
}

/// ABI encoding of one dynamic value alone: offset, length, bytes.
pub(crate) fn dynamic(value: &[u8]) -> Vec<u8> {
    let mut encoded = [word(32), word(value.len() as u128)].concat();
    encoded.extend(value);
    encoded.resize(encoded.len().next_multiple_of(32), 0);
    encoded
}

/// A file of the corpus.
#[expect(clippy::disallowed_methods, reason = "the environment names the folder of real data")]
pub(crate) fn corpus_bytes(file: &str) -> Vec<u8> {
    let folder = std::env::var_os("HEADWATER_CORPUS").expect("corpus tests need HEADWATER_CORPUS");
    let path = std::path::Path::new(&folder).join("bridges").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn corpus_json(file: &str) -> Json {
    serde_json::from_slice(&corpus_bytes(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A log as the corpus writes it.
pub(crate) fn corpus_log(json: &Json) -> OwnLog {
    OwnLog {
        contract: fixed(text(json, "address")),
        topics: json["topics"].as_array().unwrap().iter().map(|topic| fixed(topic.as_str().unwrap())).collect(),
        data: bytes(text(json, "data")),
        index: json["log_index"].as_u64().unwrap(),
    }
}

pub(crate) fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json[name].as_str().unwrap_or_else(|| panic!("no text {name} in {json}"))
}

/// The 95 % interval of a share (Wilson 1927).
pub(crate) fn wilson(hits: usize, of: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let (hits, of) = (f64::from(u32::try_from(hits).unwrap()), f64::from(u32::try_from(of).unwrap()));
    let share = hits / of;
    let centre = share + Z * Z / (2.0 * of);
    let margin = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
    let scale = 1.0 + Z * Z / of;
    ((centre - margin) / scale, (centre + margin) / scale)
}

#[test]
fn wilson_interval_of_a_worked_case() {
    // 1 of 2: centre 0.5, and 1.96^2 = 3.8415 gives a half width of 0.4055.
    let (low, high) = wilson(1, 2);
    assert!((low - 0.0945).abs() < 1e-3 && (high - 0.9055).abs() < 1e-3, "{low} {high}");
    assert!((wilson(5, 5).1 - 1.0).abs() < 1e-12);
}
