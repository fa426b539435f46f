//! Fields that a request does not have: an error that names the known ones that were probably meant.

use headwater_types::text::{SHOWN, shortened};

use super::checks::index_in;
use crate::{Error, Method, Reason};

/// Known names that an error offers at most.
const MAX_CANDIDATES: usize = 3;
/// Unknown fields that a message names; further ones are counted, since a body may consist of nothing else.
const MAX_NAMED: usize = 5;
/// Letters of a name that are compared.
const MAX_COMPARED: usize = 64;
/// Letters from which a name that is part of another one is taken for it: `chain` for `blockchain`.
const MIN_PART: usize = 3;
/// Letters from which one wrong letter of a page word is taken for a slip.
const MIN_SLIP: usize = 5;
/// Names that other lists, and other services, give to one choice of a page.
const PAGE_WORDS: [&[&str]; 2] =
    [&["cursor", "offset", "page", "skip"], &["count", "limit", "page_size", "per_page", "size"]];

/// The unknown fields of one request.
#[derive(Debug, Default)]
pub(super) struct UnknownFields {
    /// The first of them, by their places.
    named: Vec<UnknownField>,
    count: usize,
}

#[derive(Debug)]
struct UnknownField {
    place: String,
    name: String,
    /// The fields of its object.
    known: &'static [&'static str],
}

impl UnknownFields {
    /// Adds a field by its name and its place in the request.
    pub fn add(&mut self, name: &str, place: &dyn std::fmt::Display, known: &'static [&'static str]) {
        self.count += 1;
        if self.named.len() < MAX_NAMED {
            let place = shortened(&place.to_string(), SHOWN);
            self.named.push(UnknownField { place, name: shortened(name, SHOWN), known });
        }
    }

    /// The number of fields, and the place of the first one; `None` where there is none.
    pub fn first(&self) -> Option<(usize, &str)> {
        self.named.first().map(|first| (self.count, first.place.as_str()))
    }

    /// The names of the fields in a message.
    pub fn list(&self) -> String {
        self.listed(0)
    }

    /// The error that refuses the request; `None` where every field is known. `nested` are the fields of its objects, such
    /// as `track_setting.limit`: a field that stands outside of its object is offered under that name.
    pub fn refusal(&self, method: Method, nested: &dyn Fn() -> Vec<String>) -> Option<Error> {
        let first = self.named.first()?;
        let mut candidates = nearest(&first.name, first.known.iter().copied());
        if candidates.is_empty() && first.place == first.name {
            candidates = nearest(&first.name, nested().iter().map(String::as_str));
        }
        let noun = match method {
            Method::Get => "parameter",
            Method::Post => "field",
        };
        let remedy = match (&candidates[..], first.known) {
            ([], []) => format!("; this call takes no {noun}s"),
            ([], known) => format!("; known {noun}s: {}", known.join(", ")),
            (near, _) => format!("; did you mean {}?", quoted(near).join(" or ")),
        };
        let others = if self.count > 1 { format!(" Also unknown: {}", self.listed(1)) } else { String::new() };
        let message = format!("unknown {noun} {:?}{remedy}{others}", first.place);
        let (index, field) = (index_in(&first.place), first.place.clone());
        Some(Error { index, candidates, ..Error::invalid(Reason::UnknownField, field, message) })
    }

    fn listed(&self, skipped: usize) -> String {
        let places: Vec<&str> = self.named.iter().skip(skipped).map(|field| field.place.as_str()).collect();
        match self.count - self.named.len() {
            0 => quoted(&places).join(", "),
            more => format!("{} and {more} more", quoted(&places).join(", ")),
        }
    }
}

fn quoted<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    names.iter().map(|name| format!("{:?}", name.as_ref())).collect()
}

/// The known names that are nearest to an unknown one, nearest first, then in order of the alphabet: those that differ by a
/// third of their letters at most, contain it or are contained in it, and those of the same choice of a page. Of
/// `object.field` the field is compared.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let name: String = name.to_lowercase().chars().take(MAX_COMPARED).collect();
    let mut near: Vec<(usize, &str)> = known.filter_map(|known| Some((distance(&name, known)?, known))).collect();
    near.sort_unstable();
    near.into_iter().take(MAX_CANDIDATES).map(|(_, known)| known.to_owned()).collect()
}

/// How far an unknown name is from a known one; `None` where it is too far to have been meant.
fn distance(name: &str, known: &str) -> Option<usize> {
    let field = known.rsplit('.').next().unwrap_or(known);
    let is_page_word = |word: &&str| *word == name || word.len() >= MIN_SLIP && strsim::osa_distance(name, word) == 1;
    if PAGE_WORDS.iter().any(|words| words.contains(&field) && words.iter().any(is_page_word)) {
        return Some(0);
    }
    let edits = strsim::osa_distance(name, field);
    let (shorter, longer) = if name.len() < field.len() { (name, field) } else { (field, name) };
    let is_part = shorter.len() >= MIN_PART && longer.contains(shorter);
    (is_part || edits <= longer.len().div_ceil(3).min(3)).then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 8] = ["blockchain", "address", "symbols", "contracts", "start_time", "limit", "page", "cursor"];

    fn near(name: &str) -> Vec<String> {
        nearest(name, KNOWN.into_iter())
    }

    #[test]
    fn candidates_are_slips_parts_and_page_words() {
        for (name, expected) in [
            ("symbol", &["symbols"][..]),
            ("SYMBOLS", &["symbols"]),
            ("blockchian", &["blockchain"]),
            ("chain", &["blockchain"]),
            ("adress", &["address"]),
            ("addresses", &["address"]),
            ("contract", &["contracts"]),
            ("start", &["start_time"]),
            ("offset", &["cursor", "page"]),
            ("ofset", &["cursor", "page"]),
            ("page_size", &["limit", "page"]),
            ("colour", &[]),
            ("", &[]),
            ("k", &[]),
        ] {
            assert_eq!(near(name), expected, "{name}");
        }
    }

    #[test]
    fn nested_candidates_are_compared_by_their_field() {
        let nested = ["track_setting.max_nodes", "track_setting.limit"];
        assert_eq!(nearest("max_node", nested.into_iter()), ["track_setting.max_nodes"]);
    }

    #[test]
    fn refusal_names_place_candidates_and_further_fields() {
        let mut unknown = UnknownFields::default();
        assert!(unknown.refusal(Method::Post, &Vec::new).is_none());
        unknown.add("symbol", &"symbol", &KNOWN);
        let refusal = unknown.refusal(Method::Post, &Vec::new).unwrap();
        assert_eq!(refusal.message, r#"unknown field "symbol"; did you mean "symbols"?"#);
        assert_eq!((refusal.field.as_deref(), &refusal.candidates[..]), (Some("symbol"), &["symbols".to_owned()][..]));
        unknown.add("min", &"criteria[3].min", &["at_least"]);
        let both = unknown.refusal(Method::Get, &Vec::new).unwrap();
        let expected = r#"unknown parameter "symbol"; did you mean "symbols"? Also unknown: "criteria[3].min""#;
        assert_eq!(both.message, expected);
    }

    #[test]
    fn refusal_without_candidates_lists_what_is_known() {
        let message = |known| {
            let mut unknown = UnknownFields::default();
            unknown.add("colour", &"list[3].colour", known);
            let refusal = unknown.refusal(Method::Post, &|| vec!["object.colour".to_owned()]).unwrap();
            assert_eq!((refusal.index, refusal.candidates), (Some(3), Vec::new()));
            refusal.message
        };
        assert_eq!(message(&["a", "b"]), r#"unknown field "list[3].colour"; known fields: a, b"#);
        assert_eq!(message(&[]), r#"unknown field "list[3].colour"; this call takes no fields"#);
    }

    #[test]
    fn many_unknown_fields_make_a_short_message() {
        let mut unknown = UnknownFields::default();
        for number in 0..100_000 {
            unknown.add("x", &format!("{number}{}", "y".repeat(1000)), &["a"]);
        }
        let message = unknown.refusal(Method::Post, &Vec::new).unwrap().message;
        assert!(message.ends_with("and 99995 more") && message.len() < 1000, "{message}");
    }
}
