//! Balances of every address and token of `data/classifier`, or of a quarter of its exports outside of the long runs,
//! beside a fold of the rows that is independent of the engine.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::DataType;
use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Address, Amount, Chain};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::classifier::{one_in, some_of};

/// 2020-01-01, amid the history of many of the addresses.
const MIDDLE: i64 = 1_577_836_800;

/// An account that got tokens whose amounts pass 256 bits in sum.
const FORGED: &str = "0x2a62146f043c9c08bc2b32decc1e5a5e6f5367c1";

const NOBODY: &str = "0x0000000000000000000000000000000000000000";

/// One movement or fee: time, from, to (none: a fee, or an allocation's missing sender), contract or the coin, amount.
struct BookEntry {
    time: i64,
    from: Option<String>,
    to: Option<String>,
    contract: String,
    amount: Amount,
}

/// Calls with each row of a Parquet file: some of its columns, as text.
fn each_row<const N: usize>(path: &Path, names: [&str; N], call: &mut dyn FnMut([String; N])) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let text = |batch: &RecordBatch, name: &str| -> Vec<String> {
        let column = arrow::compute::cast(batch.column_by_name(name).unwrap(), &DataType::LargeUtf8).unwrap();
        column.as_string::<i64>().iter().map(|text| text.unwrap_or_default().to_lowercase()).collect()
    };
    for batch in reader.map(Result::unwrap) {
        let mut columns = names.map(|name| text(&batch, name).into_iter());
        for _ in 0..batch.num_rows() {
            call(columns.each_mut().map(|column| column.next().unwrap()));
        }
    }
}

fn amount(text: &str) -> Amount {
    Amount::parse_raw(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The rules of account exports: a failed transaction moves nothing and pays its fee; a creation goes to what it created;
/// equal token rows of one export are separate, across exports the same ones.
fn movements([transactions, transfers]: &[PathBuf; 2]) -> Vec<BookEntry> {
    let somebody = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut all = Vec::new();
    let names = ["timeStamp", "from", "to", "contractAddress", "value", "isError", "gasUsed", "gasPrice"];
    each_row(transactions, names, &mut |row| {
        let [time, from, to, created, value, failed, gas, price] = row;
        let time = time.parse().unwrap();
        let allocated = from == "genesis";
        let (from, to) = (somebody(from).filter(|_| !allocated), somebody(to).or_else(|| somebody(created)));
        if !allocated {
            let fee = amount(&gas).checked_mul(amount(&price)).unwrap();
            all.push(BookEntry { time, from: from.clone(), to: None, contract: String::new(), amount: fee });
        }
        if failed != "1" {
            all.push(BookEntry { time, from, to, contract: String::new(), amount: amount(&value) });
        }
    });
    let names = ["timeStamp", "hash", "from", "to", "contractAddress", "value", "AccountId"];
    let mut counts: HashMap<[String; 6], HashMap<String, usize>> = HashMap::new();
    each_row(transfers, names, &mut |row| {
        let [time, hash, from, to, contract, value, export] = row;
        *counts.entry([time, hash, from, to, contract, value]).or_default().entry(export).or_default() += 1;
    });
    for ([time, _, from, to, contract, value], exports) in counts {
        let (time, amount) = (time.parse().unwrap(), amount(&value));
        for _ in 0..exports.into_values().max().unwrap() {
            let (from, to) = (somebody(from.clone()), somebody(to.clone()));
            all.push(BookEntry { time, from, to, contract: contract.clone(), amount });
        }
    }
    all
}

/// Received and sent of each address and asset, up to a time.
type Sums<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (Amount, Amount)>>;

fn fold(movements: &[BookEntry], until: i64) -> Sums<'_> {
    let mut sums: HashMap<(&str, &str), (Amount, Amount)> = HashMap::new();
    let add = |sum: &mut Amount, amount| *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
    for moved in movements.iter().filter(|moved| moved.time <= until && moved.from != moved.to) {
        for (side, is_in) in [(&moved.from, false), (&moved.to, true)] {
            let Some(who) = side else { continue };
            let (received, sent) = sums.entry((who, &moved.contract)).or_default();
            add(if is_in { received } else { sent }, moved.amount);
        }
    }
    let mut by_address = Sums::new();
    for ((who, contract), sums) in sums {
        by_address.entry(who).or_default().insert(contract, sums);
    }
    by_address
}

/// Returns whether sums passed 256 bits: no honest token comes there.
fn has_passed((received, sent): &(Amount, Amount)) -> bool {
    *received == Amount::MAX || *sent == Amount::MAX
}

/// Returns what is left of sums; `None` where nothing is, or less.
fn held((received, sent): &(Amount, Amount)) -> Option<String> {
    received.checked_sub(*sent).filter(|left| !left.is_zero()).map(|left| left.to_string())
}

#[test]
fn corpus_balances_equal_those_of_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let paths = some_of(folder.path(), one_in(4), &[FORGED.to_owned()]);
    let store = folder.path().join("store");
    let mut writer = Writer::open_or_create(&store).unwrap();
    ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    drop(writer);
    let store = Arc::new(Store::open(store).unwrap());
    let movements = movements(&paths);
    let all = fold(&movements, i64::MAX);
    every_holding(&store, &all);
    let engine = QueryEngine::new(Arc::clone(&store) as _);
    let head = movements.iter().map(|moved| moved.time).max().unwrap();
    every_history(&engine, &fold(&movements, MIDDLE), MIDDLE, &all);
    every_history(&engine, &all, head, &all);
    every_holder(&engine, &all);
    flows(&engine, &movements);
}

/// Returns what came in and went out of every address in raw units, fees among it.
fn every_holding(store: &Store, sums: &Sums<'_>) {
    use headwater_ledger::read::Generations;
    let ledger = store.current().unwrap();
    let mut compared = 0;
    for address in ledger.addresses(Chain::ETHEREUM, None, usize::MAX).unwrap() {
        let account = ledger.account(Chain::ETHEREUM, &address).unwrap().unwrap();
        // An asset of which nothing but nothing moved is nothing either way.
        let is_some = |(received, sent): &(Amount, Amount)| !received.is_zero() || !sent.is_zero();
        let mut found = BTreeMap::new();
        for holding in ledger.holdings(&account).unwrap() {
            let contract = holding.asset.contract().map(ToString::to_string).unwrap_or_default();
            assert!(holding.opening.is_zero());
            found.insert(contract, (holding.received(), holding.sent()));
        }
        found.retain(|_, sums| is_some(sums));
        let expected = sums.get(&*address.to_string()).into_iter().flatten().filter(|(_, sums)| is_some(sums));
        let expected: BTreeMap<_, _> = expected.map(|(contract, sums)| ((*contract).to_owned(), *sums)).collect();
        assert_eq!(found, expected, "{address}");
        compared += 1;
    }
    let moved = sums.keys().filter(|who| who.starts_with("0x")).count();
    assert!(compared >= moved, "{compared} of {moved} addresses are held");
}

fn ask(engine: &QueryEngine, name: &str, request: &Value) -> Value {
    let answer = engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
    answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
}

/// Checks balances at a time, as histories state them: opening + received - sent is the closing balance of an address.
/// Where sums pass 256 bits by the end of all data, as those of a token that forges its amounts do, no balance is
/// stated.
fn every_history(engine: &QueryEngine, sums: &Sums<'_>, until: i64, all: &Sums<'_>) {
    // All of them in the long runs; those whose sums pass always.
    let step = usize::try_from(one_in(2)).unwrap();
    let mut unknown = 0;
    for (number, (who, assets)) in sums.iter().filter(|(who, _)| who.starts_with("0x")).enumerate() {
        if number % step != 0 && !all[who].values().any(has_passed) {
            continue;
        }
        let request = json!({
            "blockchain": "ethereum", "address": who, "include_unverified": true,
            "start_time": until, "end_time": until,
        });
        let history = ask(engine, "balance-history", &request);
        let item = |item: &Value| {
            (item["contract"].as_str().unwrap_or_default().to_owned(), item["balance_raw"].as_str().map(str::to_owned))
        };
        let items = history["final_balance"]["balances"].as_array().unwrap();
        let shown: BTreeMap<String, Option<String>> =
            items.iter().map(item).filter(|(_, raw)| raw.as_deref() != Some("0")).collect();
        let unknowns = all[who].iter().filter(|(_, sums)| has_passed(sums)).map(|(contract, _)| (*contract).to_owned());
        let mut expected: BTreeMap<String, Option<String>> =
            assets.iter().filter_map(|(contract, sums)| Some(((*contract).to_owned(), Some(held(sums)?)))).collect();
        expected.extend(unknowns.map(|contract| (contract, None)));
        unknown += expected.values().filter(|raw| raw.is_none()).count();
        assert_eq!(shown, expected, "{who} at {until}");
    }
    println!("{unknown} balances at {until} are not known, because their sums pass 256 bits");
    assert!(unknown > 0);
}

/// The largest holders of the tokens that most addresses hold.
fn every_holder(engine: &QueryEngine, sums: &Sums<'_>) {
    let mut tokens: BTreeMap<&str, Vec<(Amount, Address)>> = BTreeMap::new();
    for (who, assets) in sums.iter().filter(|(who, _)| who.starts_with("0x")) {
        let address = Address::parse(Chain::ETHEREUM, who).unwrap();
        for (contract, sums) in assets.iter().filter(|(contract, _)| !contract.is_empty()) {
            if let Some(left) = held(sums) {
                tokens.entry(contract).or_default().push((amount(&left), address));
            }
        }
    }
    assert!(tokens.len() > 1000, "{} tokens", tokens.len());
    let never = [NOBODY, "0x000000000000000000000000000000000000dead"];
    for (contract, mut holders) in tokens {
        holders.retain(|(_, who)| {
            let who = who.to_string();
            who != contract && !never.contains(&who.as_str()) && !who.ends_with("0000000000000000000001")
        });
        holders.sort_by_key(|(held, who)| (std::cmp::Reverse(*held), *who));
        let found =
            ask(engine, "token/holders", &json!({"blockchain": "ethereum", "contract": contract, "limit": 100}));
        assert_eq!(found["holder_count"], holders.len(), "{contract}");
        let rows: Vec<_> =
            found["holders"].as_array().unwrap().iter().map(|row| (&row["balance_raw"], &row["address"])).collect();
        let shown = |held: &Amount, who: &Address| {
            let is_unknown = has_passed(&sums[&*who.to_string()][contract]);
            if is_unknown { Value::Null } else { json!(held.to_string()) }
        };
        let expected: Vec<_> =
            holders.iter().take(100).map(|(held, who)| (shown(held, who), json!(who.to_string()))).collect();
        assert_eq!(rows, expected.iter().map(|(held, who)| (held, who)).collect::<Vec<_>>(), "{contract}");
    }
}

/// Flows of sets of addresses: the aggregate is the sum of the rows, and the rows are those of the fold without fees.
fn flows(engine: &QueryEngine, movements: &[BookEntry]) {
    let mut of_tokens: BTreeMap<&str, Vec<&BookEntry>> = BTreeMap::new();
    for moved in movements.iter().filter(|moved| moved.to.is_some()) {
        of_tokens.entry(&moved.contract).or_default().push(moved);
    }
    let mut busiest: Vec<_> = of_tokens.into_iter().collect();
    busiest.sort_by_key(|(_, of_token)| std::cmp::Reverse(of_token.len()));
    let mut compared = 0;
    for (contract, mut of_token) in busiest.into_iter().take(20) {
        of_token.retain(|moved| moved.from != moved.to);
        let mut degree: HashMap<&str, usize> = HashMap::new();
        for side in of_token.iter().flat_map(|moved| [&moved.from, &moved.to]).flatten() {
            *degree.entry(side).or_default() += 1;
        }
        let mut set: Vec<_> = degree.into_iter().filter(|(who, _)| who.starts_with("0x")).collect();
        set.sort_by_key(|(who, count)| (std::cmp::Reverse(*count), *who));
        let set: Vec<&str> = set.into_iter().take(50).map(|(who, _)| who).collect();
        let mut request = json!({"blockchain": "ethereum", "addresses": set});
        if !contract.is_empty() {
            request["contract"] = json!(contract);
        }
        let found = ask(engine, "token/addresses_flow", &request);
        let decimals = u8::try_from(found["decimals"].as_u64().unwrap()).unwrap();

        // Received and sent of each of the set, and what they moved among themselves.
        let mut sums: HashMap<&str, [Amount; 2]> = set.iter().map(|who| (*who, [Amount::ZERO; 2])).collect();
        let mut internal = Amount::ZERO;
        for moved in of_token {
            let is_in = |side: &Option<String>| side.as_deref().is_some_and(|who| sums.contains_key(who));
            // What is burnt goes to nobody, whoever asks for the flows of the zero address.
            let is_burnt = moved.to.as_deref() == Some(NOBODY);
            if is_in(&moved.from) && is_in(&moved.to) && !is_burnt {
                internal = internal.checked_add(moved.amount).unwrap();
            }
            for (place, side) in [&moved.to, &moved.from].into_iter().enumerate() {
                if let Some(sums) = side.as_deref().and_then(|who| sums.get_mut(who)) {
                    sums[place] = sums[place].checked_add(moved.amount).unwrap();
                }
            }
        }
        let mut totals = [0.0; 3];
        for (who, row) in set.iter().zip(found["addresses"].as_array().unwrap()) {
            let [received, sent] = sums[who].map(|sum| sum.to_f64(decimals));
            assert_eq!((&row["received"], &row["sent"]), (&json!(received), &json!(sent)), "{contract} {who}");
            totals[0] += received;
            totals[1] += sent;
            totals[2] += row["tx_count"].as_f64().unwrap();
        }
        let aggregate = &found["aggregate"];
        assert_eq!(aggregate["internal_total"], internal.to_f64(decimals), "{contract}");
        for (name, expected) in ["received_total", "sent_total", "tx_count_total"].into_iter().zip(totals) {
            let apart = (aggregate[name].as_f64().unwrap() - expected).abs();
            assert!(apart <= expected.abs() * 1e-12, "{contract} {name}");
        }
        compared += 1;
    }
    assert_eq!(compared, 20);
}
