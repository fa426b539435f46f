//! Ids of requests.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::Builder;
use uuid::fmt::Hyphenated;

use crate::state::RequestId;

/// Random bytes that a thread fetches from the system at a time.
const FETCHED: usize = 1024;
/// Bits that count what was made within a millisecond.
const COUNTER_BITS: u32 = 12;

/// The last time and counter that were given out.
static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static RANDOM: RefCell<([u8; FETCHED], usize)> = const { RefCell::new(([0; FETCHED], FETCHED)) };
}

/// A `UUIDv7` (RFC 9562, 5.7) that is greater than all that this process made before, so that a list of requests has them
/// as they came: milliseconds, a counter of 12 bits (6.2, method 1), which past its end goes on in the next millisecond,
/// and 62 random bits.
pub(super) fn new(now_ms: i64) -> RequestId {
    let now = u64::try_from(now_ms).unwrap_or(0) << COUNTER_BITS;
    let following = |last: u64| now.max(last + 1);
    let moment = following(LAST.update(Ordering::Relaxed, Ordering::Relaxed, following));
    let mut rest = [0; 10];
    let counter = u16::try_from(moment & ((1 << COUNTER_BITS) - 1)).expect("a counter has 12 bits");
    rest[..2].copy_from_slice(&counter.to_be_bytes());
    rest[2..].copy_from_slice(&random());
    let id = Builder::from_unix_timestamp_millis(moment >> COUNTER_BITS, &rest).into_uuid();
    let mut text = [0; Hyphenated::LENGTH];
    RequestId::from(id.hyphenated().encode_lower(&mut text)).expect("it has the length of a UUID")
}

fn random() -> [u8; 8] {
    RANDOM.with_borrow_mut(|(bytes, used)| {
        if *used + 8 > FETCHED {
            getrandom::fill(bytes).expect("the operating system gives randomness");
            *used = 0;
        }
        let taken = bytes[*used..*used + 8].try_into().expect("eight bytes were asked for");
        *used += 8;
        taken
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use uuid::Uuid;

    use super::*;
    use crate::state::now_ms;

    #[test]
    fn ids_of_all_threads_are_unique_and_grow() {
        const EACH: usize = 20_000;
        let before = now_ms();
        let made: Vec<Vec<RequestId>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..EACH).map(|_| new(now_ms())).collect())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|ids: &Vec<RequestId>| ids.is_sorted()));
        // What is made by one thread after another one made its own is greater.
        let (first, then) = (new(now_ms()), thread::spawn(|| new(now_ms())).join().unwrap());
        assert!(first < then && made.iter().flatten().all(|id| *id < first));
        let all: BTreeSet<&RequestId> = made.iter().flatten().collect();
        assert_eq!(all.len(), 4 * EACH);
        let id = Uuid::parse_str(all.first().unwrap()).unwrap();
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        let (seconds, _) = id.get_timestamp().unwrap().to_unix();
        assert!(i64::try_from(seconds).unwrap() - before / 1000 <= 1);
    }
}
