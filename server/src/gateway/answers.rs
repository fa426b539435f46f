//! Answers as JSON text, and the cache of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use hashlink::LinkedHashMap;
use headwater_engine::{Answer, Error, Pagination, Query, QueryEngine, QueryMeta, Warning};
use headwater_ledger::Cancel;
use headwater_state::clock::milliseconds;

/// The maximum size in bytes of a cached answer that costs little to make again.
const SMALL: usize = 16 << 10;

/// An answer as JSON text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonAnswer {
    /// The `data` of the envelope.
    pub data: String,
    /// The `meta.pagination`.
    pub pagination: Option<Pagination>,
    /// The `meta.warnings`.
    pub warnings: Vec<Warning>,
    /// The `meta.pegged`.
    pub pegged: Vec<String>,
    /// Items that are paid for, where the price is per item.
    pub paid_items: Option<u32>,
}

/// Answers queries, from the cache where it has the answer.
pub(super) fn answer(
    (engine, cache): (&QueryEngine, &AnswerCache),
    query: &Query,
    cancel: &Cancel,
) -> Result<JsonAnswer, Error> {
    let ledger = engine.ledger(query)?;
    let (started, key) = (milliseconds(), CacheKey::new(ledger.generation(), query));
    if let Some(cached) = cache.get(&key) {
        return Ok(cached.complete(milliseconds().saturating_sub(started)));
    }
    let Answer { report, pagination, warnings, pegged, paid_items, meta, is_repeatable } =
        engine.answer_from(&*ledger, query, cancel)?;
    let data = report.json(cancel)?;
    let answer = JsonAnswer { data, pagination, warnings, pegged, paid_items };
    if is_repeatable {
        cache.insert(key, answer.clone(), meta);
    }
    Ok(answer)
}

/// A cached answer.
#[derive(Debug)]
struct CachedAnswer {
    /// Its data ends before the query meta, where there is one.
    answer: JsonAnswer,
    meta: Option<QueryMeta>,
}

impl CachedAnswer {
    /// The answer as it was, with the query meta of this look-up.
    fn complete(&self, query_duration_ms: u64) -> JsonAnswer {
        let mut answer = self.answer.clone();
        if let Some(meta) = self.meta {
            answer.data.push_str(&ending(&QueryMeta { query_duration_ms, cached: true, ..meta }));
        }
        answer
    }
}

/// The end of the JSON text of a report that has the meta as its last field.
fn ending(meta: &QueryMeta) -> String {
    let meta = serde_json::to_string(meta).expect("plain numbers and text have a JSON form");
    format!("\"meta\":{meta}}}")
}

/// The key of a cached answer. A generation never changes, so an answer from it stays right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    generation: u64,
    /// Of the canonical request.
    text: Arc<str>,
}

impl CacheKey {
    pub fn new(generation: u64, query: &Query) -> Self {
        Self { generation, text: Arc::clone(query.text()) }
    }
}

/// Answers up to so many bytes; the least recently used ones are dropped first.
#[derive(Debug)]
pub(super) struct AnswerCache {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// In the order of their last use.
    answers: LinkedHashMap<CacheKey, Arc<CachedAnswer>, RandomState>,
    bytes: usize,
}

/// Bytes that an entry takes, about 300 of them for its frame.
fn size(key: &CacheKey, cached: &CachedAnswer) -> usize {
    300 + key.text.len() + cached.answer.data.len()
}

impl AnswerCache {
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// Returns the answer of a generation where it is cached.
    pub fn find(&self, generation: u64, query: &Query, elapsed_ms: impl FnOnce() -> u64) -> Option<JsonAnswer> {
        self.get(&CacheKey::new(generation, query)).map(|cached| cached.complete(elapsed_ms()))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // A panic elsewhere leaves whole entries only.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, key: &CacheKey) -> Option<Arc<CachedAnswer>> {
        self.entries().answers.to_back(key).cloned()
    }

    /// Adds an answer: one with a query meta, since it is costly to make again, or a small one. An answer that alone is too
    /// large is left out.
    fn insert(&self, key: CacheKey, mut answer: JsonAnswer, meta: Option<QueryMeta>) {
        let meta = meta.filter(|meta| match answer.data.strip_suffix(&ending(meta)).map(str::len) {
            Some(length) => {
                answer.data.truncate(length);
                true
            }
            None => false,
        });
        let cached = CachedAnswer { answer, meta };
        let bytes = size(&key, &cached);
        let is_small = cached.answer.data.len() <= SMALL;
        if bytes > self.max_bytes / 4 || (cached.meta.is_none() && !is_small) {
            return;
        }
        let mut entries = self.entries();
        entries.bytes += bytes;
        if let Some((key, cached)) = entries.answers.remove_entry(&key) {
            entries.bytes -= size(&key, &cached);
        }
        entries.answers.insert(key, Arc::new(cached));
        while entries.bytes > self.max_bytes {
            let Some((key, cached)) = entries.answers.pop_front() else { break };
            entries.bytes -= size(&key, &cached);
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::{CostClass, endpoint};
    use serde_json::json;

    use super::*;

    fn meta() -> QueryMeta {
        let (cost_class, limit) = (CostClass::Heavy, Some(10));
        QueryMeta { query_duration_ms: 3, cost_class, cached: false, limit, offset: None, source: None }
    }

    fn answer_of(text: &str) -> JsonAnswer {
        let data = format!("{{\"a\":\"{text}\",{}", ending(&meta()));
        JsonAnswer { data, pagination: None, warnings: Vec::new(), pegged: Vec::new(), paid_items: Some(2) }
    }

    fn key(generation: u64, request: serde_json::Value) -> CacheKey {
        CacheKey::new(generation, &endpoint("token/holders").unwrap().query(request))
    }

    fn page(number: u64) -> CacheKey {
        key(1, json!({"limit": number}))
    }

    #[test]
    fn key_is_generation_and_parameters_in_any_order() {
        let one = key(1, json!({"limit": 1, "offset": 2, "symbol": null}));
        assert_eq!(one, key(1, json!({"offset": 2, "limit": 1})));
        assert_ne!(one, key(1, json!({"limit": "1", "offset": 2})));
        assert_ne!(one, key(2, json!({"limit": 1, "offset": 2})));
        let cache = AnswerCache::new(10_000);
        cache.insert(page(1), answer_of("x"), Some(meta()));
        assert!(cache.get(&page(1)).is_some() && cache.get(&key(2, json!({"limit": 1}))).is_none());
    }

    #[test]
    fn cached_answer_has_the_meta_of_its_look_up() {
        let cache = AnswerCache::new(10_000);
        cache.insert(page(1), answer_of("x"), Some(meta()));
        let found = cache.get(&page(1)).unwrap().complete(7);
        let expected = r#"{"a":"x","meta":{"query_duration_ms":7,"cost_class":"heavy","cached":true,"limit":10}}"#;
        assert_eq!((found.data.as_str(), found.paid_items), (expected, Some(2)));
    }

    #[test]
    fn answer_without_meta_is_cached_only_when_small() {
        let cache = AnswerCache::new(10 << 20);
        for (number, (length, is_cached)) in [(SMALL - 20, true), (SMALL + 1, false)].into_iter().enumerate() {
            let data = "x".repeat(length);
            let key = page(number as u64);
            cache.insert(key.clone(), JsonAnswer { data: data.clone(), ..answer_of("") }, None);
            assert_eq!(cache.get(&key).map(|cached| cached.complete(7).data), is_cached.then_some(data));
        }
    }

    #[test]
    fn least_recently_used_answers_are_dropped_first() {
        let cache = AnswerCache::new(2200);
        let long = "x".repeat(200);
        for number in 0..4 {
            cache.insert(page(number), answer_of(&long), Some(meta()));
        }
        assert!(cache.get(&page(0)).is_some());
        cache.insert(page(4), answer_of(&long), Some(meta()));
        let cached: Vec<u64> = (0..5).filter(|number| cache.get(&page(*number)).is_some()).collect();
        assert_eq!(cached, [0, 2, 3, 4]);
        cache.insert(page(9), answer_of(&"x".repeat(500)), Some(meta()));
        assert!(cache.get(&page(9)).is_none(), "it would take more than its share");
    }
}
