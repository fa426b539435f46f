//! The rows of the fixture, read on their own by the letter of the format.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::PathBuf;

/// The tokens that the reference was made with: symbol, contract, decimals.
pub const TOKENS: [(&str, &str, u8); 3] = [
    ("USDT", "0xdac17f958d2ee523a2206206994597c13d831ec7", 6),
    ("USDC", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", 6),
    ("WETH", "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", 18),
];
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const DEPOSIT: &str = "0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c";
const WITHDRAWAL: &str = "0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65";

/// The address that mints and burns.
pub const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// The sums of frames and token transfers between two addresses, or of all of one address.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// Wei of calls, creations, rewards and allocations.
    pub called: u128,
    /// Wei that frames carried which run another account's code.
    pub delegated: u128,
    /// Wei of an address to itself, either way.
    pub own: u128,
    /// Raw units by symbol, of `Transfer` alone.
    pub tokens: BTreeMap<String, u128>,
    /// Frames and transfers whose transaction is known.
    pub count: u64,
}

impl Pair {
    pub fn native(&self) -> u128 {
        self.called + self.delegated + self.own
    }

    fn add(&mut self, other: &Self, is_own: bool) {
        if is_own {
            self.own += other.native();
        } else {
            self.called += other.called;
            self.delegated += other.delegated;
        }
        for (symbol, amount) in &other.tokens {
            *self.tokens.entry(symbol.clone()).or_default() += amount;
        }
        self.count += other.count;
    }
}

/// The whole fixture.
pub struct Frames {
    /// By sender and receiver.
    pub pairs: BTreeMap<(String, String), Pair>,
    /// The amounts that the coinbase and the first block gave, by receiver.
    given: BTreeMap<String, u128>,
    /// Wrapped ether received and sent by wrapping and unwrapping; the zero address is on the other side.
    pub wrapped: BTreeMap<String, (u128, u128)>,
    /// Wei of transactions that have no frame, by sender and receiver.
    pub untraced: BTreeMap<(String, String), u128>,
}

pub fn text_of(name: &str) -> String {
    let path: PathBuf = headwater_tests::corpus().join("ethereum/graphsense-spark/tokens").join(name);
    unpacked(&path)
}

fn unpacked(path: &std::path::Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if path.extension().is_some_and(|ending| ending == "gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

fn table(name: &str) -> Vec<BTreeMap<String, String>> {
    let text = text_of(name);
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

/// The table of transactions with the times of the table of blocks.
pub fn transactions_at_the_time_of_their_block() -> String {
    let blocks: BTreeMap<String, [String; 2]> = table("blocks.csv.gz")
        .into_iter()
        .map(|row| (row["blockId"].clone(), [row["timestamp"].clone(), row["blockHash"].clone()]))
        .collect();
    let text = text_of("transactions.csv.gz");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (block, time, hash) = (place("blockId"), place("blockTimestamp"), place("blockHash"));
    let mut mended = 0;
    let mut lines = vec![header.iter().collect::<Vec<_>>().join(",")];
    for row in reader.records().map(Result::unwrap) {
        let [own_time, own_hash] = &blocks[&row[block]];
        mended += usize::from(row[time] != **own_time);
        let cells = row.iter().enumerate().map(|(at, cell)| match at {
            at if at == time => own_time,
            at if at == hash => own_hash,
            _ => cell,
        });
        lines.push(cells.collect::<Vec<_>>().join(","));
    }
    assert_eq!(mended, 6);
    lines.join("\n")
}

/// `199e17` is an integer, too.
fn value(text: &str) -> u128 {
    let (digits, zeros) = text.split_once('e').unwrap_or((text, "0"));
    digits.parse::<u128>().unwrap() * 10_u128.pow(zeros.parse().unwrap())
}

impl Frames {
    pub fn read() -> Self {
        let transactions = table("transactions.csv.gz");
        let known: BTreeSet<&String> = transactions.iter().map(|row| &row["txHash"]).collect();
        let mut all = Self {
            pairs: BTreeMap::new(),
            given: BTreeMap::new(),
            wrapped: BTreeMap::new(),
            untraced: BTreeMap::new(),
        };
        let traces = table("traces.csv.gz");
        let traced: BTreeSet<&String> = traces.iter().map(|row| &row["txHash"]).collect();
        for row in transactions.iter().filter(|row| !traced.contains(&row["txHash"]) && row["value"] != "0") {
            let pair = (row["fromAddress"].clone(), row["toAddress"].clone());
            *all.untraced.entry(pair).or_default() += value(&row["value"]);
        }
        for row in traces.iter().filter(|row| row["status"] == "1") {
            let (from, to, wei) = (row["fromAddress"].clone(), row["toAddress"].clone(), value(&row["value"]));
            if row["txHash"].is_empty() {
                *all.given.entry(to).or_default() += wei;
                continue;
            }
            let is_own = from == to;
            let pair = all.pairs.entry((from, to)).or_default();
            match row["callType"].as_str() {
                _ if is_own => pair.own += wei,
                "" | "call" => pair.called += wei,
                _ => pair.delegated += wei,
            }
            pair.count += u64::from(known.contains(&row["txHash"]));
        }
        for line in text_of("logs.json.gz").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let address = text(&row["address"]);
            let Some((symbol, ..)) = TOKENS.iter().find(|token| token.1 == address) else { continue };
            let account = |place: usize| format!("0x{}", &row["topics"][place].as_str().unwrap()[26..]);
            let amount = || u128::from_str_radix(&row["data"].as_str().unwrap()[2..], 16).unwrap();
            match (row["topics"][0].as_str().unwrap(), *symbol) {
                (TRANSFER, symbol) => {
                    let pair = all.pairs.entry((account(1), account(2))).or_default();
                    *pair.tokens.entry(symbol.to_owned()).or_default() += amount();
                    pair.count += u64::from(known.iter().any(|hash| *hash == row["txHash"].as_str().unwrap()));
                }
                (DEPOSIT, "WETH") => {
                    all.wrapped.entry(account(1)).or_default().0 += amount();
                    all.wrapped.entry(ZERO.to_owned()).or_default().1 += amount();
                }
                (WITHDRAWAL, "WETH") => {
                    all.wrapped.entry(account(1)).or_default().1 += amount();
                    all.wrapped.entry(ZERO.to_owned()).or_default().0 += amount();
                }
                _ => {}
            }
        }
        all
    }

    pub fn received(&self, address: &str) -> Pair {
        let mut sum = Pair { called: self.given.get(address).copied().unwrap_or_default(), ..Pair::default() };
        for ((from, to), pair) in self.pairs.iter().filter(|((_, to), _)| to == address) {
            sum.add(pair, from == to);
        }
        sum
    }

    pub fn spent(&self, address: &str) -> Pair {
        let mut sum = Pair::default();
        for ((from, to), pair) in self.pairs.iter().filter(|((from, _), _)| from == address) {
            sum.add(pair, from == to);
        }
        sum
    }
}

/// Sun of all transactions of the first day that name a receiver.
pub fn tron_value_with_receiver() -> u128 {
    let path = headwater_tests::corpus().join("tron/graphsense-spark/0to10000/transactions.json.gz");
    let rows = unpacked(&path);
    let rows = rows.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.filter(|row| row.get("toAddress").is_some()).map(|row| u128::from(row["value"].as_u64().unwrap())).sum()
}
