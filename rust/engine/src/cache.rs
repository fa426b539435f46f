//! Answers that were given before, by generation and parameters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use hashlink::LinkedHashMap;

use crate::query_meta::Headed;
use crate::request::CanonicalRequest;
use crate::{Pagination, Warning};

/// A kept answer.
#[derive(Debug)]
pub(crate) struct Kept {
    pub data: Data,
    pub pagination: Option<Pagination>,
    pub warnings: Vec<Warning>,
    pub pegged: Vec<String>,
    pub paid_items: Option<u32>,
}

/// What is kept of the `data` of an answer.
#[derive(Debug)]
pub(crate) enum Data {
    /// As it is given.
    Whole(String),
    /// What tells how it was made is set each time.
    Headed(Headed),
}

impl Data {
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Headed(headed) => headed.len(),
        }
    }
}

/// Whose answer it is: a generation never changes, so what was answered from it stays right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub generation: u64,
    /// Of the canonical request.
    pub text: Arc<str>,
}

impl Question {
    pub fn new(generation: u64, request: &CanonicalRequest) -> Self {
        Self { generation, text: request.shared_text() }
    }

    fn len(&self) -> usize {
        self.text.len()
    }
}

/// Answers up to so many bytes; those that were not asked for longest make room.
#[derive(Debug)]
pub(crate) struct Cache {
    most_bytes: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// In the order in which they were last asked for.
    answers: LinkedHashMap<Question, Arc<Kept>, RandomState>,
    bytes: usize,
}

/// Bytes that an answer takes, about 300 for what is around it.
fn size(question: &Question, kept: &Kept) -> usize {
    300 + question.len() + kept.data.len()
}

impl Cache {
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // What panicked elsewhere left whole entries only.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, question: &Question) -> Option<Arc<Kept>> {
        self.held().answers.to_back(question).cloned()
    }

    /// Keeps an answer, unless it alone is too large.
    pub fn keep(&self, question: Question, kept: Arc<Kept>) {
        let bytes = size(&question, &kept);
        if bytes > self.most_bytes / 4 {
            return;
        }
        let mut held = self.held();
        held.bytes += bytes;
        if let Some((question, kept)) = held.answers.remove_entry(&question) {
            held.bytes -= size(&question, &kept);
        }
        held.answers.insert(question, kept);
        while held.bytes > self.most_bytes {
            let Some((question, kept)) = held.answers.pop_front() else { break };
            held.bytes -= size(&question, &kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::CostClass;
    use crate::query_meta::QueryMeta;

    fn kept(text: &str) -> Arc<Kept> {
        let meta = QueryMeta::new(CostClass::Heavy);
        let text = format!(r#"{{"a":"{text}","meta":{}}}"#, serde_json::to_string(&meta).unwrap());
        let data = Headed::new(&text, meta).unwrap();
        Arc::new(Kept {
            data: Data::Headed(data),
            pagination: None,
            warnings: Vec::new(),
            pegged: Vec::new(),
            paid_items: None,
        })
    }

    fn ask(generation: u64, request: Value) -> Question {
        Question::new(generation, &CanonicalRequest::new("token/holders", request))
    }

    fn question(generation: u64, number: u64) -> Question {
        ask(generation, json!({"limit": number}))
    }

    #[test]
    fn a_question_is_its_generation_and_parameters_in_any_order() {
        assert_eq!(ask(1, json!({"a": 1, "b": 2, "c": null})), ask(1, json!({"b": 2, "a": 1})));
        assert_ne!(ask(1, json!({"a": 1})), ask(1, json!({"a": "1"})));
        assert_ne!(ask(1, json!({"a": 1})), ask(2, json!({"a": 1})));
        let cache = Cache::new(10_000);
        cache.keep(question(1, 1), kept("x"));
        assert!(cache.get(&question(1, 1)).is_some() && cache.get(&question(2, 1)).is_none());
    }

    #[test]
    fn what_was_not_asked_for_longest_makes_room() {
        let cache = Cache::new(2200);
        let long = "x".repeat(200);
        for number in 0..4 {
            cache.keep(question(1, number), kept(&long));
        }
        assert!(cache.get(&question(1, 0)).is_some());
        cache.keep(question(1, 4), kept(&long));
        let held: Vec<u64> = (0..5).filter(|number| cache.get(&question(1, *number)).is_some()).collect();
        assert_eq!(held, [0, 2, 3, 4]);
        cache.keep(question(1, 9), kept(&"x".repeat(500)));
        assert!(cache.get(&question(1, 9)).is_none(), "it would take more than its share");
    }
}
