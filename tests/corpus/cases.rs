//! The small inputs of `cases/`, made after reports of people who use such files: each with the value that is right, or
//! the text of the error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{ChainSource, IngestReport, OnError, Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

const ALICE: &str = "0x19e418c37ebd469158e4fe80d65eafa79d4305cf";
const BOB: &str = "0x16d519b221f669721fcbe4466ed836f61e93d375";
const CAROL: &str = "0xcf7301b8ee3909dbb0a20a750ee2010fccc5477d";
const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";

/// A store that one ingest made.
struct LoadedCase {
    _folder: tempfile::TempDir,
    store: Arc<Store>,
    engine: QueryEngine,
    report: IngestReport,
}

fn case(name: &str) -> PathBuf {
    headwater_tests::corpus().join("cases").join(name)
}

fn try_read(path: &Path, options: &Options) -> Result<LoadedCase, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let report = ingest(&[path.to_owned()], options, &mut writer, &Silent, &Cancel::new());
    let report = report.map_err(|error| error.to_string())?;
    drop(writer);
    let store = Arc::new(Store::open(folder.path()).unwrap());
    Ok(LoadedCase { _folder: folder, engine: QueryEngine::new(Arc::clone(&store) as _), store, report })
}

fn read(name: &str) -> LoadedCase {
    try_read(&case(name), &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read_skipping(name: &str) -> LoadedCase {
    let skip = Options { on_error: OnError::Skip, ..Options::default() };
    try_read(&case(name), &skip).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refusal(name: &str) -> String {
    match try_read(&case(name), &Options::default()) {
        Ok(read) => panic!("{name} was read: {:?}", read.report),
        Err(error) => error,
    }
}

impl LoadedCase {
    fn ask(&self, name: &str, request: &Value) -> Value {
        let answer = self.engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
        answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
    }

    /// Received less sent of an asset, in raw units; nothing when it never moved.
    fn balance(&self, chain: Chain, who: &str, contract: Option<&str>) -> Option<String> {
        let ledger = self.store.current().unwrap();
        let account = ledger.account(chain, &Address::parse(chain, who).unwrap()).unwrap()?;
        let of = |text: Option<&str>| text.map(|text| Address::parse(chain, text).unwrap());
        let holdings = ledger.holdings(&account).unwrap();
        let holding = holdings.into_iter().find(|holding| holding.asset.contract().copied() == of(contract))?;
        let received = holding.received();
        Some(match received.checked_sub(holding.sent()) {
            Some(held) => held.to_string(),
            None => format!("-{}", holding.sent().checked_sub(received).unwrap()),
        })
    }

    fn ether(&self, who: &str) -> Option<String> {
        self.balance(Chain::ETHEREUM, who, None)
    }

    fn transaction(&self, hash: &str) -> Value {
        self.ask("transaction", &json!({ "hash": hash }))
    }

    fn transactions(&self, chain: Chain) -> u64 {
        let ledger = self.store.current().unwrap();
        ledger.coverage().get(&chain).map_or(0, |coverage| coverage.transactions)
    }

    fn omitted(&self) -> Vec<(u64, &str)> {
        let files = self.report.files.iter().flat_map(|file| &file.omitted);
        files.map(|omitted| (omitted.rows, omitted.reason.as_str())).collect()
    }

    fn chains(&self) -> Vec<(&str, ChainSource)> {
        self.report.files.iter().map(|file| (file.chain.as_str(), file.chain_source)).collect()
    }
}

#[test]
fn corpus_orphaned_rows_are_not_counted() {
    let logs = read("44-reorg-logs");
    assert_eq!(logs.balance(Chain::ETHEREUM, BOB, Some(USDC)).as_deref(), Some("5000000"));
    assert_eq!(logs.balance(Chain::ETHEREUM, CAROL, Some(USDC)), None);
    assert_eq!(logs.omitted(), [(1, "of orphaned blocks: another block is known at their height")]);
    let same = read("44-reorg-same-tx");
    assert_eq!(same.balance(Chain::ETHEREUM, BOB, Some(USDC)).as_deref(), Some("5000000"));
    assert_eq!(same.omitted()[0].0, 1);
    let receipts = read("44-reorg-receipts");
    assert_eq!(receipts.transactions(Chain::ETHEREUM), 1);
    assert_eq!(receipts.balance(Chain::ETHEREUM, CAROL, Some(USDC)), None);
    assert_eq!(receipts.omitted()[0].0, 1);
}

#[test]
fn corpus_two_blocks_of_one_height_are_refused_or_skipped() {
    let error = refusal("44-reorg-blocks");
    for hash in ["0xe26ac0d51d2c1fcb58f87bf4", "0xe240a27c6c44541a3cebe718"] {
        assert!(error.contains(hash), "{error}");
    }
    assert!(error.contains("ethereum block 15537500: hash is 0xe26ac0") && error.contains("in another"), "{error}");
    let skipped = read_skipping("44-reorg-blocks");
    assert_eq!((skipped.report.skipped, skipped.report.blocks), (1, 1));
    let reason = &skipped.report.files[0].skipped_reasons[0];
    assert!(reason.starts_with("line 3: ethereum block 15537500: hash is"), "{reason}");

    let error = refusal("56-btc-etl-stale");
    for hash in ["422acd6f9c8e414f8112a6f8d7272df9", "6c955675be4397898b686ba0ef3665ad"] {
        assert!(error.contains(hash), "{error}");
    }
    assert!(!error.contains("in the store") && !error.contains('"') && !error.contains('\\'), "{error}");
    let skipped = read_skipping("56-btc-etl-stale");
    assert_eq!((skipped.report.blocks, skipped.transactions(Chain::BITCOIN)), (1, 1));
    assert_eq!(skipped.omitted()[0].0, 1, "the transaction of the other block");
}

#[test]
fn corpus_chain_follows_from_the_files_beside() {
    let bsc = read("37-bsc-node");
    assert!(bsc.chains().iter().all(|(chain, _)| *chain == "bsc"), "{:?}", bsc.chains());
    assert_eq!((bsc.transactions(Chain::ETHEREUM), bsc.transactions(Chain::BSC)), (0, 2));
    let both = read("37-two-chains");
    assert_eq!(both.transactions(Chain::ETHEREUM), 1);
    assert_eq!(both.balance(Chain::ETHEREUM, BOB, Some("0x4a22b77b35dc9768fae757eb9f3d3c6aca595b26")), None);
    let receipts = both.report.files.iter().find(|file| file.path.ends_with("bsc_receipts.json")).unwrap();
    assert_eq!((receipts.chain.as_str(), receipts.chain_source), ("bsc", ChainSource::Inferred));
}

#[test]
fn corpus_chain_of_receipts_is_that_of_the_blocks_they_name() {
    // The same files under names that say nothing.
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("eth_block.json", "a.json"), ("bsc_block.json", "b.json"), ("bsc_receipts.json", "c.json")] {
        std::fs::copy(case("37-two-chains").join(from), folder.path().join(to)).unwrap();
    }
    let both = try_read(folder.path(), &Options::default()).unwrap();
    let receipts = both.report.files.iter().find(|file| file.path.ends_with("c.json")).unwrap();
    assert_eq!((receipts.chain.as_str(), receipts.chain_source), ("bsc", ChainSource::Inferred));
    assert!(receipts.warnings[0].contains("the file beside it that has its blocks"), "{:?}", receipts.warnings);
    // Receipts of a block that is nowhere.
    let text = std::fs::read_to_string(folder.path().join("c.json")).unwrap();
    let other = text.replace("77e78c163bc71983f6966d95d29c3a031bebf959d556079b739059a22efe5eac", &"ab".repeat(32));
    std::fs::write(folder.path().join("c.json"), other).unwrap();
    let error = try_read(folder.path(), &Options::default()).err().unwrap();
    assert!(error.contains("c.json names no chain, and lies beside files of bsc and ethereum"), "{error}");
    assert!(error.contains("--chain"), "{error}");
}

#[test]
fn corpus_blob_fee_is_part_of_the_fee_or_the_fee_is_unknown() {
    let hash = "0x2896b61b5331088f4479dbd19d424fe71ac8d9fff20aa62e4b7f575efdf5fac4";
    // 21,000 gas and 262,144 gas of blobs, both at 1 gwei.
    for name in ["29-blob-etl", "29-blob-bigquery"] {
        assert_eq!(read(name).transaction(hash)["fee_raw"], "283144000000000", "{name}");
    }
    for name in ["29-blob-cryo", "29-blob-noprice"] {
        let detail = read(name).transaction(hash);
        assert_eq!((&detail["fee_raw"], &detail["status"]), (&Value::Null, &json!("success")), "{name}");
    }
}

#[test]
fn corpus_status_before_byzantium_is_unknown() {
    let read = read("07-reth-prebyzantium");
    let detail = read.transaction("0x05d3a7b042b8b8c6f288dcf8e5f4e00e808216c65954deaa6f8b23171a5aade6");
    assert_eq!(detail["status"], "unknown");
    assert_eq!(detail["fee_raw"], "21000000000000");
}

#[test]
fn corpus_chain_id_zero_names_no_chain() {
    let read = read("06-chainid-zero");
    assert_eq!(read.transactions(Chain::ETHEREUM), 1);
}

#[test]
fn corpus_obfuscated_block_files_are_read() {
    for name in ["28-blk-xor", "28-blk-xor-bracket"] {
        let read = read(name);
        assert!(read.transactions(Chain::BITCOIN) > 0 && read.report.left_out.is_empty(), "{name}: {:?}", read.report);
    }
}

#[test]
fn corpus_numbers_of_pandas_are_read() {
    for name in ["05-pandas-traces", "05-pandas-json"] {
        let read = read(name);
        let detail = read.transaction("0x2f97bdfcf4f666330800a6e17e93b77ef20036afa5ab6574d59a3d8133d5514c");
        assert_eq!((&detail["status"], &detail["amount_raw"]), (&json!("success"), &json!("1000")), "{name}");
    }
    let traces = read("05-pandas-traces");
    assert_eq!(traces.ether(CAROL).as_deref(), Some("400"));
    assert_eq!(traces.ether(ALICE).as_deref(), Some("2999999999999999000"), "a reward of 3 ether less what was sent");
    let transactions = read("05-pandas-transactions");
    assert_eq!(transactions.ether(BOB).as_deref(), Some("1000000000000000000"));
}

#[test]
fn corpus_times_are_read_in_the_forms_of_databases() {
    let folders = std::fs::read_dir(case("18-times")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.collect();
    folders.sort();
    let mut read = 0;
    for folder in folders {
        match try_read(&folder, &Options::default()) {
            Ok(found) => {
                let rows = found.ask("transactions", &json!({"blockchain": "ethereum", "address": BOB}));
                assert_eq!(rows["datas"][0]["timestamp"], 1_682_942_400, "{}", folder.display());
                read += 1;
            }
            // A date alone is another time.
            Err(error) => {
                assert!(folder.ends_with("10") && error.contains("\"2023-05-01\""), "{error}");
                assert!(error.contains("a date and a time of day"), "{error}");
            }
        }
    }
    assert_eq!(read, 9);
}

#[test]
fn corpus_lists_of_topics_are_read_in_all_notations() {
    for name in ["17-topics-json", "17-topics-numpy", "17-topics-sql"] {
        let token = Some("0xae7eb503ac14e16c845e0ecef0cf66825bb41f58");
        assert_eq!(read(name).balance(Chain::ETHEREUM, BOB, token).as_deref(), Some("5"), "{name}");
    }
}

#[test]
fn corpus_headers_and_dividers_of_spreadsheets_are_read() {
    for name in ["31-crlf-bom-spaces", "31-header-case", "31-semicolon", "31-sep-line"] {
        assert_eq!(read(name).ether(BOB).as_deref(), Some("15"), "{name}");
    }
    assert_eq!(read("53-parquet-snowflake-upper").ether(BOB).as_deref(), Some("1500000000000000000"));
}

#[test]
fn corpus_codecs_of_parquet_are_read() {
    let read = read("53-cryo-default-lz4");
    assert_eq!((read.transactions(Chain::ETHEREUM), read.report.rows), (1, 1));
}

#[test]
fn corpus_containers_are_read_or_named() {
    assert_eq!(read("54-gz-padded").transactions(Chain::ETHEREUM), 1);
    assert_eq!(read("54-zip").transactions(Chain::ETHEREUM), 1);
    // Not more than the first bytes of a zstd file.
    let error = refusal("54-zst");
    assert!(error.contains("damaged") && error.contains("zstd"), "{error}");
}

#[test]
fn corpus_withdrawals_of_a_table_are_in_the_balances() {
    let read = read("30-withdrawals-csv");
    assert_eq!(read.ether(ALICE).as_deref(), Some("34000001000000000"));
}

#[test]
fn corpus_call_trees_as_deep_as_the_evm_allows_are_read() {
    let read = read("51-deep-260");
    assert_eq!(read.report.skipped, 0);
    assert_eq!(read.transactions(Chain::ETHEREUM), 1);
}

#[test]
fn corpus_self_destruct_to_itself_before_cancun_burns() {
    let read = read("25-selfdestruct-self");
    assert_eq!(read.ether(CAROL).as_deref(), Some("0"));
    assert_eq!(read.ether(ALICE).as_deref(), Some("-1000"));
}

#[test]
fn corpus_taproot_output_in_the_old_form_belongs_to_its_script() {
    let read = read("48-taproot-old-bech32");
    let ledger = read.store.current().unwrap();
    let addresses = ledger.addresses(Chain::BITCOIN, None, usize::MAX).unwrap();
    let [only] = &addresses[..] else { panic!("{addresses:?}") };
    // The same program; the last six characters are the checksum, which BIP 350 changed.
    let program = "bc1p4hppflurny0rmuhyzwxfqml09vqhs28m6vc9agaz8zwk6vyhdksq";
    assert!(only.to_string().starts_with(program) && !only.to_string().ends_with("hx43uz"), "{only}");
    assert_eq!(read.balance(Chain::BITCOIN, &only.to_string(), None).as_deref(), Some("625000000"));
}

#[test]
fn corpus_multi_byte_text_is_an_error_of_its_row() {
    let error = refusal("59-char-boundary");
    assert!(error.contains("line 3") && error.contains("to_address") && error.contains('€'), "{error}");
}
