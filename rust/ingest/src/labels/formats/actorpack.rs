//! Actors of `GraphSense`: who the `actor` of a tag is, and what they do.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::reading::filled;
use crate::source::Yaml;

/// One actor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Actor {
    pub(super) name: String,
    /// Their categories, in the concepts of `GraphSense`.
    pub(super) categories: Vec<String>,
}

/// The actors of the packs of one import.
#[derive(Debug, Default)]
pub(super) struct Actors(FxHashMap<String, Rc<Actor>>);

impl Actors {
    /// Adds the actors of a pack, under their ids and under those aliases that are not ids.
    pub(super) fn add(&mut self, pack: &Yaml) {
        let mut aliases = Vec::new();
        for entry in pack.get("actors").map_or(&[][..], Yaml::items) {
            let text = |key: &str| filled(entry.get(key).and_then(Yaml::text));
            let texts = |key: &str| entry.get(key).map_or(&[][..], Yaml::items).iter().filter_map(|item| item.text());
            let Some(id) = text("id") else { continue };
            let name = text("label").unwrap_or(id).to_owned();
            let actor = Rc::new(Actor { name, categories: texts("categories").map(str::to_owned).collect() });
            aliases.extend(texts("aliases").map(|alias| (alias.to_owned(), Rc::clone(&actor))));
            self.0.insert(id.to_owned(), actor);
        }
        for (alias, actor) in aliases {
            self.0.entry(alias).or_insert(actor);
        }
    }

    /// The actor that a tag names.
    pub(super) fn get(&self, id: &str) -> Option<&Actor> {
        self.0.get(id).map(|actor| &**actor)
    }
}
