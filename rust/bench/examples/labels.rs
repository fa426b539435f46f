//! What labels cost: seconds to read and commit a list, nanoseconds of a look-up, bytes on disk.
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
use std::time::Instant;

use anyhow::Result;
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_intel::label::{Moment, aggregate};
use headwater_ledger::Store;
use headwater_ledger::read::Labels;
use headwater_ledger::store::{LabelImport, Shrinking, Vanished, Writer};
use headwater_types::{Address, Chain, Timestamp};
use sha2::{Digest, Sha256};

const ASKED: u64 = 1_000_000;
const CODES: [&str; 5] = ["phishing", "exchange", "deposit", "mixer", "dex"];

/// An address that looks drawn at random.
fn address(number: u64) -> Address {
    let digest = Sha256::digest(number.to_be_bytes());
    let mut bytes = [0; 20];
    bytes.copy_from_slice(&digest[..20]);
    Address::Evm(bytes)
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
    let begun = Instant::now();
    let labels = read_labels(&[list], &LabelOptions::default())?;
    let read = begun.elapsed();
    let begun = Instant::now();
    let time = Timestamp::new(1_700_000_000);
    let mut writer = Writer::open_or_create(&store)?;
    writer.import_labels(LabelImport {
        source: labels.source,
        list: labels.list,
        imported_at: time,
        ended_at: time,
        claims: labels.claims,
        vanished: Vanished::End,
        shrinking: Shrinking::Refused,
    })?;
    let committed = begun.elapsed();
    drop(writer);

    let begun = Instant::now();
    let snapshot = Store::open(&store)?.snapshot()?;
    let table = snapshot.labels();
    let opened = begun.elapsed();
    let moment = Moment::present(table, Some(time));
    let pass = |wanted: usize| -> Result<(f64, usize)> {
        let some: Vec<&Address> = asked.iter().skip(wanted).step_by(2).collect();
        let mut found = 0;
        // The first pass checks the pages of the file.
        for address in &some {
            found += table.claims(Chain::ETHEREUM, address)?.len();
        }
        let begun = Instant::now();
        let mut again = 0;
        for address in &some {
            again += table.claims(Chain::ETHEREUM, address)?.len();
        }
        anyhow::ensure!(found == again, "look-ups do not repeat");
        Ok((begun.elapsed().as_nanos() as f64 / some.len() as f64, found))
    };
    let (held, found) = pass(0)?;
    let (absent, none) = pass(1)?;
    let begun = Instant::now();
    let mut sum = 0.0;
    for address in asked.iter().step_by(2) {
        sum += aggregate(&table.claims(Chain::ETHEREUM, address)?, &moment).confidence;
    }
    let judged = begun.elapsed().as_nanos() as f64 / (asked.len() / 2) as f64;
    println!(
        "{count} claims: read and normalised in {:.2} s, committed in {:.2} s",
        read.as_secs_f64(),
        committed.as_secs_f64()
    );
    println!("opened in {:.3} s; {} MB on disk", opened.as_secs_f64(), bytes(&store)? / 1_000_000);
    println!("look-up of a labelled address {held:.0} ns ({found} claims), of another {absent:.0} ns ({none} claims)");
    println!("with judgement {judged:.0} ns (mean confidence {:.3})", sum / (asked.len() / 2) as f64);
    Ok(())
}

fn bytes(folder: &std::path::Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder.join("labels"))? {
        sum += entry?.metadata()?.len();
    }
    Ok(sum)
}
