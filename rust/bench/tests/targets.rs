//! The comparison of a target with a figure.
#![expect(clippy::unwrap_used, reason = "a test fails where it cannot continue")]

use headwater_bench::suite::record::{Record, Run, Setup};
use headwater_bench::suite::run::Timing;
use headwater_bench::suite::samples::Figures;
use headwater_bench::suite::stages::marked;
use headwater_bench::suite::targets::{TARGETS, Verdict};

fn page(engine: &str, median_ns: u64) -> Record {
    let figures = Figures { operations: 50, median_ns, p95_ns: median_ns, cpu_ns: median_ns };
    let (query, set, engine) = ("page".to_owned(), "light".to_owned(), engine.to_owned());
    Record::Timing(Timing { query, set, engine, figures })
}

fn verdict(records: Vec<Record>) -> Verdict {
    let target = TARGETS.iter().find(|target| target.label == "page, light: redb").unwrap();
    target.verdict(&Run { about: Setup::of_machine(), records })
}

#[test]
fn a_target_holds_the_peer_against_the_engine() {
    let at_bound = verdict(vec![page("headwater", 2000), page("redb", 20_000)]);
    assert_eq!(at_bound, Verdict::Met("10.0x: 2.0 µs against 20.0 µs".into()));
    assert!(matches!(verdict(vec![page("headwater", 2001), page("redb", 20_000)]), Verdict::Missed(_)));
    assert_eq!(verdict(vec![page("headwater", 2000)]), Verdict::Unknown);
}

#[test]
fn a_peer_that_holds_less_is_not_held_against_the_whole() {
    let mut records = marked(vec![page("redb", 20_000)], 2_000_000);
    assert!(matches!(&records[0], Record::Timing(timing) if timing.engine == "redb, on 2,000,000 transfers"));
    records.push(page("headwater", 2000));
    assert_eq!(verdict(records), Verdict::Unknown);
}
