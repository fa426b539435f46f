//! Balances of every address and token of `data/classifier`, beside a fold of the rows that knows nothing of the engine.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
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

/// 2020-01-01, amid the history of many of the addresses.
const MIDDLE: i64 = 1_577_836_800;

/// One movement or fee: time, from, to (none: a fee, or an allocation's missing sender), contract or the coin, amount.
struct Moved {
    time: i64,
    from: Option<String>,
    to: Option<String>,
    contract: String,
    amount: Amount,
}

/// Some columns of a Parquet file as text.
fn rows(path: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let text = |batch: &RecordBatch, name: &str| -> Vec<String> {
        let column = arrow::compute::cast(batch.column_by_name(name).unwrap(), &DataType::LargeUtf8).unwrap();
        column.as_string::<i64>().iter().map(|text| text.unwrap_or_default().to_lowercase()).collect()
    };
    let mut all = Vec::new();
    for batch in reader.map(Result::unwrap) {
        let columns: Vec<Vec<String>> = names.iter().map(|name| text(&batch, name)).collect();
        all.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
    }
    all
}

fn amount(text: &str) -> Amount {
    Amount::parse_raw(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The rules of account exports: a failed transaction moves nothing and pays its fee; a creation goes to what it created;
/// equal token rows of one export are separate, across exports the same ones.
fn movements(data: &Path) -> Vec<Moved> {
    let somebody = |text: &String| (!text.is_empty()).then(|| text.clone());
    let names = ["timeStamp", "from", "to", "contractAddress", "value", "isError", "gasUsed", "gasPrice"];
    let mut all = Vec::new();
    for row in rows(&data.join("eth_transactions.parquet"), &names) {
        let [time, from, to, created, value, failed, gas, price] = &row[..] else { unreachable!() };
        let time = time.parse().unwrap();
        let allocated = from == "genesis";
        let (from, to) = (somebody(from).filter(|_| !allocated), somebody(to).or_else(|| somebody(created)));
        if !allocated {
            let fee = amount(gas).checked_mul(amount(price)).unwrap();
            all.push(Moved { time, from: from.clone(), to: None, contract: String::new(), amount: fee });
        }
        if failed != "1" {
            all.push(Moved { time, from, to, contract: String::new(), amount: amount(value) });
        }
    }
    let names = ["timeStamp", "hash", "from", "to", "contractAddress", "value", "AccountId"];
    let mut counts: HashMap<[String; 6], HashMap<String, usize>> = HashMap::new();
    for row in rows(&data.join("eth_token_transfers.parquet"), &names) {
        let export = row[6].clone();
        let row: [String; 6] = row[..6].to_vec().try_into().unwrap();
        *counts.entry(row).or_default().entry(export).or_default() += 1;
    }
    for ([time, _, from, to, contract, value], exports) in counts {
        for _ in 0..exports.into_values().max().unwrap() {
            let (from, to) = (somebody(&from), somebody(&to));
            all.push(Moved {
                time: time.parse().unwrap(),
                from,
                to,
                contract: contract.clone(),
                amount: amount(&value),
            });
        }
    }
    all
}

/// Received and sent of each address and asset, up to a time.
type Sums = BTreeMap<String, BTreeMap<String, (Amount, Amount)>>;

fn fold(movements: &[Moved], until: i64) -> Sums {
    let mut sums = Sums::new();
    let add = |sum: &mut Amount, amount| *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
    for moved in movements.iter().filter(|moved| moved.time <= until && moved.from != moved.to) {
        for (side, is_in) in [(&moved.from, false), (&moved.to, true)] {
            let Some(who) = side else { continue };
            let (received, sent) = sums.entry(who.clone()).or_default().entry(moved.contract.clone()).or_default();
            add(if is_in { received } else { sent }, moved.amount);
        }
    }
    sums
}

/// Whether sums passed 256 bits: no honest token comes there.
fn has_passed((received, sent): &(Amount, Amount)) -> bool {
    *received == Amount::MAX || *sent == Amount::MAX
}

/// What is left of sums; `None` where nothing is, or less.
fn held((received, sent): &(Amount, Amount)) -> Option<String> {
    received.checked_sub(*sent).filter(|left| !left.is_zero()).map(|left| left.to_string())
}

#[test]
fn corpus_balances_of_every_address_and_token_are_those_of_the_rows() {
    let data = headwater_tests::corpus().join("classifier");
    let folder = tempfile::tempdir().unwrap();
    let paths = [data.join("eth_transactions.parquet"), data.join("eth_token_transfers.parquet")];
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    drop(writer);
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let movements = movements(&data);
    every_holding(&store, &fold(&movements, i64::MAX));
    let engine = QueryEngine::new(Arc::clone(&store) as _);
    let head = movements.iter().map(|moved| moved.time).max().unwrap();
    let all = fold(&movements, i64::MAX);
    for until in [MIDDLE, head] {
        every_history(&engine, &fold(&movements, until), until, &all);
    }
    every_holder(&engine, &fold(&movements, i64::MAX));
    flows(&engine, &movements);
}

/// What came in and went out of every address in raw units, fees among it.
fn every_holding(store: &Store, sums: &Sums) {
    use headwater_ledger::read::Generations;
    let ledger = store.current().unwrap();
    let mut compared = 0;
    for address in ledger.addresses(Chain::ETHEREUM, None, usize::MAX).unwrap() {
        let account = ledger.account(Chain::ETHEREUM, &address).unwrap().unwrap();
        let expected = sums.get(&address.to_string()).cloned().unwrap_or_default();
        let mut found = BTreeMap::new();
        for holding in ledger.holdings(&account).unwrap() {
            let contract = holding.asset.contract().map(ToString::to_string).unwrap_or_default();
            assert!(holding.opening.is_zero());
            found.insert(contract, (holding.received(), holding.sent()));
        }
        // An asset of which nothing but nothing moved is nothing either way.
        let some = |sums: BTreeMap<String, (Amount, Amount)>| -> BTreeMap<_, _> {
            sums.into_iter().filter(|(_, (received, sent))| !received.is_zero() || !sent.is_zero()).collect()
        };
        assert_eq!(some(found), some(expected), "{address}");
        compared += 1;
    }
    let moved = sums.keys().filter(|who| who.starts_with("0x")).count();
    assert!(compared >= moved, "{compared} of {moved} addresses are held");
}

fn ask(engine: &QueryEngine, name: &str, request: &Value) -> Value {
    let answer = engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
    answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
}

/// Balances at a time, as histories tell them: opening + received - sent is the closing balance of an address. Where
/// sums pass 256 bits by the end of all data, as those of a token that forges its amounts do, no balance is told.
fn every_history(engine: &QueryEngine, sums: &Sums, until: i64, all: &Sums) {
    // All of them in the long runs.
    let step = if std::env::var_os("HEADWATER_FULL").is_some() { 1 } else { 8 };
    let mut unknown = 0;
    for (who, assets) in sums.iter().filter(|(who, _)| who.starts_with("0x")).step_by(step) {
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
        let unknowns = all[who].iter().filter(|(_, sums)| has_passed(sums)).map(|(contract, _)| contract.clone());
        let mut expected: BTreeMap<String, Option<String>> =
            assets.iter().filter_map(|(contract, sums)| Some((contract.clone(), Some(held(sums)?)))).collect();
        expected.extend(unknowns.map(|contract| (contract, None)));
        unknown += expected.values().filter(|raw| raw.is_none()).count();
        assert_eq!(shown, expected, "{who} at {until}");
    }
    println!("{unknown} balances at {until} are not known, because their sums pass 256 bits");
}

/// The largest holders of the tokens that most addresses hold.
fn every_holder(engine: &QueryEngine, sums: &Sums) {
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
    let never = ["0x0000000000000000000000000000000000000000", "0x000000000000000000000000000000000000dead"];
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
            let is_unknown = has_passed(&sums[&who.to_string()][contract]);
            if is_unknown { Value::Null } else { json!(held.to_string()) }
        };
        let expected: Vec<_> =
            holders.iter().take(100).map(|(held, who)| (shown(held, who), json!(who.to_string()))).collect();
        assert_eq!(rows, expected.iter().map(|(held, who)| (held, who)).collect::<Vec<_>>(), "{contract}");
    }
}

/// Flows of sets of addresses: the aggregate is the sum of the rows, and the rows are those of the fold without fees.
fn flows(engine: &QueryEngine, movements: &[Moved]) {
    let transfers: Vec<&Moved> = movements.iter().filter(|moved| moved.to.is_some()).collect();
    let mut busiest: BTreeMap<&str, usize> = BTreeMap::new();
    for moved in &transfers {
        *busiest.entry(&moved.contract).or_default() += 1;
    }
    let mut busiest: Vec<_> = busiest.into_iter().collect();
    busiest.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut compared = 0;
    for (contract, _) in busiest.into_iter().take(20) {
        let mut degree: BTreeMap<&str, usize> = BTreeMap::new();
        let of_token = || transfers.iter().filter(|moved| moved.contract == contract && moved.from != moved.to);
        for side in of_token().flat_map(|moved| [&moved.from, &moved.to]).flatten() {
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
        let sum = |keep: &dyn Fn(&Moved) -> bool| {
            let amounts = of_token().filter(|moved| keep(moved)).map(|moved| moved.amount);
            amounts.fold(Amount::ZERO, |sum, amount| sum.checked_add(amount).unwrap()).to_f64(decimals)
        };
        let mut totals = [0.0; 3];
        for (who, row) in set.iter().zip(found["addresses"].as_array().unwrap()) {
            let received = sum(&|moved: &Moved| moved.to.as_deref() == Some(who));
            let sent = sum(&|moved: &Moved| moved.from.as_deref() == Some(who));
            assert_eq!((&row["received"], &row["sent"]), (&json!(received), &json!(sent)), "{contract} {who}");
            totals[0] += received;
            totals[1] += sent;
            totals[2] += row["tx_count"].as_f64().unwrap();
        }
        let aggregate = &found["aggregate"];
        let is_in = |side: &Option<String>| side.as_deref().is_some_and(|who| set.contains(&who));
        let internal = sum(&|moved: &Moved| is_in(&moved.from) && is_in(&moved.to));
        assert_eq!(aggregate["internal_total"], internal, "{contract}");
        for (name, expected) in ["received_total", "sent_total", "tx_count_total"].into_iter().zip(totals) {
            let apart = (aggregate[name].as_f64().unwrap() - expected).abs();
            assert!(apart <= expected.abs() * 1e-12, "{contract} {name}");
        }
        compared += 1;
    }
    assert_eq!(compared, 20);
}
