//! Files of a store that are damaged in more than a bit: by accident, which checksums detect, and by somebody who makes
//! the checksums right again, after which any answer may come, but in bounded time and memory and without a panic.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::facts::{Claim, OutPoint, TokenFacts};
use headwater_ledger::logs::{FirstTopic, LogFilter};
use headwater_ledger::market::{FxPoint, PricePoint, TokenListing};
use headwater_ledger::read::{
    AddressRange, Assets, ColumnSet, CoverageTable, Generation, Generations, Ledger, Logs, Outputs, Scan, Transactions,
};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::fuzz::{FuzzOutcome, Reader};
use headwater_testkit::{Chainlet, address, followed, hash, token, topic};
use headwater_types::{Address, Asset, Chain, Timestamp};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

const CHAIN: Chain = Chain::ETHEREUM;
const PAGE: usize = 4096;

fn contract(number: u64) -> Address {
    let Asset::Token(contract) = token(CHAIN, number) else { unreachable!("a token has a contract") };
    contract
}

/// A small store with every kind of file.
fn create(root: &Path) {
    let cancel = Cancel::new();
    let mut writer = Writer::open_or_create(root).unwrap();
    let listing = TokenListing {
        chain: CHAIN,
        contract: contract(1),
        symbol: "t1".to_owned(),
        name: "Token".to_owned(),
        decimals: 2,
        verified: true,
        coingecko_id: None,
    };
    let time = Timestamp::new(1_600_000_000);
    writer.import_tokens("list", vec![listing]).unwrap();
    writer.import_prices("prices", vec![PricePoint { symbol: "eth".to_owned(), time, usd: 2000.0 }]).unwrap();
    writer.import_exchange_rates("rates", vec![FxPoint { currency: "EUR".to_owned(), time, per_usd: 0.9 }]).unwrap();
    let mut chain = Chainlet::ethereum();
    for number in 0..60 {
        chain = chain.transfer(number % 7, number % 5 + 9, number + 1).fee(number % 5).token_movement(
            1 + number % 2,
            number % 7,
            30 + number % 3,
            7 + number,
        );
        // Enough logs for an index of them.
        for log in 0..20 {
            chain = chain.log(9 + log % 2, &[log % 3, number][..(log % 3) as usize], &[]);
        }
    }
    let mut batch = chain.internal(1, 2, 5).batch();
    batch.tokens = vec![TokenFacts {
        contract: contract(1),
        symbol: Some("T".into()),
        name: None,
        decimals: Some(6),
        is_non_fungible: false,
    }];
    batch.contracts = vec![address(CHAIN, 9)];
    batch.claims = vec![Claim::Account { address: address(CHAIN, 1), table: CoverageTable::Transactions }];
    writer.commit(batch, &cancel).unwrap();
    let mined = (1..9).fold(Chainlet::bitcoin(), |chain, number| chain.mine(number % 3, 50 + number));
    writer.commit(mined.spend(&[(1, 0, 0)], &[(3, 20), (7, 25)]).batch(), &cancel).unwrap();
    writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap();
    for number in 100..104 {
        let block = Chainlet::ethereum().at_block(number).transfer(1, 7, number).fee(1);
        writer.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    }
}

/// The files of a store, by name, with what they hold; the manifest is the last.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in ["segments", "edges", "holders", "logs", "accounts", "tokens", "prices", "fx", "feed"] {
        files.extend(std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    let manifest = manifest(root);
    let text = std::fs::read_to_string(&manifest).unwrap();
    files.retain(|file| text.contains(file.file_name().unwrap().to_str().unwrap()));
    files.sort();
    files.push(manifest);
    files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

fn manifest(root: &Path) -> PathBuf {
    let generation = Store::open(root).unwrap().stats().unwrap().generation;
    root.join(format!("manifest-{generation:010}.json"))
}

/// Makes the checksums of a container right again, as far as its ends still are where they were.
fn seal(bytes: &mut [u8]) -> Option<()> {
    let trailer = bytes.len().checked_sub(40)?;
    let word = |bytes: &[u8], at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let checks = usize::try_from(word(bytes, trailer)?).ok()?;
    if checks > trailer || trailer - checks != checks.div_ceil(PAGE) * 4 {
        return None;
    }
    for page in 0..checks.div_ceil(PAGE) {
        let crc = crc32c::crc32c(&bytes[page * PAGE..checks.min((page + 1) * PAGE)]);
        bytes[checks + page * 4..][..4].copy_from_slice(&crc.to_le_bytes());
    }
    let length = bytes.len() as u64;
    bytes[trailer + 8..trailer + 16].copy_from_slice(&length.to_le_bytes());
    let of_checks = crc32c::crc32c(&bytes[checks..trailer]);
    bytes[trailer + 16..trailer + 20].copy_from_slice(&of_checks.to_le_bytes());
    let own = crc32c::crc32c(&bytes[trailer..trailer + 36]);
    bytes[trailer + 36..].copy_from_slice(&own.to_le_bytes());
    Some(())
}

/// A manifest with the checksum that it should have.
fn sealed_manifest(text: &str) -> String {
    let Some((_, body)) = text.split_once("\"body\":") else { return text.to_owned() };
    let body = body.trim_end().strip_suffix('}').unwrap_or(body);
    format!("{{\"format\":3,\"checksum\":\"{:032x}\",\"body\":{body}}}\n", xxh3_128(body.as_bytes()))
}

/// Returns how a manifest lists a file.
fn listed(bytes: &[u8]) -> String {
    format!("\"length\":{},\"digest\":\"{:032x}\"", bytes.len(), xxh3_128(bytes))
}

/// Asks a store for everything.
fn answers(root: &Path) -> Result<u128, LedgerError> {
    let store = Store::open(root)?;
    let ledger = store.snapshot()?;
    let mut digest = Xxh3::new();
    let mut put = |text: String| digest.update(text.as_bytes());
    put(format!("{:?}", ledger.coverage()));
    for symbol in ledger.prices().symbols() {
        put(format!("{symbol}{:?}", ledger.prices().series(symbol)));
    }
    for chain in [CHAIN, Chain::BITCOIN] {
        put(format!("{:?}", ledger.registry().entries(chain)));
        for block in (0..62).chain(100..104) {
            put(format!("{:?}", ledger.block(chain, block)?));
            put(format!("{:?}", ledger.spender(chain, &OutPoint { hash: hash(block, 0), index: 0 })?));
            if let Some(at) = ledger.find_transaction(chain, &hash(block, 0))? {
                put(format!("{:?}", ledger.transaction(at)?));
                put(format!("{:?}", ledger.transaction_logs(at)?));
            }
        }
        of_accounts(&*ledger, chain, &mut put)?;
    }
    let feed = store.feed()?;
    for item in feed.after(feed.oldest().saturating_sub(1), 1000)? {
        put(format!("{item:?}{:?}", feed.transactions(item.position)?));
    }
    Ok(digest.digest128())
}

fn of_accounts(ledger: &dyn Ledger, chain: Chain, put: &mut dyn FnMut(String)) -> Result<(), LedgerError> {
    let mut assets = Vec::new();
    for address in ledger.addresses(chain, None, 1000)? {
        let Some(account) = ledger.account(chain, &address)? else { continue };
        let holdings = ledger.holdings(&account)?;
        assets.extend(holdings.iter().map(|holding| holding.asset));
        put(format!("{address}{holdings:?}"));
        for order in [EdgeOrder::Total, EdgeOrder::Sent, EdgeOrder::Received] {
            put(format!("{:?}", ledger.edges(&account, order, 1000, &Cancel::new())?));
        }
        for posting in ledger.postings(&account, &Scan::default())?.take(1000) {
            put(format!("{:?}", posting?));
        }
        let topics = FirstTopic::OneOf(vec![topic(1), topic(2)]);
        for first_topic in [FirstTopic::Any, FirstTopic::Absent, topics] {
            let filter = LogFilter { first_topic, ..LogFilter::of(address) };
            put(format!("{:?}", ledger.log_page(chain, &filter, 1000, &Cancel::new())?));
        }
    }
    ledger.sweep(chain, &AddressRange::default(), (ColumnSet::ALL, &Cancel::new()), &mut |address, batch| {
        put(format!("{address}{:?}{:?}", batch.seconds(), batch.amounts()));
        Ok(ControlFlow::Continue(()))
    })?;
    assets.sort_unstable();
    assets.dedup();
    for asset in assets.into_iter().take(20) {
        let Some(holders) = ledger.holders(chain, &asset)? else { continue };
        put(format!("{} {:?} {:?}", holders.count(), holders.total(), holders.first(1000)?));
    }
    Ok(())
}

/// Writes a file anew. One that is cut and written again is brought to the disk at once by some file systems.
fn put(path: &Path, content: impl AsRef<[u8]>) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, content).unwrap();
}

/// Returns whether an error is about a file.
fn names(error: &LedgerError, damaged: &Path) -> bool {
    match error {
        LedgerError::Corrupt { file, .. } => file == damaged,
        LedgerError::OtherFormat { path, .. } => path == damaged,
        _ => false,
    }
}

#[test]
fn damaged_file_is_named_and_a_forged_one_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    create(root);
    let files = files(root);
    let (manifest, list) = files.last().unwrap();
    let list = String::from_utf8(list.clone()).unwrap();
    let sound = answers(root).unwrap();
    // An input is the number of a file, whether its checksums are made right, and what it is to hold.
    let samples = files.iter().enumerate().flat_map(|(place, (_, bytes))| {
        let number = u8::try_from(place).unwrap();
        [0, 1].map(|sealed| [&[number, sealed][..], bytes].concat())
    });
    let words = [
        "\"file\":\"../x\"",
        "\"segments\":[",
        "HDWTRSEG",
        "\"length\":0",
        "null",
        "\"format\":3",
        "[[0,18446744073709551615]]",
    ];
    Reader::new("store_files", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus"))
        .samples(samples)
        .words(words)
        .check(|input| {
            let [number, sealed, bytes @ ..] = input else { return FuzzOutcome::Refused };
            let (file, before) = &files[usize::from(*number) % files.len()];
            let (is_manifest, is_sealed) = (file == manifest, sealed % 2 == 1);
            let mut bytes = bytes.to_vec();
            if is_sealed && is_manifest {
                bytes = sealed_manifest(&String::from_utf8_lossy(&bytes)).into_bytes();
            } else if is_sealed {
                let _ = seal(&mut bytes);
                put(manifest, sealed_manifest(&list.replace(&listed(before), &listed(&bytes))));
            }
            put(file, &bytes);
            let answered = answers(root);
            let verified = Store::open(root).and_then(|store| store.verify(&|_, _| {}, &Cancel::new()));
            put(file, before);
            put(manifest, &list);
            if !is_sealed {
                match &answered {
                    Ok(answer) => {
                        assert_eq!(*answer, sound, "{} is damaged, and other data are served", file.display());
                    }
                    Err(error) => {
                        assert!(names(error, file), "{} is damaged, and this is said: {error}", file.display());
                    }
                }
                let problems = verified.as_ref().map(|report| report.problems.len());
                assert!(answered.is_ok() || problems.is_ok_and(|problems| problems > 0), "verification finds nothing");
            }
            FuzzOutcome::from(&answered)
        });
}
