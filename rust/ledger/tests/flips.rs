//! Single flipped bits in every kind of file of a store: what is served is what was written or an error that names the
//! file and the place, verification names both, and nothing panics.
//!
//! A seeded sample here, all ten thousand with `HEADWATER_FULL`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Write as _};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::facts::{Claim, OutPoint, TokenFacts};
use headwater_ledger::logs::{FirstTopic, LogFilter};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::{AddressRange, Assets, ColumnSet, CoverageTable, Generation, Ledger, Scan};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address, hash, token, topic};
use headwater_types::{Address, Asset, Chain, Timestamp};
use xxhash_rust::xxh3::Xxh3;

const CHAIN: Chain = Chain::ETHEREUM;
const ALL: u64 = 10_000;
const SAMPLE: u64 = 100;
/// Bytes under one checksum of a segment or sidecar.
const PAGE: u64 = 4096;

fn contract(number: u64) -> Address {
    let Asset::Token(contract) = token(CHAIN, number) else { unreachable!("a token has a contract") };
    contract
}

/// A store with every kind of file: enough movements for edges and a holder table, and small segments.
fn create(root: &Path) {
    let cancel = Cancel::new();
    let mut writer = Writer::open_or_create(root).unwrap();
    let listing = |number: u64| TokenListing {
        chain: CHAIN,
        contract: contract(number),
        symbol: format!("t{number}"),
        name: format!("Token {number}"),
        decimals: 2,
        verified: number < 9,
        coingecko_id: None,
    };
    writer.import_tokens("list", (0..60).map(listing).collect()).unwrap();
    let point = |day: i64| PricePoint {
        symbol: if day % 2 == 0 { "eth" } else { "t1" }.into(),
        time: Timestamp::new(1_600_000_000 + 40 * day),
        usd: 1.0 + f64::from(u16::try_from(day).unwrap()),
    };
    writer.import_prices("prices", (0..200).map(point).collect()).unwrap();

    let mut large = Chainlet::ethereum();
    for number in 0..2200 {
        large = if number % 3 > 0 { large.same_block() } else { large };
        large = large.transfer(number % 37, number % 41 + 100, number + 1).fee(number % 50);
        for movement in 0..125 {
            large = large.token_movement(1 + movement % 2, number % 37, 300 + (number + movement) % 53, 7 + movement);
        }
    }
    writer.commit(large.batch(), &cancel).unwrap();
    writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap();

    let small = (5000..5200).fold(Chainlet::ethereum().at_block(5000), |chain, block| {
        let chain = chain.token_transfer(3, block % 11, block % 7 + 20, block).fee(3).internal(block % 11, 2, 5);
        // Enough logs for an index of them.
        (0..8).fold(chain, |chain, log| chain.log(40 + log % 3, &[log, block][..(log % 3) as usize], &[7, 8]))
    });
    let mut small = small.batch();
    let facts = |contract| TokenFacts {
        contract,
        symbol: Some("T".into()),
        name: None,
        decimals: Some(6),
        is_non_fungible: false,
    };
    small.tokens = (1..4).map(|number| facts(contract(number))).collect();
    small.contracts = vec![address(CHAIN, 20)];
    let claim = |number| Claim::Account { address: address(CHAIN, number), table: CoverageTable::Transactions };
    small.claims = (0..50).map(claim).collect();
    writer.commit(small, &cancel).unwrap();

    let mined = (1..60).fold(Chainlet::bitcoin(), |chain, number| chain.mine(number % 9, 50 + number));
    let spent = (1..40).fold(mined, |chain, block| chain.spend(&[(block, 0, 0)], &[(block % 13, 20), (7, 25)]));
    writer.commit(spent.batch(), &cancel).unwrap();
    drop(writer);
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["segments", "edges", "holders", "logs", "accounts", "tokens", "prices"] {
        files.extend(std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.push(newest_manifest(root));
    files.sort();
    files
}

fn newest_manifest(root: &Path) -> PathBuf {
    let generation = Store::open(root).unwrap().stats().unwrap().generation;
    root.join(format!("manifest-{generation:010}.json"))
}

/// Takes answers as text and keeps their digest.
struct Answers(Xxh3);

impl fmt::Write for Answers {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Answers {
    fn put(&mut self, answer: impl Debug) {
        write!(self, "{answer:?};").unwrap();
    }
}

/// Digests the answers of every primitive.
fn answers(root: &Path) -> Result<u128, LedgerError> {
    let store = Store::open(root)?;
    let ledger = store.snapshot()?;
    let mut answers = Answers(Xxh3::new());
    answers.put(ledger.coverage());
    for symbol in ledger.prices().symbols() {
        answers.put((symbol, ledger.prices().series(symbol)));
    }
    for chain in [CHAIN, Chain::BITCOIN] {
        of_chain(&*ledger, chain, &mut answers)?;
    }
    Ok(answers.0.digest128())
}

fn of_chain(ledger: &dyn Ledger, chain: Chain, answers: &mut Answers) -> Result<(), LedgerError> {
    answers.put(ledger.registry().entries(chain));
    for block in (0..80).chain(5000..5205).step_by(5) {
        answers.put(ledger.block(chain, block)?);
        answers.put(ledger.find_transaction(chain, &hash(block, 0))?);
        answers.put(ledger.spender(chain, &OutPoint { hash: hash(block, 0), index: 0 })?);
        if let Some(at) = ledger.transaction_at(chain, block, 0)? {
            answers.put(ledger.transaction_head(at)?);
            answers.put(ledger.transaction(at)?);
            answers.put(ledger.transaction_logs(at)?);
        }
    }
    let mut assets = BTreeSet::new();
    for (place, address) in ledger.addresses(chain, None, usize::MAX)?.iter().enumerate() {
        let Some(account) = ledger.account(chain, address)? else {
            answers.put("gone");
            continue;
        };
        answers.put((address, account.postings, account.is_contract));
        let holdings = ledger.holdings(&account)?;
        assets.extend(holdings.iter().map(|holding| holding.asset));
        answers.put(holdings);
        let order = [EdgeOrder::Total, EdgeOrder::Sent, EdgeOrder::Received][place % 3];
        answers.put(ledger.edges(&account, order, usize::MAX, &Cancel::new())?);
        let visited = ledger.visit_edges(&account, order, &Cancel::new(), &mut |other, flows| {
            answers.put((other, flows));
            ControlFlow::Continue(())
        })?;
        answers.put(visited);
        if place % 8 == 0 {
            for posting in ledger.postings(&account, &Scan::default())?.take(20) {
                let posting = posting?;
                answers.put((posting, ledger.transaction_head(posting.transaction)?, ledger.asset(posting.asset)?));
            }
        }
        if let Some(handle) = account.handle() {
            answers.put(ledger.account_of(handle)?.postings);
        }
        for log in ledger.logs(chain, &LogFilter::of(*address), &Cancel::new())? {
            answers.put(log?);
        }
        let topic = LogFilter { first_topic: FirstTopic::from(topic(4)), ..LogFilter::of(*address) };
        answers.put(ledger.log_page(chain, &topic, 20, &Cancel::new())?);
    }
    let cancel = Cancel::new();
    ledger.sweep(chain, &AddressRange::default(), (ColumnSet::ALL, &cancel), &mut |address, batch| {
        answers.put((address, batch.part(), batch.base_time(), batch.len()));
        let fields = batch.transactions().iter().zip(batch.counterparties()).zip(batch.assets()).zip(batch.seconds());
        let mut bytes = Vec::with_capacity(33 * batch.len());
        for ((((row, other), asset), seconds), amount) in fields.zip(batch.amounts()) {
            for field in [row, other, asset, seconds] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend(amount.to_le_bytes());
        }
        answers.0.update(&bytes);
        answers.put(batch.flags().iter().map(|flags| flags.kind() as u8 + 8 * flags.direction() as u8).max());
        Ok(ControlFlow::Continue(()))
    })?;
    for asset in &assets {
        let Some(holders) = ledger.holders(chain, asset)? else { continue };
        answers.put((holders.count(), holders.negative(), holders.total(), holders.first(usize::MAX)?));
    }
    for number in 0..if chain == CHAIN { 5 } else { 0 } {
        answers.put(ledger.token_facts(chain, &contract(number))?);
    }
    answers.put(ledger.find_addresses(chain, "", 9, 100)?);
    Ok(())
}

fn names(error: &LedgerError, damaged: &Path) -> bool {
    match error {
        LedgerError::Corrupt { file, .. } => file == damaged,
        LedgerError::OtherFormat { path, .. } => path == damaged,
        _ => false,
    }
}

fn flip(file: &Path, at: u64, bit: u32) {
    let mut file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    byte[0] ^= 1 << bit;
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&byte).unwrap();
}

/// The outcome of flips.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    flips: u64,
    /// Reading failed with an error that names the file.
    refused: u64,
    /// Verification reported it; the others lie in unused space.
    reported: u64,
}

/// Flips one bit of one file, and back.
fn trial(root: &Path, file: &Path, (at, bit): (u64, u32), sound: u128) -> Result<Tally, String> {
    let context = |what: &str| format!("{} byte {at} bit {bit}: {what}", file.display());
    flip(file, at, bit);
    let outcome = catch_unwind(AssertUnwindSafe(|| (answers(root), verified(root))));
    flip(file, at, bit);
    let (answered, report) = outcome.map_err(|_| context("it panics"))?;
    let refused = match answered {
        Ok(answer) if answer == sound => 0,
        Ok(_) => return Err(context("other data are served")),
        Err(error) if names(&error, file) => 1,
        Err(error) => return Err(context(&format!("the error names another file: {error}"))),
    };
    let problems = report.map_err(|error| context(&format!("it cannot be verified: {error}")))?;
    let of_file: Vec<_> = problems.iter().filter(|(damaged, _)| damaged == file).collect();
    // Files of text are under one checksum, and what is about a paged file is at its two ends.
    let length = std::fs::metadata(file).unwrap().len();
    let is_near = |offset: u64| offset == 0 || offset.abs_diff(at) <= PAGE || at + PAGE > length;
    if !of_file.is_empty() && !of_file.iter().any(|(_, offset)| is_near(*offset)) {
        return Err(context(&format!("reported elsewhere: {of_file:?}")));
    }
    if refused == 1 && of_file.is_empty() {
        return Err(context("refused, and not reported"));
    }
    Ok(Tally { flips: 1, refused, reported: u64::from(!of_file.is_empty()) })
}

fn verified(root: &Path) -> Result<Vec<(PathBuf, u64)>, LedgerError> {
    let report = Store::open(root)?.verify(&|_, _| {}, &Cancel::new())?;
    Ok(report.problems.into_iter().map(|problem| (problem.file, problem.offset)).collect())
}

/// A number that depends on the seed only.
fn mixed(seed: u64) -> u64 {
    let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ seed >> 31
}

fn below(seed: u64, bound: u64) -> u64 {
    mixed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % bound
}

fn copy(from: &Path, to: &Path) {
    for folder in ["", "segments", "edges", "holders", "logs", "accounts", "tokens", "prices"] {
        std::fs::create_dir_all(to.join(folder)).unwrap();
        for entry in std::fs::read_dir(from.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
}

/// The flips of one worker, each file as likely as another, by name of file.
fn work(root: &Path, numbers: impl Iterator<Item = u64>, sound: u128) -> Result<BTreeMap<String, Tally>, String> {
    let files = files(root);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for number in numbers {
        let file = &files[usize::try_from(number).unwrap() % files.len()];
        let at = below(2 * number + 1, std::fs::metadata(file).unwrap().len());
        let tally = trial(root, file, (at, u32::try_from(below(2 * number + 2, 8)).unwrap()), sound)?;
        let held = tallies.entry(file.strip_prefix(root).unwrap().display().to_string()).or_default();
        held.flips += tally.flips;
        held.refused += tally.refused;
        held.reported += tally.reported;
    }
    Ok(tallies)
}

#[test]
fn flipped_bit_in_any_file_is_reported_and_never_served() {
    let flips = if headwater_testkit::is_full() { ALL } else { SAMPLE };
    let first = tempfile::tempdir().unwrap();
    create(first.path());
    for kind in ["segments", "edges", "holders", "logs", "accounts", "tokens", "prices"] {
        let count = std::fs::read_dir(first.path().join(kind)).unwrap().count();
        assert!(count > 0, "the store has no {kind}");
    }
    assert_eq!(verified(first.path()).unwrap(), []);
    let sound = answers(first.path()).unwrap();
    let workers = u64::try_from(std::thread::available_parallelism().map_or(2, usize::from)).unwrap().min(8);
    let outcomes = std::thread::scope(|scope| {
        let worker = |worker: u64| {
            let own = tempfile::tempdir().unwrap();
            copy(first.path(), own.path());
            scope.spawn(move || work(own.path(), (worker..flips).step_by(usize::try_from(workers).unwrap()), sound))
        };
        let started: Vec<_> = (0..workers).map(worker).collect();
        started.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let (mut sum, mut hit) = (Tally::default(), BTreeSet::new());
    for outcome in outcomes {
        for (file, tally) in outcome.unwrap_or_else(|what| panic!("{what}")) {
            println!("{file}: {tally:?}");
            hit.insert(file);
            sum.flips += tally.flips;
            sum.refused += tally.refused;
            sum.reported += tally.reported;
        }
    }
    println!("{} of {ALL} flips: {} refused on reading, {} reported", sum.flips, sum.refused, sum.reported);
    println!("{} in unused space, 0 served as good data, 0 panics", sum.flips - sum.reported);
    assert_eq!(sum.flips, flips);
    assert_eq!(hit.len(), files(first.path()).len(), "every file has a bit flipped: {hit:?}");
}
