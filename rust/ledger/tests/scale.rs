//! A store of millions of transfers: what a commit, its planning and its merges take. Run by hand, in release:
//!
//! `HEADWATER_SCALE_MILLIONS=20 cargo test --release -p headwater-ledger scale -- --ignored --nocapture`
#![expect(clippy::disallowed_methods, reason = "its size is asked for through the environment")]
#![expect(clippy::cast_precision_loss, reason = "figures are shown with three digits")]

use std::time::Instant;

use headwater_ledger::facts::{Batch, BlockFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::Ordinal;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};

const CHAIN: Chain = Chain::ETHEREUM;
const PER_COMMIT: u64 = 500_000;
const ADDRESSES_PER_MILLION: u64 = 125_000;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn bytes<const N: usize>(number: u64) -> [u8; N] {
    let mut bytes = [0; N];
    for (place, chunk) in bytes.chunks_mut(8).enumerate() {
        let length = chunk.len();
        chunk.copy_from_slice(
            &mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + place as u64 + 1).to_be_bytes()[..length],
        );
    }
    bytes
}

/// A rank with probability about 1 / (rank + 2).
fn zipf(random: u64, count: f64) -> u64 {
    let u = (random >> 11) as f64 / (1_u64 << 53) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is small and not negative")]
    let rank = (2.0 * (u * (count / 2.0 + 1.0).ln()).exp() - 2.0).min(count - 1.0) as u64;
    rank
}

/// Transfer `number` of a chain of `total`: one token movement in a transaction of its own.
fn transfer(number: u64, total: u64) -> TransactionFacts {
    let addresses = (total / 1_000_000).max(1) * ADDRESSES_PER_MILLION;
    let random = |draw: u64| mix(number * 8 + draw + 1);
    let account = |rank: u64| Address::Evm(bytes(mix(rank) ^ 7));
    let block = number / 4;
    let mut facts = TransactionFacts::new(TxHash::new(bytes(number ^ (1 << 60))), block);
    facts.index = u32::try_from(number % 4).ok();
    facts.movements = vec![Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(number % 4 * 75),
        from: Some(account(zipf(random(0), addresses as f64))),
        to: Some(account(zipf(random(1), addresses as f64))),
        asset: Asset::Token(Address::Evm(bytes(zipf(random(2), 200.0) ^ (1 << 61)))),
        amount: Amount::from_u128(u128::from(random(3) >> 34) * 1_000_000_000_000),
    }];
    facts
}

fn batch(first: u64, count: u64, total: u64) -> Batch {
    let block = |number: u64| BlockFacts {
        number,
        hash: None,
        parent: None,
        time: Timestamp::new(1_672_531_200 + 12 * number.cast_signed()),
    };
    Batch {
        blocks: (first / 4..=(first + count - 1) / 4).map(block).collect(),
        transactions: (first..first + count).map(|number| transfer(number, total)).collect(),
        ..Batch::new(CHAIN)
    }
}

/// Seconds of processor time of this process, and the most memory it ever held, in MiB.
fn taken() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    (ticks / 100.0, peak.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() >> 10)
}

/// The most memory from now on.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

struct Step {
    wall: Instant,
    cpu: f64,
}

impl Step {
    fn begin() -> Self {
        Self { wall: Instant::now(), cpu: taken().0 }
    }

    fn report(&self, what: &str, millions: f64) {
        let (cpu, peak) = taken();
        let cpu = cpu - self.cpu;
        println!(
            "{what}: {:.2} s wall, {cpu:.2} s cpu, {:.3} s cpu per million, peak {peak} MiB",
            self.wall.elapsed().as_secs_f64(),
            cpu / millions
        );
    }
}

#[test]
#[ignore = "minutes; prints figures"]
fn commits_merges_and_their_planning_at_scale() {
    let millions: u64 =
        std::env::var("HEADWATER_SCALE_MILLIONS").map_or(5, |text| text.parse().expect("a number of millions"));
    let total = millions * 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let whole = Step::begin();
    for first in (0..total).step_by(usize::try_from(PER_COMMIT).unwrap()) {
        let offered = batch(first, PER_COMMIT, total);
        forget_peak();
        let step = Step::begin();
        let report = writer.commit(offered, &Cancel::new()).unwrap();
        let stats = Store::open(folder.path()).unwrap().stats().unwrap();
        step.report(
            &format!(
                "commit to {:.1} M ({} MiB written, {} segments)",
                (first + PER_COMMIT) as f64 / 1e6,
                report.written_bytes >> 20,
                stats.chains[&CHAIN].segments
            ),
            PER_COMMIT as f64 / 1e6,
        );
    }
    whole.report("all commits and merges, making of facts included", millions as f64);
    let stats = Store::open(folder.path()).unwrap().stats().unwrap();
    println!(
        "{:.1} B per transfer, written {:.2} times",
        stats.segment_bytes as f64 / total as f64,
        stats.written_segment_bytes as f64 / stats.segment_bytes as f64
    );

    // Planned whole, and refused at the very end: a transaction that contradicts what is held.
    let mut offered = batch(total, PER_COMMIT, total);
    let last = (0..100_000).map(|number| transfer(number, total)).max_by_key(|facts| facts.hash).unwrap();
    let after = TransactionFacts { nonce: Some(1), ..last.clone() };
    writer.commit(Batch { transactions: vec![after], ..Batch::new(CHAIN) }, &Cancel::new()).unwrap();
    offered.transactions.retain(|facts| facts.hash < last.hash);
    offered.transactions.push(TransactionFacts { nonce: Some(2), ..last });
    let count = offered.transactions.len();
    let step = Step::begin();
    assert!(matches!(writer.commit(offered, &Cancel::new()), Err(LedgerError::Conflict { .. })));
    step.report(&format!("planning of {count} new transactions"), count as f64 / 1e6);
    let known = batch(0, PER_COMMIT, total);
    let step = Step::begin();
    let report = writer.commit(known, &Cancel::new()).unwrap();
    assert_eq!(report.unchanged, PER_COMMIT);
    step.report(&format!("planning of {PER_COMMIT} known transactions"), PER_COMMIT as f64 / 1e6);

    forget_peak();
    let step = Step::begin();
    let report = writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    step.report(&format!("compaction of {} segments", report.segments_before), millions as f64);
}
