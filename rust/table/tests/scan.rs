//! Streams of stored tables have the rows of the ledger, whatever the segments, filters and batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::facts::Batch;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::{ChainRange, Direction, Posting, Scan, ScanOrder};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, in_memory};
use headwater_ledger::{Cancel, Ledger};
use headwater_table::scan::{ScanFilter, ScanRequest, StoredTable, TABLES, scan};
use headwater_testkit::{Chainlet, address, claim, label_import, over_segmentations, token};
use headwater_types::{Address, Chain, Timestamp};

const ETHEREUM: Chain = Chain::ETHEREUM;
/// Rounds of the example: each a transaction, most with a second movement.
const ROUNDS: u64 = 400;

fn many() -> Batch {
    let mut chain = Chainlet::ethereum();
    for round in 0..ROUNDS {
        chain = chain.transfer(round % 37, round % 11, round * 1_000).fee(1);
        chain = match round % 5 {
            0 => {
                chain.token_movement(round % 3, round % 37, 40 + round % 200, round + 1).log(9, &[7, round, 1, 2], b"x")
            }
            1 => chain.internal(round % 7, round % 13, 5),
            2 => chain.token_movement(1, 3, 4, 9).unindexed(),
            3 => chain.failed(),
            _ => chain.status_unknown(),
        };
    }
    chain.batch()
}

fn bitcoin() -> Batch {
    Chainlet::bitcoin().mine(1, 5_000).spend(&[(1, 0, 0)], &[(2, 3_000), (1, 1_500)]).batch()
}

fn store() -> Arc<MemoryStore> {
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(0), usd: 2000.0 };
    in_memory(vec![many(), bitcoin()], Vec::new(), vec![price]).unwrap()
}

fn request(table: &str) -> ScanRequest {
    ScanRequest { table: table.to_owned(), ..ScanRequest::default() }
}

fn batches(ledger: &Arc<dyn Ledger>, request: &ScanRequest) -> Vec<RecordBatch> {
    scan(Arc::clone(ledger), request).unwrap().map(|batch| batch.unwrap()).collect()
}

/// All rows as one batch, and how many were decoded for them.
fn read(ledger: &Arc<dyn Ledger>, request: &ScanRequest) -> (RecordBatch, u64) {
    let mut stream = scan(Arc::clone(ledger), request).unwrap();
    let schema = arrow::array::RecordBatchReader::schema(&stream);
    let batches: Vec<RecordBatch> = stream.by_ref().map(|batch| batch.unwrap()).collect();
    (concat_batches(&schema, &batches).unwrap(), stream.decoded_rows())
}

fn of_address(address: &Address) -> ScanFilter {
    ScanFilter { address: Some(vec![address.to_string()]), ..ScanFilter::default() }
}

/// The cells of a row as text, null as `-`.
fn rows(batch: &RecordBatch, columns: &[&str]) -> Vec<Vec<String>> {
    let cell = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap();
        if column.is_null(row) {
            return "-".to_owned();
        }
        match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Timestamp(..) => {
                (column.as_primitive::<TimestampMicrosecondType>().value(row) / 1_000_000).to_string()
            }
            DataType::Boolean => column.as_boolean().value(row).to_string(),
            kind => panic!("{name} is of type {kind}"),
        }
    };
    (0..batch.num_rows()).map(|row| columns.iter().map(|name| cell(name, row)).collect()).collect()
}

/// The rows that `movements` must have of one address, from its postings.
fn expected(ledger: &dyn Ledger, chain: Chain, of: &Address) -> Vec<Vec<String>> {
    let account = ledger.account(chain, of).unwrap().unwrap();
    let maybe = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |posting: Posting| {
        let head = ledger.transaction_head(posting.transaction).unwrap();
        let other = maybe(posting.counterparty.map(|other| ledger.address(other).unwrap().to_string()));
        let own = of.to_string();
        let (from, to) = match posting.direction {
            Direction::In => (other, own),
            Direction::Out => (own, other),
            Direction::Own => (own.clone(), own),
        };
        let hash = head.hash.display(chain.family());
        vec![
            format!("{chain}:{hash}:{}:{}", posting.kind.name(), posting.ordinal.number()),
            posting.block.to_string(),
            posting.time.secs().to_string(),
            maybe(head.index.map(|index| index.to_string())),
            from,
            to,
            maybe(ledger.asset(posting.asset).unwrap().contract().map(ToString::to_string)),
            posting.amount.to_string(),
        ]
    };
    let scan = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
    ledger.postings(&account, &scan).unwrap().map(|posting| row(posting.unwrap())).collect()
}

const PLACED: [&str; 8] =
    ["id", "block_number", "timestamp", "tx_index", "from_address", "to_address", "contract", "amount_raw"];

#[test]
fn movements_are_the_postings_once_each() {
    let store = store();
    let ledger = store.snapshot() as Arc<dyn Ledger>;
    let (batch, decoded) = read(&ledger, &request("movements"));
    let movements: u64 = ledger.coverage().values().map(|coverage| coverage.movements).sum();
    assert_eq!((batch.num_rows() as u64, decoded), (movements, movements));
    let all = rows(&batch, &PLACED);
    let mut of_addresses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for chain in [Chain::BITCOIN, ETHEREUM] {
        for of in ledger.addresses(chain, None, usize::MAX).unwrap() {
            let wanted = expected(&*ledger, chain, &of);
            let filter = ScanFilter { blockchain: Some(vec![chain.name().to_owned()]), ..of_address(&of) };
            let (found, _) = read(&ledger, &ScanRequest { filter, ..request("movements") });
            assert_eq!(rows(&found, &PLACED), wanted, "{of}");
            of_addresses.extend(wanted.into_iter().map(|row| (row[0].clone(), row)));
        }
    }
    assert_eq!(of_addresses.len(), all.len(), "each movement once");
    assert!(all.iter().all(|row| of_addresses[&row[0]] == *row));
}

#[test]
fn streams_of_any_segmentation_are_equal() {
    let mut store = MemoryStore::default();
    for batch in [many(), bitcoin()] {
        store.commit(batch, &Cancel::new()).unwrap();
    }
    let ways = [(1, Split::Runs, 0), (3, Split::Runs, 2), (17, Split::Scattered, 0), (3, Split::Scattered, 4)];
    let mut first: Option<Vec<RecordBatch>> = None;
    for (segments, split, tail_blocks) in ways {
        let segmented = store.in_segments(Segmentation { segments, split, tail_blocks }).unwrap();
        let ledger = segmented.snapshot() as Arc<dyn Ledger>;
        let mut tables = Vec::new();
        for table in TABLES {
            tables.extend(batches(&ledger, &request(table.name)));
            if table.filters.contains(&"address") {
                let filter = of_address(&address(ETHEREUM, 5));
                tables.extend(batches(&ledger, &ScanRequest { filter, ..request(table.name) }));
            }
        }
        match &first {
            None => first = Some(tables),
            Some(first) => assert!(tables == *first, "{segments} segments differ from one"),
        }
    }
}

#[test]
fn batches_depend_on_neither_threads_nor_columns() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let whole = ScanRequest { batch_rows: Some(100), ..request("movements") };
    let first = batches(&ledger, &whole);
    assert!(first.len() > 4 && first.iter().rev().skip(1).all(|batch| batch.num_rows() == 100));
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| batches(&ledger, &whole)), first);
    }
    let columns = Some(vec!["amount_raw".to_owned(), "block_number".to_owned()]);
    let narrow = batches(&ledger, &ScanRequest { columns, ..whole });
    assert_eq!(narrow.len(), first.len());
    for (narrow, whole) in narrow.iter().zip(&first) {
        assert_eq!((narrow.num_columns(), narrow.num_rows()), (2, whole.num_rows()));
        assert_eq!(narrow.column(0), whole.column_by_name("amount_raw").unwrap());
        assert_eq!(narrow.column(1), whole.column_by_name("block_number").unwrap());
    }
}

#[test]
fn limit_takes_the_first_rows_and_decodes_few() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let (all, decoded) = read(&ledger, &request("movements"));
    for limit in [0, 1, 7, 100_000] {
        let (some, few) = read(&ledger, &ScanRequest { limit: Some(limit), ..request("movements") });
        let wanted = all.num_rows().min(usize::try_from(limit).unwrap());
        assert_eq!(some, all.slice(0, wanted));
        assert!(few <= decoded);
        assert!(limit > 100 || few < decoded / 2, "{few} rows decoded for {limit}");
    }
}

/// Returns whether a row passes a filter.
type Passes<'a> = Box<dyn Fn(&Vec<String>) -> bool + 'a>;

#[test]
fn filters_leave_the_rows_that_pass_them() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let (all, decoded) = read(&ledger, &request("movements"));
    let all = rows(&all, &PLACED);
    let (one, two) = (address(ETHEREUM, 5).to_string(), address(ETHEREUM, 20).to_string());
    let contract = token(ETHEREUM, 4).contract().unwrap().to_string();
    let block = |row: &Vec<String>| row[1].parse::<u64>().unwrap();
    let time = |row: &Vec<String>| row[2].parse::<i64>().unwrap();
    let middle = time(&all[all.len() / 2]);
    let hash = all[17][0].split(':').nth(1).unwrap().to_owned();
    let texts = |texts: &[&String]| Some(texts.iter().map(|text| (*text).clone()).collect::<Vec<_>>());
    let none = ScanFilter::default;
    let cases: Vec<(ScanFilter, Passes<'_>)> = vec![
        (ScanFilter { from_address: texts(&[&one]), ..none() }, Box::new(|row| row[4] == one)),
        (ScanFilter { to_address: texts(&[&one, &two]), ..none() }, Box::new(|row| row[5] == one || row[5] == two)),
        (
            ScanFilter { from_address: texts(&[&two]), to_address: texts(&[&one]), ..none() },
            Box::new(|row| row[4] == two && row[5] == one),
        ),
        (ScanFilter { contract: Some(vec![Some(contract.clone())]), ..none() }, Box::new(|row| row[6] == contract)),
        (
            ScanFilter { contract: Some(vec![None]), address: texts(&[&one]), ..none() },
            Box::new(|row| row[6] == "-" && (row[4] == one || row[5] == one)),
        ),
        (
            ScanFilter { from_block: Some(30), to_block: Some(90), ..none() },
            Box::new(move |row| (30..=90).contains(&block(row))),
        ),
        (ScanFilter { start_time: Some(middle), ..none() }, Box::new(move |row| time(row) >= middle)),
        (ScanFilter { end_time: Some(middle), ..none() }, Box::new(move |row| time(row) <= middle)),
        (ScanFilter { tx_hash: texts(&[&hash]), ..none() }, Box::new(|row| row[0].contains(hash.as_str()))),
        (
            ScanFilter { blockchain: Some(vec!["bitcoin".to_owned()]), ..none() },
            Box::new(|row| row[0].starts_with("bit")),
        ),
        (ScanFilter { from_block: Some(1 << 40), ..none() }, Box::new(|_| false)),
    ];
    for (filter, passes) in cases {
        let wanted: Vec<_> = all.iter().filter(|row| passes(row)).cloned().collect();
        for pushed in [false, true] {
            let (filter, pushed) = if pushed { (none(), filter.clone()) } else { (filter.clone(), none()) };
            let (found, seen) = read(&ledger, &ScanRequest { filter, pushed, ..request("movements") });
            assert_eq!(rows(&found, &PLACED), wanted);
            assert!(seen <= decoded);
        }
    }
}

#[test]
fn movements_of_an_address_are_looked_up() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let filter = of_address(&address(ETHEREUM, 30));
    let (found, decoded) = read(&ledger, &ScanRequest { filter, ..request("movements") });
    assert!(found.num_rows() > 5);
    // Beside its own movements only others of the same transactions are decoded.
    assert!(decoded < 3 * found.num_rows() as u64, "{decoded} rows decoded for {}", found.num_rows());
}

#[test]
fn transactions_are_those_of_the_ledger() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let (batch, _) = read(&ledger, &request("transactions"));
    let held: u64 = ledger.coverage().values().map(|coverage| coverage.transactions).sum();
    assert_eq!(batch.num_rows() as u64, held);
    let columns = ["tx_hash", "amount_raw", "fee_raw", "status", "is_coinbase", "outputs_count", "from_address"];
    let all = rows(&batch, &columns);
    // Chains come in their order: bitcoin first.
    assert_eq!(all[0][1..], ["5000", "0", "success", "true", "1", "-"].map(str::to_owned));
    assert_eq!(all[1][1..], ["4500", "500", "success", "false", "2", "-"].map(str::to_owned));
    let round = |round: u64| &all[2 + usize::try_from(round).unwrap()];
    assert_eq!(round(3)[1..3], ["3000", "1"].map(str::to_owned));
    assert_eq!([&round(3)[3], &round(4)[3]], ["failed", "unknown"]);
    let of = address(ETHEREUM, 36);
    let (found, _) = read(&ledger, &ScanRequest { filter: of_address(&of), ..request("transactions") });
    let account = ledger.account(ETHEREUM, &of).unwrap().unwrap();
    let mut wanted = Vec::new();
    for posting in ledger.postings(&account, &Scan { order: ScanOrder::OldestFirst, ..Scan::default() }).unwrap() {
        wanted.push(ledger.transaction_head(posting.unwrap().transaction).unwrap().hash.display(ETHEREUM.family()));
    }
    wanted.dedup();
    assert_eq!(rows(&found, &["tx_hash"]).concat(), wanted);
}

#[test]
fn logs_are_those_of_the_transactions() {
    let chain = Chainlet::ethereum().transfer(1, 9, 0).log(9, &[7, 1], b"first").log(8, &[], b"").log(9, &[2], b"");
    let chain = (0..40).fold(chain, |chain, number| {
        chain.transfer(2, 9, 0).log(8 + number % 2, &[7, number, 3, 4], b"later").same_block().transfer(3, 4, 1)
    });
    let ledger = in_memory(vec![chain.batch(), bitcoin()], vec![], vec![]).unwrap().snapshot() as Arc<dyn Ledger>;
    let columns =
        ["tx_hash", "block_number", "tx_index", "log_index", "contract", "topic0", "topic1", "topic3", "data"];
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    let mut wanted = Vec::new();
    for run in ledger.transaction_runs(ETHEREUM, &ChainRange::default(), 100).unwrap() {
        for transaction in run.unwrap().transactions() {
            wanted.extend(ledger.transaction_logs(transaction).unwrap().into_iter().map(|log| {
                let topic = |place: usize| log.topics.get(place).map_or("-".to_owned(), |topic| hex(topic));
                vec![
                    log.head.hash.display(ETHEREUM.family()),
                    log.head.block.to_string(),
                    log.head.index.unwrap().to_string(),
                    log.index.to_string(),
                    log.contract.to_string(),
                    topic(0),
                    topic(1),
                    topic(3),
                    hex(&log.data),
                ]
            }));
        }
    }
    assert_eq!(wanted.len(), 43);
    let found = |filter: ScanFilter| {
        let (found, decoded) = read(&ledger, &ScanRequest { filter, ..request("logs") });
        (rows(&found, &columns), decoded)
    };
    assert_eq!(found(ScanFilter::default()), (wanted.clone(), 43));
    let contracts = |numbers: &[u64]| Some(numbers.iter().map(|n| Some(address(ETHEREUM, *n).to_string())).collect());
    let of_8: Vec<_> = wanted.iter().filter(|row| row[4] == address(ETHEREUM, 8).to_string()).cloned().collect();
    assert_eq!(found(ScanFilter { contract: contracts(&[8]), ..ScanFilter::default() }), (of_8.clone(), 21));
    assert_eq!(found(ScanFilter { contract: contracts(&[9, 8, 7]), ..ScanFilter::default() }).0, wanted);
    let (hash, block) = (wanted[5][0].clone(), wanted[5][1].parse().unwrap());
    let of_hash: Vec<_> = wanted.iter().filter(|row| row[0] == hash).cloned().collect();
    assert_eq!(found(ScanFilter { tx_hash: Some(vec![hash]), ..ScanFilter::default() }).0, of_hash);
    let late = ScanFilter { contract: contracts(&[8]), from_block: Some(block), ..ScanFilter::default() };
    let later: Vec<_> = of_8.into_iter().filter(|row| row[1].parse::<u64>().unwrap() >= block).collect();
    assert_eq!(found(late).0, later);
    assert!(found(ScanFilter { contract: Some(vec![None]), ..ScanFilter::default() }).0.is_empty());
}

#[test]
fn balances_and_accounts_are_those_of_the_ledger() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let (mut balances, mut accounts) = (Vec::new(), Vec::new());
    for chain in [Chain::BITCOIN, ETHEREUM] {
        for of in ledger.addresses(chain, None, usize::MAX).unwrap() {
            let account = ledger.account(chain, &of).unwrap().unwrap();
            accounts.push(vec![of.to_string(), account.postings.to_string()]);
            balances.extend(ledger.holdings(&account).unwrap().into_iter().map(|held| {
                let contract = held.asset.contract().map_or("-".to_owned(), ToString::to_string);
                vec![of.to_string(), contract, held.balance.shown().to_string(), held.sent().to_string()]
            }));
        }
    }
    let (found, _) = read(&ledger, &request("balances"));
    assert_eq!(rows(&found, &["address", "contract", "balance_raw", "sent_raw"]), balances);
    let (found, _) = read(&ledger, &request("accounts"));
    assert_eq!(rows(&found, &["address", "movements"]), accounts);
    let named = [&accounts[9][0], &accounts[20][0]].map(ToOwned::to_owned).to_vec();
    let filter = ScanFilter { address: Some(named.clone()), ..ScanFilter::default() };
    let (found, decoded) = read(&ledger, &ScanRequest { filter, ..request("balances") });
    balances.retain(|row| named.contains(&row[0]));
    assert_eq!(rows(&found, &["address", "contract", "balance_raw", "sent_raw"]), balances);
    assert_eq!(decoded, balances.len() as u64);
}

#[test]
fn edges_are_the_sums_that_counterparties_have() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let columns =
        ["from_address", "to_address", "contract", "transfers", "transactions", "amount_raw", "unpriced_count"];
    let (found, _) = read(&ledger, &request("edges"));
    let all = rows(&found, &columns);
    assert!(all.is_sorted_by_key(|row| (row[0].clone(), row[1].clone())) && all.len() > 300);
    let mut wanted = Vec::new();
    for of in ledger.addresses(ETHEREUM, None, usize::MAX).unwrap() {
        let account = ledger.account(ETHEREUM, &of).unwrap().unwrap();
        let edges = ledger.edges(&account, EdgeOrder::default(), usize::MAX, &Cancel::new()).unwrap().unwrap();
        for pair in &edges.pairs {
            for edge in edges.assets(pair).iter().filter(|edge| edge.flows.sent.transfers > 0) {
                let contract = ledger.asset(edge.asset).unwrap().contract().map_or("-".to_owned(), ToString::to_string);
                wanted.push(vec![
                    of.to_string(),
                    ledger.address(pair.counterparty).unwrap().to_string(),
                    contract,
                    edge.flows.sent.transfers.to_string(),
                    edge.flows.sent.transactions.to_string(),
                    edge.sent.unwrap().to_string(),
                    edge.flows.sent.unpriced.to_string(),
                ]);
            }
        }
    }
    let sorted = |mut rows: Vec<Vec<String>>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(all.clone()), sorted(wanted));
    let of = address(ETHEREUM, 5).to_string();
    let of_set = |side: &dyn Fn(&Vec<String>) -> bool| all.iter().filter(|row| side(row)).cloned().collect::<Vec<_>>();
    let names = || Some(vec![of.clone()]);
    let none = ScanFilter::default;
    for (filter, wanted) in [
        (ScanFilter { from_address: names(), ..none() }, of_set(&|row| row[0] == of)),
        (ScanFilter { to_address: names(), ..none() }, of_set(&|row| row[1] == of)),
        (ScanFilter { address: names(), ..none() }, of_set(&|row| row[0] == of || row[1] == of)),
    ] {
        let (found, _) = read(&ledger, &ScanRequest { filter, ..request("edges") });
        assert_eq!(rows(&found, &columns), wanted);
    }
}

#[test]
fn labels_prices_and_tokens_are_those_in_force() {
    let mut store = store();
    let who = address(ETHEREUM, 1);
    let exchange = claim(ETHEREUM, who, Code::Exchange, Level::Forensic, "list");
    Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", vec![exchange], 0)).unwrap();
    let ledger = store.snapshot() as Arc<dyn Ledger>;
    for filter in [ScanFilter::default(), of_address(&who)] {
        let (labels, _) = read(&ledger, &ScanRequest { filter, ..request("labels") });
        let wanted = ["ethereum", &who.to_string(), "exchange", "list", "false"].map(str::to_owned);
        assert_eq!(rows(&labels, &["blockchain", "address", "code", "source", "is_disputed"]), [wanted]);
    }
    let (none, decoded) =
        read(&ledger, &ScanRequest { filter: of_address(&address(ETHEREUM, 2)), ..request("labels") });
    assert_eq!((none.num_rows(), decoded), (0, 0));
    let (tokens, _) = read(&ledger, &request("tokens"));
    let listed: usize = Chain::all().map(|chain| ledger.registry().entries(chain).len()).sum();
    assert_eq!(tokens.num_rows(), listed);
    let symbol = Some(vec!["ETH".to_owned()]);
    let filter = ScanFilter { symbol, end_time: Some(5), ..ScanFilter::default() };
    let (prices, _) = read(&ledger, &ScanRequest { filter, ..request("prices") });
    assert_eq!(rows(&prices, &["symbol", "timestamp"]), [["eth", "0"].map(str::to_owned)]);
}

#[test]
fn unknown_names_and_invalid_values_are_refused() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let refused = |request: ScanRequest| scan(Arc::clone(&ledger), &request).err().expect("it is refused").message;
    assert!(refused(request("movement")).starts_with("unknown table \"movement\"; use one of movements, "));
    let columns = Some(vec!["amounts".to_owned()]);
    assert!(refused(ScanRequest { columns, ..request("movements") }).starts_with("unknown column \"amounts\""));
    assert!(refused(ScanRequest { columns: Some(vec![]), ..request("movements") }).starts_with("columns: "));
    let texts = || Some(vec!["x".to_owned()]);
    let none = ScanFilter::default;
    for (name, filter) in [
        ("blockchain", ScanFilter { blockchain: texts(), ..none() }),
        ("address", ScanFilter { address: texts(), ..none() }),
        ("from_address", ScanFilter { from_address: texts(), ..none() }),
        ("contract", ScanFilter { contract: Some(vec![Some("x".to_owned())]), ..none() }),
        ("tx_hash", ScanFilter { tx_hash: texts(), ..none() }),
        ("start_time", ScanFilter { start_time: Some(1_600_000_000_000), ..none() }),
        ("start_time", ScanFilter { start_time: Some(9), end_time: Some(8), ..none() }),
        ("symbol", ScanFilter { symbol: texts(), ..none() }),
    ] {
        let message = refused(ScanRequest { filter: filter.clone(), ..request("movements") });
        assert!(message.starts_with(&format!("{name}: ")), "{message}");
        // What an engine pushes down is compared as it is: nothing equals such a value.
        if name != "symbol" && name != "start_time" {
            let (found, _) = read(&ledger, &ScanRequest { pushed: filter, ..request("movements") });
            assert_eq!(found.num_rows(), 0, "{name}");
        }
    }
}

#[test]
fn every_column_of_every_table_has_its_type() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    for table in TABLES {
        let (all, _) = read(&ledger, &request(table.name));
        for (column, field) in table.columns.iter().zip(all.schema().fields()) {
            assert_eq!((field.name().as_str(), field.data_type()), (column.name, &column.kind.data_type()));
            assert!(!column.meaning.is_empty() && !column.meaning.ends_with('.'), "{} {}", table.name, column.name);
        }
        assert!(all.num_rows() > 0 || table.name == "labels", "{}", table.name);
        let StoredTable { filters, columns, .. } = table;
        assert!(!columns.is_empty() && !filters.is_empty());
    }
}

#[test]
fn dropped_stream_stops_reading() {
    let ledger = store().snapshot() as Arc<dyn Ledger>;
    let mut stream = scan(Arc::clone(&ledger), &ScanRequest { batch_rows: Some(1), ..request("movements") }).unwrap();
    assert_eq!(stream.next().unwrap().unwrap().num_rows(), 1);
    drop(stream);
    // The thread gives the ledger back.
    for _ in 0..500 {
        if Arc::strong_count(&ledger) == 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the thread of a dropped stream holds its ledger");
}

#[test]
fn runs_are_in_order_over_segments_that_interleave() {
    over_segmentations([many(), bitcoin()], |ledger| {
        let mut places = Vec::new();
        for chain in [Chain::BITCOIN, ETHEREUM] {
            for length in [1, 7, u32::MAX] {
                let mut heads = Vec::new();
                let mut movements = Vec::new();
                for run in ledger.transaction_runs(chain, &ChainRange::default(), length).unwrap() {
                    let run = run.unwrap();
                    assert!(!run.is_empty() && run.len() <= length);
                    for transaction in run.transactions() {
                        let head = ledger.transaction_head(transaction).unwrap();
                        heads.push((head.block, head.index.map_or(u64::MAX, u64::from), head.hash));
                    }
                    ledger
                        .visit_movements(&run, &mut |movement| {
                            movements.push((movement.head.hash, movement.kind, movement.ordinal, movement.amount));
                            Ok(std::ops::ControlFlow::Continue(()))
                        })
                        .unwrap();
                }
                assert!(heads.is_sorted());
                let coverage = &ledger.coverage()[&chain];
                assert_eq!((heads.len() as u64, movements.len() as u64), (coverage.transactions, coverage.movements));
                places.push((heads, movements));
            }
            assert!(places.chunks(3).all(|same| same.iter().all(|one| *one == same[0])));
        }
        format!("{places:?}").into_bytes()
    });
}
