//! What many threads add to: each thread in a place of its own, since for one that they share they would wait for each
//! other. Who reads puts the places together.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::counter::Atomic;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Threads with a place of their own; where there are more, some share one.
pub(crate) const PLACES: usize = 16;

/// A piece of memory that no other place has a part of.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Place<T>(pub T);

/// The place of this thread.
pub(crate) fn place() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
    }
    PLACE.get().unwrap_or_else(|| {
        let place = THREADS.fetch_add(1, Ordering::Relaxed) % PLACES;
        PLACE.set(Some(place));
        place
    })
}

/// A count, modulo 2^64: what one thread adds another may take away.
#[derive(Debug, Default)]
pub(crate) struct Spread([Place<AtomicU64>; PLACES]);

impl Spread {
    pub fn add(&self, number: u64) {
        self.0[place()].0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn take(&self, number: u64) {
        self.0[place()].0.fetch_sub(number, Ordering::Relaxed);
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().map(|place| place.0.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

impl Atomic<u64> for Spread {
    fn inc(&self) -> u64 {
        self.inc_by(1)
    }

    fn inc_by(&self, number: u64) -> u64 {
        self.add(number);
        // What it was before only a sum could tell, and nobody asks.
        0
    }

    fn get(&self) -> u64 {
        self.sum()
    }
}

/// Buckets of durations: up to half a millisecond, up to twice as long and so on, up to a minute, and beyond.
const BUCKETS: usize = 19;
const FIRST_MICROS: u64 = 500;

/// How long things took.
#[derive(Clone, Default)]
pub(crate) struct Durations(Arc<[Place<Taken>; PLACES]>);

#[derive(Default)]
struct Taken {
    buckets: [AtomicU64; BUCKETS],
    nanos: AtomicU64,
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Durations(..)")
    }
}

/// The bucket of a duration, whose bound it may reach.
fn bucket(took: Duration) -> usize {
    let nanos = took.as_nanos();
    let firsts = nanos.div_ceil(u128::from(FIRST_MICROS) * 1000).max(1);
    let doublings = firsts.next_power_of_two().trailing_zeros() as usize;
    doublings.min(BUCKETS - 1)
}

impl Durations {
    pub fn observe(&self, took: Duration) {
        let taken = &self.0[place()].0;
        taken.buckets[bucket(took)].fetch_add(1, Ordering::Relaxed);
        taken.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Durations {
    #[expect(clippy::cast_precision_loss, reason = "a sum of durations is shown with 15 digits")]
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let read = |figure: fn(&Taken, usize) -> &AtomicU64, number: usize| {
            self.0.iter().map(|place| figure(&place.0, number).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
        };
        let buckets: Vec<(f64, u64)> = (0..BUCKETS)
            .map(|number| {
                let last = number == BUCKETS - 1;
                let bound = if last { f64::INFINITY } else { (FIRST_MICROS << number) as f64 / 1e6 };
                (bound, read(|taken, number| &taken.buckets[number], number))
            })
            .collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let seconds = read(|taken, _| &taken.nanos, 0) as f64 / 1e9;
        encoder.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn what_threads_add_and_take_away_comes_to_one_sum() {
        let count = Spread::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * PLACES {
                scope.spawn(|| (0..1000).for_each(|_| count.add(2)));
                scope.spawn(|| (0..1000).for_each(|_| count.take(1)));
            }
        });
        assert_eq!(count.sum(), 1000 * 2 * PLACES as u64);
    }

    #[test]
    fn durations_are_told_as_the_librarys_histogram_tells_them() {
        let (ours, theirs) = (Durations::default(), Histogram::new(exponential_buckets(0.0005, 2.0, 18)));
        let micros =
            (0..20).flat_map(|doubling| [-1, 0, 1].map(|more| (500_u64 << doubling).saturating_add_signed(more)));
        for micros in micros.chain([0, 1]) {
            ours.observe(Duration::from_micros(micros));
            theirs.observe(Duration::from_micros(micros).as_secs_f64());
        }
        let told = |metric: Box<dyn Fn(&mut Registry)>| {
            let (mut registry, mut out) = (Registry::default(), String::new());
            metric(&mut registry);
            text::encode(&mut out, &registry).unwrap();
            out.lines().filter(|line| !line.starts_with("took_sum")).map(str::to_owned).collect::<Vec<_>>()
        };
        let theirs = told(Box::new(move |registry| registry.register("took", "Took", theirs.clone())));
        assert_eq!(told(Box::new(move |registry| registry.register("took", "Took", ours.clone()))), theirs);
        assert_eq!(theirs.len(), 3 + BUCKETS + 1, "{theirs:#?}");
    }
}
