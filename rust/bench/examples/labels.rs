//! The cost of labels: seconds to read and commit a list, nanoseconds of a look-up, bytes on disk.
//!
//! ```text
//! cargo run --release -p headwater-bench --example labels -- 1000000 [FOLDER]
//! ```
//!
//! Writes `labels.csv` and `asked.csv` into FOLDER, which `peers/labels.py` joins with `DuckDB` and polars. Half of the
//! addresses that are asked have a label. A look-up gives all claims of an address on a chain; addresses come in random
//! order, so that each is as cold in the caches of the processor as a stranger's.
#![expect(clippy::cast_precision_loss, reason = "figures for people need no more than 53 bits")]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use headwater_bench::suite::counters::cpu_ns;
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_intel::label::{Moment, aggregate};
use headwater_ledger::Store;
use headwater_ledger::labels::{Action, Claim, Code, Level, Link, Scope};
use headwater_ledger::read::Labels;
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, Writer};
use headwater_types::{Address, Chain, Timestamp};
use sha2::{Digest, Sha256};

const ASKED: u64 = 1_000_000;
/// Addresses that are asked again and again, as those of hubs are.
const FEW: usize = 1_000;
/// Claims of a second list, which must not cost more for the size of the first.
const ANOTHER: u64 = 1_000;
const CODES: [&str; 5] = ["phishing", "exchange", "deposit", "mixer", "dex"];

/// An address that looks drawn at random.
fn address(number: u64) -> Address {
    let digest = Sha256::digest(number.to_be_bytes());
    let mut bytes = [0; 20];
    bytes.copy_from_slice(&digest[..20]);
    Address::Evm(bytes)
}

/// Claims of a second list, about addresses of its own.
fn another() -> Vec<Claim> {
    let claim = |number: u64| Claim {
        address: address(u64::MAX - number),
        scope: Scope::Chain(Chain::ETHEREUM),
        code: Some(Code::Scam),
        name: None,
        entity: None,
        source: Arc::from("another"),
        source_url: None,
        group: Arc::from("another"),
        level: Level::Forensic,
        reliability: Level::Forensic.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    };
    (0..ANOTHER).map(claim).collect()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let kept = arguments.next().map(PathBuf::from);
    let temporary = tempfile::tempdir()?;
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&folder)?;
    let list = folder.join("labels.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&list)?);
    writeln!(file, "address,chain,code,entity,source,level,asserted_at")?;
    for number in 0..count {
        let code = CODES[usize::try_from(number % 5)?];
        let (entity, site) = (number % 5_000, number % 40);
        let at = 1_500_000_000 + number % 200_000_000;
        writeln!(file, "{},ethereum,{code},entity {entity},site-{site}.example,web_crawl,{at}", address(number))?;
    }
    file.flush()?;
    // Every other one is in the list; a stride that shares no factor with the count visits them in another order.
    let asked: Vec<Address> = (0..ASKED)
        .map(|turn| {
            let place = turn.wrapping_mul(7_368_787) % count;
            address(if turn % 2 == 0 { place } else { count + place })
        })
        .collect();
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join("asked.csv"))?);
    writeln!(file, "address")?;
    for address in &asked {
        writeln!(file, "{address}")?;
    }
    file.flush()?;

    let store = folder.join("store");
    if store.exists() {
        std::fs::remove_dir_all(&store)?;
    }
    let begun = Watch::start();
    let labels = read_labels(&[list], &LabelOptions::default())?;
    let read = begun.stop();
    let begun = Watch::start();
    let time = Timestamp::new(1_700_000_000);
    let mut writer = Writer::open_or_create(&store)?;
    writer.import_labels(LabelImport {
        source: labels.source,
        list: labels.list,
        licence: labels.licence,
        imported_at: time,
        ended_at: time,
        claims: labels.claims,
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    })?;
    let committed = begun.stop();
    let before = bytes(&store)?;
    let begun = Watch::start();
    writer.import_labels(LabelImport {
        source: "another".to_owned(),
        list: "small".to_owned(),
        licence: None,
        imported_at: time,
        ended_at: time,
        claims: another(),
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    })?;
    let committed_another = begun.stop();
    let written = bytes(&store)? - before;
    drop(writer);

    let begun = Instant::now();
    let snapshot = Store::open(&store)?.snapshot()?;
    let table = snapshot.labels();
    let opened = begun.elapsed();
    let moment = Moment::present(table, Some(time));
    let (mut held, mut absent): (Vec<&Address>, Vec<&Address>) = (Vec::new(), Vec::new());
    for pair in asked.chunks(2) {
        held.extend(pair.first());
        absent.extend(pair.get(1));
    }
    println!("{count} claims: read and normalised in {read}, committed in {committed}");
    println!("another list of {ANOTHER} claims committed in {committed_another}, {written} bytes");
    println!("opened in {:.3} s; {} MB on disk", opened.as_secs_f64(), bytes(&store)? / 1_000_000);
    let look_up = |address: &Address| -> Result<f64> { Ok(table.claims(Chain::ETHEREUM, address)?.len() as f64) };
    let judge = |address: &Address| -> Result<f64> {
        Ok(aggregate(&table.claims(Chain::ETHEREUM, address)?, &moment).confidence)
    };
    for (what, addresses) in [("labelled", &held), ("other", &absent)] {
        let (few, _) = addresses.split_at(FEW.min(addresses.len()));
        println!(
            "{what} addresses, nanoseconds of processor: look-up {:.0}, with judgement {:.0}; of {FEW} in turn {:.0} and {:.0}",
            each(addresses, 1, look_up)?,
            each(addresses, 1, judge)?,
            each(few, 200, look_up)?,
            each(few, 200, judge)?,
        );
    }
    Ok(())
}

/// Processor time of one call, in nanoseconds. A first pass, which is not counted, checks the pages of the file.
fn each(addresses: &[&Address], turns: usize, call: impl Fn(&Address) -> Result<f64>) -> Result<f64> {
    let pass = || addresses.iter().map(|address| call(address)).sum::<Result<f64>>();
    let expected = pass()?;
    let begun = cpu_ns();
    for _ in 0..turns {
        anyhow::ensure!((pass()? - expected).abs() < 1e-6, "look-ups do not repeat");
    }
    Ok((cpu_ns() - begun) as f64 / (addresses.len() * turns) as f64)
}

/// The time of a step, by the clock and of all threads.
struct Watch {
    clock: Instant,
    cpu: u64,
}

impl Watch {
    fn start() -> Self {
        Self { clock: Instant::now(), cpu: cpu_ns() }
    }

    fn stop(&self) -> String {
        let cpu = (cpu_ns() - self.cpu) as f64 / 1e9;
        format!("{:.3} s ({cpu:.3} s of processor)", self.clock.elapsed().as_secs_f64())
    }
}

fn bytes(folder: &std::path::Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder.join("labels"))? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}
