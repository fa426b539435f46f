use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::{FREE_BYTES, Memory, MemoryUse, OverBudget, Purpose, Reservation, table_bytes};
use crate::Cancel;

const ROWS: Purpose = Purpose { what: "the rows", narrower: "ask for fewer days" };

/// Returns what an account asks for to take so much.
fn beyond_the_free(bytes: usize) -> usize {
    usize::try_from(FREE_BYTES).unwrap() + bytes
}

/// Pushes rows of a size until there is no room; gives how many there were, and why it ended.
fn fill(held: &mut Reservation, size: usize) -> (usize, OverBudget) {
    let mut rows = 0;
    loop {
        match held.reach((rows + 1) * size) {
            Ok(()) => rows += 1,
            Err(refusal) => return (rows, refusal),
        }
    }
}

#[test]
fn a_share_of_so_many_rows_takes_them_and_refuses_the_next_one() {
    // 2,000 rows of 24 bytes are 48,000 bytes, of which 32,768 are free. The account asks for more than it needs as long
    // as there is more.
    for (rows, size) in [(40_000, 1), (2000, 24), (100_000, 24)] {
        let share = (rows * size) as u64 - FREE_BYTES;
        let memory = Memory::new(1 << 30, share);
        let mut held = Cancel::within(&memory).holding(ROWS);
        let (taken, refusal) = fill(&mut held, size);
        assert_eq!((taken, memory.usage().taken), (rows, share));
        assert_eq!(refusal, OverBudget::Query { purpose: ROWS, limit: share });
        // What was held is held still, and more of it may be used.
        assert_eq!(held.reach(rows * size), Ok(()));
        drop(held);
        assert_eq!(memory.usage().taken, 0);
    }
}

#[test]
fn memory_error_names_the_cause_and_a_narrower_request() {
    let memory = Memory::new(512 << 20, 128 << 20);
    let refusal = Cancel::within(&memory).holding(ROWS).reach(129 << 20).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the rows take more memory than the 128 MiB that one query may take: ask for fewer days"
    );
    let total = OverBudget::Total { limit: 512 << 20 };
    assert!(total.to_string().contains("512 MiB") && total.to_string().contains("try again"), "{total}");
}

#[test]
fn queries_share_the_total_and_each_keeps_to_its_own() {
    let memory = Memory::new(100, 60);
    assert_eq!((memory.total(), memory.per_query(), Memory::new(10, 20).per_query()), (100, 60, 10));
    let (one, other) = (Cancel::within(&memory), Cancel::within(&memory));
    let (mut first, mut second) = (one.holding(ROWS), one.clone().holding(ROWS));
    let mut third = other.holding(ROWS);
    assert!(memory.has_room());
    let of = beyond_the_free;
    assert_eq!((first.reach(of(40)), second.more(of(10)), second.more(10)), (Ok(()), Ok(()), Ok(())));
    // Accounts of one query take from one share, whichever clone of the token they were opened with.
    assert_eq!(second.more(1), Err(OverBudget::Query { purpose: ROWS, limit: 60 }));
    assert_eq!((one.held_bytes(), other.held_bytes(), memory.has_room()), (60, 0, false));
    assert_eq!(third.reach(of(41)), Err(OverBudget::Total { limit: 100 }));
    assert_eq!(third.reach(of(40)), Ok(()));
    let MemoryUse { taken, most, refused_queries, refused_total } = memory.usage();
    assert_eq!((taken, most, refused_queries, refused_total), (100, 100, 1, 1));
    drop((first, second));
    assert_eq!((one.held_bytes(), other.held_bytes(), memory.has_room()), (0, 40, true));
    drop(third);
    assert_eq!((memory.usage().taken, memory.usage().most), (0, 100));
}

#[test]
fn what_is_kept_comes_back_with_the_last_clone_of_the_token() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let token = Cancel::within(&memory);
    let mut held = token.holding(ROWS);
    held.reach(beyond_the_free(1000)).unwrap();
    assert!(memory.usage().taken > 1000, "it asks for more than it needs");
    held.keep();
    assert_eq!(memory.usage().taken, 1000);
    let clone = token.clone();
    drop(token);
    assert_eq!(clone.held_bytes(), 1000);
    drop(clone);
    assert_eq!(memory.usage().taken, 0);
}

#[test]
fn work_that_panics_or_is_cancelled_gives_back_what_it_held() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let token = Cancel::within(&memory);
    let thread = std::thread::spawn({
        let token = token.clone();
        move || {
            let mut held = token.holding(ROWS);
            held.reach(beyond_the_free(5000)).unwrap();
            panic!("on purpose");
        }
    });
    assert!(thread.join().is_err());
    assert_eq!(memory.usage().taken, 0);
    let work = |token: &Cancel| -> Result<(), crate::LedgerError> {
        let mut held = token.holding(ROWS);
        held.reach(beyond_the_free(5000))?;
        token.cancel();
        Ok(token.check()?)
    };
    assert!(work(&token).is_err());
    assert_eq!(memory.usage().taken, 0);
}

#[test]
fn what_is_small_is_free_even_when_nothing_is_left() {
    let memory = Memory::new(0, 0);
    let token = memory.token();
    let mut held = token.holding(ROWS);
    assert_eq!((held.reach(beyond_the_free(0)), held.reach(beyond_the_free(1)).is_err()), (Ok(()), true));
    drop(held);
    token.holding(ROWS).keep();
    assert_eq!((token.held_bytes(), memory.usage().taken, memory.usage().refused_queries), (0, 0, 1));
}

#[test]
fn without_a_budget_nothing_is_refused_and_nothing_counted() {
    let token = Cancel::new();
    let mut held = token.holding(ROWS);
    assert_eq!((held.reach(usize::MAX), held.more(usize::MAX), token.held_bytes()), (Ok(()), Ok(()), 0));
    held.keep();
}

#[test]
fn a_table_is_counted_with_the_one_it_grew_out_of() {
    // 14 entries fill 16 buckets but for an eighth; the 15th makes them 32, beside the old ones.
    assert_eq!(table_bytes::<u64>(0), 0);
    assert_eq!(table_bytes::<u64>(13), 16 * 9 / 2 * 3);
    assert_eq!(table_bytes::<u64>(15), 32 * 9 / 2 * 3);
    for entries in [1, 3, 7, 8, 14, 15, 28, 29, 1000, 100_000] {
        let mut table = std::collections::HashSet::new();
        table.extend(0..entries);
        // What it has room for with the old table, which had half as many.
        let room = table.capacity() * 8 / 7 * 9 / 2 * 3;
        assert!(table_bytes::<u64>(entries) + 27 >= room, "{entries}: {room}");
    }
}

#[test]
fn threads_together_never_take_more_than_there_is() {
    let memory = Memory::new(10_000_000, 3_000_000);
    let is_over = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let (memory, is_over) = (&memory, &is_over);
            scope.spawn(move || {
                for round in 0..200 {
                    let token = Cancel::within(memory);
                    let (mut one, mut other) = (token.holding(ROWS), token.holding(ROWS));
                    for step in 1..100 {
                        let size = step * (10_000 + thread * 1000 + round);
                        if one.reach(size).and_then(|()| other.more(size / 8)).is_err() {
                            break;
                        }
                        is_over.fetch_or(token.held_bytes() > memory.per_query(), Ordering::Relaxed);
                        is_over.fetch_or(memory.usage().taken > memory.total(), Ordering::Relaxed);
                    }
                    if round % 3 == 0 {
                        one.keep();
                    }
                }
            });
        }
    });
    let usage = memory.usage();
    println!(
        "memory: at most {} of 10000000 bytes, refused {} and {}",
        usage.most, usage.refused_queries, usage.refused_total
    );
    assert!(!is_over.load(Ordering::Relaxed) && usage.most <= memory.total());
    assert!(usage.refused_queries + usage.refused_total > 0);
    assert_eq!(usage.taken, 0);
}

proptest! {
    #[test]
    fn what_is_taken_is_the_sum_of_what_accounts_hold(
        steps in prop::collection::vec((0..4_usize, 0..3_usize, 0..400_000_usize), 1..80)
    ) {
        let memory = Memory::new(1_000_000, 400_000);
        let mut queries: Vec<(Cancel, Vec<Reservation>)> =
            std::iter::repeat_with(|| (Cancel::within(&memory), Vec::new())).take(4).collect();
        for (query, action, bytes) in steps {
            let (token, accounts) = &mut queries[query];
            match action {
                0 => {
                    let mut held = token.holding(ROWS);
                    let _ = held.reach(bytes);
                    accounts.push(held);
                }
                1 => _ = accounts.last_mut().map(|held| held.more(bytes)),
                _ => drop(accounts.pop()),
            }
            let held = |query: &(Cancel, Vec<Reservation>)| query.1.iter().map(|held| held.room - FREE_BYTES).sum::<u64>();
            for query in &queries {
                prop_assert_eq!(query.0.held_bytes(), held(query));
                prop_assert!(held(query) <= 400_000);
            }
            prop_assert_eq!(memory.usage().taken, queries.iter().map(held).sum::<u64>());
            prop_assert!(memory.usage().taken <= 1_000_000);
        }
        drop(queries);
        prop_assert_eq!(memory.usage().taken, 0);
    }
}
