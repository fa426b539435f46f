//! The addresses and relations that GraphSense published of the fixture.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rows::text_of;

/// The aggregates of an address.
pub struct Totals {
    pub received: u128,
    pub spent: u128,
    pub tokens_received: BTreeMap<String, u128>,
    pub tokens_spent: BTreeMap<String, u128>,
    pub incoming: u64,
    pub outgoing: u64,
}

/// A relation: sender and receiver where the sample of addresses names them, wei, tokens, count.
pub type Relation = (Option<String>, Option<String>, u128, BTreeMap<String, u128>, u64);

pub struct Reference {
    pub addresses: BTreeMap<String, Totals>,
    pub relations: Vec<Relation>,
}

/// Values have up to 28 digits: quoted, an ordinary parser keeps them all.
fn objects(name: &str) -> Vec<Value> {
    text_of(name).lines().map(|line| serde_json::from_str(&quoted(line)).unwrap()).collect()
}

fn quoted(line: &str) -> String {
    let mut parts = line.split("\"value\":");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        text += "\"value\":";
        let quote = if digits > 0 { "\"" } else { "" };
        text.extend([quote, number, quote, rest]);
    }
    text
}

fn number(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

fn tokens(value: &Value) -> BTreeMap<String, u128> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(symbol, sum)| (symbol.clone(), number(&sum["value"]))).collect()
}

fn hex_of(value: &Value) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for character in value.as_str().unwrap().bytes().take_while(|byte| *byte != b'=') {
        bits = bits << 6 | u32::try_from(ALPHABET.iter().position(|byte| *byte == character).unwrap()).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    format!("0x{}", hex::encode(bytes))
}

impl Reference {
    pub fn read() -> Self {
        let mut names = BTreeMap::new();
        let mut addresses = BTreeMap::new();
        for row in objects("reference/addresses.json.gz") {
            let address = hex_of(&row["address"]);
            names.insert(row["addressId"].as_u64().unwrap(), address.clone());
            let totals = Totals {
                received: number(&row["totalReceived"]["value"]),
                spent: number(&row["totalSpent"]["value"]),
                tokens_received: tokens(&row["totalTokensReceived"]),
                tokens_spent: tokens(&row["totalTokensSpent"]),
                incoming: row["noIncomingTxs"].as_u64().unwrap(),
                outgoing: row["noOutgoingTxs"].as_u64().unwrap(),
            };
            addresses.insert(address, totals);
        }
        let relation = |row: &Value| {
            let name = |side: &str| names.get(&row[side].as_u64().unwrap()).cloned();
            // The outer `value` is an object, the inner one the number.
            let native = number(&row["value"]["value"]);
            let count = row["noTransactions"].as_u64().unwrap();
            (name("srcAddressId"), name("dstAddressId"), native, tokens(&row["tokenValues"]), count)
        };
        let relations = objects("reference/address_relations.json.gz").iter().map(relation).collect();
        Self { addresses, relations }
    }
}

/// Block, log index, transaction, sender, receiver and amount of every transfer.
pub fn usdt_transfers() -> BTreeSet<(u64, u64, String, String, String, String)> {
    let row = |row: Value| {
        let [hash, from, to] = ["txHash", "from", "to"].map(|name| hex_of(&row[name]));
        let [block, index] = ["blockId", "logIndex"].map(|name| row[name].as_u64().unwrap());
        (block, index, hash, from, to, row["value"].as_str().unwrap().to_owned())
    };
    objects("reference/USDT_token_transfers.json").into_iter().map(row).collect()
}
