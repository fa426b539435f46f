//! The memory that queries may take: each of them a share, all of them together a total.
//!
//! The budget travels with the token of a query ([`Cancel::within`](crate::Cancel::within)). Code whose memory grows with the data opens an
//! account for what it builds ([`Cancel::holding`](crate::Cancel::holding)) and asks it for room before it allocates; what an account took comes
//! back when it is dropped, however the work ends. An account asks for more than it was asked for, so that most rows
//! cost a comparison; near the end of a share it asks for just what is needed. Its first bytes are free, so that a small
//! query never touches what all of them share, and is answered even when nothing is left.

use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of each account that are not counted.
pub const FREE_BYTES: u64 = 32 << 10;

/// The minimum that an account asks for beyond what it needs.
const MIN_AHEAD: u64 = 16 << 10;
/// And at least one part in so many of what it needs.
const AHEAD_PART: u64 = 16;

/// Memory that the queries of a service share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    total: u64,
    per_query: u64,
    taken: AtomicU64,
    most: AtomicU64,
    refused_queries: AtomicU64,
    refused_total: AtomicU64,
}

/// The use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes that are taken now.
    pub taken: u64,
    /// Most bytes that were taken at a time.
    pub most: u64,
    /// Refusals because one query would have taken more than its share.
    pub refused_queries: u64,
    /// Refusals because all queries would have taken more than there is.
    pub refused_total: u64,
}

impl Memory {
    /// So many bytes for all queries together, and for each of them; a query never gets more than there is.
    #[must_use]
    pub fn new(total: u64, per_query: u64) -> Self {
        let zero = || AtomicU64::new(0);
        let per_query = per_query.min(total);
        let (taken, most, refused_queries, refused_total) = (zero(), zero(), zero(), zero());
        Self(Arc::new(Pool { total, per_query, taken, most, refused_queries, refused_total }))
    }

    /// Bytes for all queries together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.total
    }

    /// Bytes for one query.
    #[must_use]
    pub fn per_query(&self) -> u64 {
        self.0.per_query
    }

    /// Returns whether a whole share is free.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.0.taken.load(Ordering::Relaxed) <= self.0.total - self.0.per_query
    }

    /// Returns the use of memory.
    #[must_use]
    pub fn usage(&self) -> MemoryUse {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        let Pool { taken, most, refused_queries, refused_total, .. } = &*self.0;
        MemoryUse {
            taken: read(taken),
            most: read(most),
            refused_queries: read(refused_queries),
            refused_total: read(refused_total),
        }
    }
}

/// The purpose of memory, as an error names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    /// The thing that takes it, in the plural: `the counterparties of the address`.
    pub what: &'static str,
    /// The narrower request to suggest: `ask for fewer days`.
    pub narrower: &'static str,
}

/// There is not as much memory as the work needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// One query may not take as much.
    #[error("{} take more memory than the {} that one query may take: {}", purpose.what, Size(*limit), purpose.narrower)]
    Query {
        /// The purpose of the memory.
        purpose: Purpose,
        /// Bytes that a query may take.
        limit: u64,
    },
    /// All queries together may not take as much.
    #[error("the queries under way take all of the {} of memory there is for them: try again in a moment", Size(*limit))]
    Total {
        /// Bytes that all queries may take.
        limit: u64,
    },
}

/// Bytes as people read them.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(bytes) = self;
        if *bytes >= 1 << 20 { write!(f, "{} MiB", bytes >> 20) } else { write!(f, "{bytes} bytes") }
    }
}

/// The memory that one query has taken. What accounts keep of it comes back with the last clone of its token.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Memory,
    taken: AtomicU64,
}

impl Share {
    pub(crate) fn of(memory: &Memory) -> Self {
        Self { memory: memory.clone(), taken: AtomicU64::new(0) }
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes more, or says why not.
    fn take(&self, bytes: u64, purpose: Purpose) -> Result<(), OverBudget> {
        let pool = &*self.memory.0;
        if raise(&self.taken, bytes, pool.per_query).is_none() {
            return Err(OverBudget::Query { purpose, limit: pool.per_query });
        }
        match raise(&pool.taken, bytes, pool.total) {
            Some(taken) => {
                pool.most.fetch_max(taken, Ordering::Relaxed);
                Ok(())
            }
            None => {
                self.taken.fetch_sub(bytes, Ordering::Relaxed);
                Err(OverBudget::Total { limit: pool.total })
            }
        }
    }

    fn note(&self, refusal: OverBudget) {
        let pool = &*self.memory.0;
        let count = match refusal {
            OverBudget::Query { .. } => &pool.refused_queries,
            OverBudget::Total { .. } => &pool.refused_total,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.0.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.taken());
    }
}

/// Adds to a figure that never passes its limit, not even for a moment; gives what it is then.
fn raise(figure: &AtomicU64, bytes: u64, limit: u64) -> Option<u64> {
    let raised = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= limit);
    let before = figure.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised).ok()?;
    Some(before + bytes)
}

/// The memory that a part of some work holds of its query; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    share: Option<Arc<Share>>,
    purpose: Purpose,
    /// The bytes that were asked for.
    wanted: u64,
    /// The bytes there is room for: what is free and what was taken; unlimited where there is no budget.
    room: u64,
}

impl Reservation {
    pub(crate) fn new(share: Option<Arc<Share>>, purpose: Purpose) -> Self {
        let room = if share.is_some() { FREE_BYTES } else { u64::MAX };
        Self { share, purpose, wanted: 0, room }
    }

    /// Takes as much that there is room for so many bytes in all.
    ///
    /// # Errors
    /// When the query, or all of them, may not take as much. What was held before is held still.
    #[inline]
    pub fn reach(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let bytes = bytes as u64;
        self.wanted = self.wanted.max(bytes);
        if bytes <= self.room { Ok(()) } else { self.take(bytes) }
    }

    /// Takes so many bytes more.
    ///
    /// # Errors
    /// As [`Reservation::reach`].
    #[inline]
    pub fn more(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.reach(usize::try_from(self.wanted).unwrap_or(usize::MAX).saturating_add(bytes))
    }

    #[cold]
    fn take(&mut self, bytes: u64) -> Result<(), OverBudget> {
        let Some(share) = &self.share else { return Ok(()) };
        // Some more than is needed now, where there is as much, so that few rows have to ask.
        let ahead = bytes.saturating_add((bytes / AHEAD_PART).max(MIN_AHEAD));
        for enough in [ahead, bytes] {
            match share.take(enough - self.room, self.purpose) {
                Ok(()) => {
                    self.room = enough;
                    return Ok(());
                }
                Err(refusal) if enough == bytes => {
                    share.note(refusal);
                    return Err(refusal);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Leaves what was asked for with the query until its token is dropped, as what it was taken for lives on.
    pub fn keep(mut self) {
        if let Some(share) = &self.share {
            share.give_back(self.room - self.wanted.clamp(FREE_BYTES, self.room));
            self.room = FREE_BYTES;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(share) = &self.share {
            share.give_back(self.room - FREE_BYTES);
        }
    }
}

/// Bytes that a hash table takes at most on its way to so many entries of a type: its buckets are a power of two of
/// which an eighth stays free, and the table before it is there while they are filled.
#[must_use]
pub const fn table_bytes<T>(entries: usize) -> usize {
    if entries == 0 {
        return 0;
    }
    let buckets = (entries + entries / 7 + 1).next_power_of_two();
    buckets * (size_of::<T>() + 1) / 2 * 3
}

#[cfg(test)]
mod tests;
