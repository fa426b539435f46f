//! What a chain itself implies and files leave out: times of first blocks, created contracts, self-destructs, tokens that
//! are not fungible.

use std::path::Path;

use headwater_ingest::{Gathered, IngestReport, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, MovementFact};
use headwater_ledger::read::{Accounts, Balances};
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Address, Amount, Chain, TxHash};

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";
const TRACES: &str = "block_number,transaction_hash,transaction_index,from_address,to_address,value,trace_type,call_type,trace_address,error,status";
const TRANSFERS: &str = "token_address,from_address,to_address,value,transaction_hash,log_index,block_number";
const CONTRACTS: &str = "address,bytecode,function_sighashes,is_erc20,is_erc721,block_number";

fn hash(byte: u8) -> String {
    format!("0x{}", hex::encode([byte; 32]))
}

fn address(text: &str) -> Address {
    Address::parse(Chain::ETHEREUM, text).unwrap()
}

fn write(folder: &Path, files: &[(&str, String)]) {
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
}

fn read_as(files: &[(&str, String)], chain: Option<Chain>) -> (IngestReport, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    let mut target = Gathered::default();
    let options = Options { chain, ..Options::default() };
    let report = ingest_into(&[folder.path().to_owned()], &options, &mut target, &Silent, &Cancel::new());
    (report.unwrap(), target.batches)
}

fn block(number: u64, secs: i64) -> (&'static str, String) {
    ("blocks.csv", format!("number,hash,parent_hash,timestamp,gas_limit\n{number},,,{secs},1\n"))
}

#[test]
fn first_block_has_the_time_of_its_chain() {
    for (chain, secs) in [(Chain::ETHEREUM, 1_438_269_973), (Chain::BSC, 1_587_390_414)] {
        let genesis = ("traces.csv", format!("{TRACES}\n0,,,,{A},7,genesis,,,,1\n"));
        // Without its block, and with one that says zero.
        for files in [vec![genesis.clone()], vec![genesis.clone(), block(0, 0)]] {
            let (_, batches) = read_as(&files, Some(chain));
            let facts = &batches[0].transactions[0];
            assert_eq!((facts.hash, facts.time.unwrap().secs()), (TxHash::genesis(&address(A)), secs), "{chain}");
            assert!(batches[0].blocks.iter().all(|block| block.time.secs() == secs));
        }
    }
    let coinbase = r#"{"hash":"4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b","block_number":0,"is_coinbase":true,"index":0,"inputs":[],"outputs":[]}"#;
    let (_, batches) = read_as(&[("transactions.json", coinbase.to_owned())], None);
    assert_eq!(batches[0].transactions[0].time.unwrap().secs(), 1_231_006_505);
}

/// What internal movements a transaction comes to whose contract destroys itself and names itself as heir.
fn burnt(chain: Chain, number: u64, secs: i64, created: bool) -> Vec<(Option<Address>, Option<Address>, Amount)> {
    let tx = hash(1);
    let creation = if created { format!("{number},{tx},0,{A},{C},9,create,,0,,1\n") } else { String::new() };
    let traces = format!(
        "{TRACES}\n{number},{tx},0,{A},{B},0,call,call,,,1\n{creation}{number},{tx},0,{C},{C},9,suicide,,\"1,0\",,1\n"
    );
    let (_, batches) = read_as(&[block(number, secs), ("traces.csv", traces)], Some(chain));
    let facts = batches[0].transactions.iter().find(|facts| !facts.hash.is_made()).unwrap();
    let moved = facts.movements.iter().filter(|movement| movement.from == Some(address(C)));
    moved.map(|movement| (movement.from, movement.to, movement.amount)).collect()
}

#[test]
fn self_destruct_to_itself_burns_before_cancun_or_when_new() {
    let gone = vec![(Some(address(C)), None, Amount::from(9))];
    for (chain, number, secs, created, expected) in [
        (Chain::ETHEREUM, 19_426_586, 1_710_338_123, false, gone.clone()),
        (Chain::ETHEREUM, 19_426_587, 1_710_338_135, false, Vec::new()),
        (Chain::ETHEREUM, 19_426_587, 1_710_338_135, true, gone.clone()),
        (Chain::BSC, 39_000_000, 1_718_863_499, false, gone),
        (Chain::BSC, 39_000_000, 1_718_863_500, false, Vec::new()),
    ] {
        assert_eq!(burnt(chain, number, secs, created), expected, "{chain} {number} {created}");
    }
}

#[test]
fn transfers_of_erc721_contracts_move_no_amount() {
    let transfers =
        ("a_transfers.csv", format!("{TRANSFERS}\n{C},{A},{B},4711,{},0,5\n{B},{A},{C},7,{},1,5\n", hash(1), hash(1)));
    let contracts = ("contracts.csv", format!("{CONTRACTS}\n{C},0x,,False,True,5\n{B},0x,,True,False,5\n"));
    let (report, batches) = read_as(&[block(5, 1_600_000_000), transfers.clone(), contracts.clone()], None);
    let movements = &batches[0].transactions[0].movements;
    let kinds: Vec<_> = movements.iter().map(|movement| movement.kind).collect();
    assert_eq!((kinds, report.non_fungible), (vec![MovementFact::NonFungible, MovementFact::Token], 1));

    // In two loads, the contracts first; and the other way round with a warning.
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[block(5, 1_600_000_000), transfers, contracts]);
    let files = ["blocks.csv", "contracts.csv", "a_transfers.csv"].map(|name| folder.path().join(name));
    let [blocks, contracts, transfers] = files;
    let load = |store: &str, paths: &[&[&std::path::PathBuf]]| -> (Vec<IngestReport>, Store) {
        let store = folder.path().join(store);
        let mut writer = Writer::open_or_create(&store).unwrap();
        let reports = paths.iter().map(|paths| {
            let paths: Vec<_> = paths.iter().map(|path| (*path).clone()).collect();
            ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap()
        });
        let reports = reports.collect();
        drop(writer);
        (reports, Store::open(&store).unwrap())
    };
    let (_, store) = load("first", &[&[&blocks, &contracts], &[&transfers]]);
    let ledger = headwater_ledger::read::Generations::current(&store).unwrap();
    assert!(ledger.token_facts(Chain::ETHEREUM, &address(C)).unwrap().unwrap().is_non_fungible);
    let holder = ledger.account(Chain::ETHEREUM, &address(B)).unwrap().unwrap();
    let held: Vec<_> =
        ledger.holdings(&holder).unwrap().into_iter().map(|holding| holding.asset.contract().copied()).collect();
    assert!(!held.contains(&Some(address(C))), "{held:?}");
    let (reports, _) = load("last", &[&[&blocks, &transfers], &[&contracts]]);
    let warnings = &reports[1].files[0].warnings;
    assert!(
        warnings.iter().any(|warning| warning.contains("is ERC-721") && warning.contains("build the store anew")),
        "{warnings:?}"
    );
}

#[test]
fn created_contract_is_told_by_sender_and_nonce() {
    let header =
        "hash,nonce,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp";
    let sender = "0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0";
    let row = format!("{header}\n{},1,5,0,{sender},,9,21000,1,0x,1600000000\n", hash(1));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("transactions.csv", row)]);
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    ingest(&[folder.path().join("transactions.csv")], &Options::default(), &mut writer, &Silent, &Cancel::new())
        .unwrap();
    let ledger = writer.snapshot();
    let created = address("0x343c43a37d37dff08ae8c4a11544c718abb4fcf8");
    let account = ledger.account(Chain::ETHEREUM, &created).unwrap().expect("the contract received the value");
    assert_eq!(ledger.holdings(&account).unwrap()[0].received(), Amount::from(9));
}
