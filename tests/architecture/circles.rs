//! Modules of a crate do not import each other in a circle: what both sides need lies below both.
//!
//! Modules are compared with their siblings, at every level: `source::input` with `source::lines`, `source` with
//! `bitcoin`. A module and those inside it belong together and may use each other. Imports are the paths of the source
//! text: `use`, and paths inside types, expressions and macros. A re-export counts as the module that it leads to. What is
//! compiled for tests only is ignored; calls of methods name no module and are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItem, Item, Meta, Token, UseTree, braced, bracketed, parenthesized, token};

use crate::architecture::root;

/// Circles that stay.
const ALLOWED: &[KnownCircle] = &[];

/// A circle that is known.
struct KnownCircle {
    /// The crate.
    pub(crate) member: &'static str,
    /// The module whose children the modules are: `crate` or `crate::a::b`.
    pub(crate) parent: &'static str,
    /// The modules, in order of name.
    pub(crate) modules: &'static [&'static str],
    /// The reason why it is not opened.
    pub(crate) reason: &'static str,
}

/// The names that lead to a module from the root of its crate; the root itself has none.
type Location = Vec<String>;

/// The declarations and imports of a module.
#[derive(Default)]
struct Module {
    /// Names of modules inside it.
    children: BTreeSet<String>,
    /// Names of its items.
    items: BTreeSet<String>,
    /// The names that its `use` declarations bring in.
    imports: BTreeMap<String, Vec<Vec<String>>>,
    /// The modules that it imports with `*`.
    globs: Vec<Vec<String>>,
    /// Every path that it mentions.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of one crate.
struct Crate {
    modules: BTreeMap<Location, Module>,
}

/// Siblings that can each be reached from each other.
#[derive(Debug, PartialEq, Eq)]
struct Circle {
    parent: String,
    modules: Vec<String>,
    /// One import for each pair of siblings.
    imports: Vec<String>,
}

impl Crate {
    /// Reads a crate from its root file. `read` gives the text of a file, or nothing where there is none.
    fn load(file: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut loaded = Self { modules: BTreeMap::new() };
        let text = read(file).unwrap_or_else(|| panic!("{} is missing", file.display()));
        let folder = file.parent().expect("a file lies in a folder");
        loaded.add_file(Vec::new(), &text, file, folder, read);
        loaded
    }

    fn add_file(
        &mut self,
        location: Location,
        text: &str,
        file: &Path,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(location, &parsed.items, folder, read);
    }

    /// Adds a module; `folder` is where the files of the modules inside it lie.
    fn add(&mut self, location: Location, items: &[Item], folder: &Path, read: &dyn Fn(&Path) -> Option<String>) {
        let mut module = Module::default();
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            module.visit_item(item);
            let Item::Mod(child) = item else { continue };
            let name = child.ident.unraw().to_string();
            module.children.insert(name.clone());
            let inside = [location.as_slice(), std::slice::from_ref(&name)].concat();
            let below = folder.join(&name);
            if let Some((_, items)) = &child.content {
                self.add(inside, items, &below, read);
                continue;
            }
            let files = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
            let found = files.iter().find_map(|file| Some((file, read(file)?)));
            let (file, text) = found.unwrap_or_else(|| panic!("{} is missing", files[0].display()));
            self.add_file(inside, &text, file, &below, read);
        }
        self.modules.insert(location, module);
    }

    /// The module that a path leads to from a module, through re-exports; `None` where it leads out of the crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Location> {
        // A re-export of a re-export is not deeper than this, unless it leads back to itself.
        let deeper = depth.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.descend(Vec::new(), rest, deeper),
            "self" => return self.descend(from.to_vec(), rest, deeper),
            "super" => {
                let (_, parent) = from.split_last()?;
                let parent = parent.to_vec();
                return if rest.first().is_some_and(|next| next == "super") {
                    self.resolve(&parent, rest, deeper)
                } else {
                    self.descend(parent, rest, deeper)
                };
            }
            _ => {}
        }
        let module = &self.modules[from];
        let is_declared = module.children.contains(first) || module.imports.contains_key(first);
        is_declared.then(|| self.descend(from.to_vec(), path, deeper)).flatten()
    }

    /// Follows the names from a module on, as far as they are modules or re-exports.
    fn descend(&self, from: Location, names: &[String], depth: usize) -> Option<Location> {
        let deeper = depth.checked_sub(1)?;
        let Some((name, rest)) = names.split_first() else { return Some(from) };
        let module = &self.modules[&from];
        if module.children.contains(name) {
            return self.descend([from, vec![name.clone()]].concat(), rest, deeper);
        }
        for import in module.imports.get(name).into_iter().flatten() {
            // A name from outside of the crate that is handed on.
            let Some(target) = self.resolve(&from, import, deeper) else { continue };
            let is_module = self.modules.contains_key(&target) && target.last() == import.last();
            return if is_module { self.descend(target, rest, deeper) } else { Some(target) };
        }
        if !module.items.contains(name) {
            let globs = module.globs.iter().filter_map(|glob| self.resolve(&from, glob, deeper));
            for target in globs.filter(|target| *target != from) {
                let declares = &self.modules[&target];
                if declares.items.contains(name)
                    || declares.children.contains(name)
                    || declares.imports.contains_key(name)
                    || !declares.globs.is_empty()
                {
                    return self.descend(target, names, deeper);
                }
            }
        }
        Some(from)
    }

    /// All circles between siblings.
    fn circles(&self) -> Vec<Circle> {
        const DEPTH: usize = 64;
        // Parent, and the pair of its children of which one imports the other, with an example.
        let mut imports: BTreeMap<&[String], BTreeMap<(&str, &str), String>> = BTreeMap::new();
        let locations: BTreeSet<&Location> = self.modules.keys().collect();
        for (location, module) in &self.modules {
            let uses = module.imports.values().flatten().chain(&module.globs).chain(&module.paths);
            for target in uses.filter_map(|path| self.resolve(location, path, DEPTH)) {
                let Some(target) = locations.get(&target) else { continue };
                let shared = location.iter().zip(target.iter()).take_while(|(one, other)| one == other).count();
                if let (Some(importing), Some(imported)) = (location.get(shared), target.get(shared)) {
                    let pair = (importing.as_str(), imported.as_str());
                    let example = || format!("{} uses {}", location.join("::"), target.join("::"));
                    imports.entry(&location[..shared]).or_default().entry(pair).or_insert_with(example);
                }
            }
        }
        imports.iter().flat_map(|(parent, pairs)| circles_of(parent, pairs)).collect()
    }
}

/// The circles among the children of one module.
fn circles_of(parent: &[String], imports: &BTreeMap<(&str, &str), String>) -> Vec<Circle> {
    let reached = |from: &str| {
        let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(next) = open.pop() {
            for (_, imported) in imports.keys().filter(|(importing, _)| *importing == next) {
                if found.insert((*imported).to_owned()) {
                    open.push((*imported).to_owned());
                }
            }
        }
        found
    };
    let names: BTreeSet<&str> = imports.keys().map(|(importing, _)| *importing).collect();
    let reached: BTreeMap<&str, BTreeSet<String>> = names.iter().map(|name| (*name, reached(name))).collect();
    let mut circles = Vec::new();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    for name in &names {
        let is_mutual = |other: &&str| reached[name].contains(*other) && reached[other].contains(*name);
        if placed.contains(name) || !is_mutual(name) {
            continue;
        }
        let modules: Vec<&str> = names.iter().copied().filter(is_mutual).collect();
        placed.extend(&modules);
        let inside = |pair: &(&str, &str)| modules.contains(&pair.0) && modules.contains(&pair.1);
        circles.push(Circle {
            parent: [&["crate".to_owned()], parent].concat().join("::"),
            modules: modules.iter().map(|&module| module.to_owned()).collect(),
            imports: imports.iter().filter(|(pair, _)| inside(pair)).map(|(_, example)| example.clone()).collect(),
        });
    }
    circles
}

impl Module {
    /// Adds what a `use` declaration brings in.
    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |name: &Ident| [prefix, &[name.unraw().to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = prefix.last() {
                    self.imports.entry(last.clone()).or_default().push(prefix.to_vec());
                }
            }
            UseTree::Name(name) => {
                self.imports.entry(name.ident.unraw().to_string()).or_default().push(with(&name.ident));
            }
            UseTree::Rename(rename) => {
                let path = if rename.ident == "self" { prefix.to_vec() } else { with(&rename.ident) };
                self.imports.entry(rename.rename.unraw().to_string()).or_default().push(path);
            }
            UseTree::Glob(_) => self.globs.push(prefix.to_vec()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, prefix);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Mod(_) => {}
            Item::Use(import) => self.import(&import.tree, &[]),
            item => {
                self.items.extend(name_of(item).map(|name| name.unraw().to_string()));
                visit::visit_item(self, item);
            }
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs[..],
            ImplItem::Fn(item) => &item.attrs[..],
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.paths.insert(path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    // `pub(in path)` says who may use something, and uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            let parser = |input: ParseStream<'_>| self.tokens(input);
            parser.parse2(list.tokens.clone()).expect("any tokens can be read");
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        let parser = |input: ParseStream<'_>| self.tokens(input);
        parser.parse2(call.tokens.clone()).expect("any tokens can be read");
    }
}

impl Module {
    /// Collects the paths among tokens, whose grammar only the macro has.
    fn tokens(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        while !input.is_empty() {
            if input.peek(Ident::peek_any) {
                let mut path = vec![input.call(Ident::parse_any)?.unraw().to_string()];
                while input.peek(Token![::]) && input.peek3(Ident::peek_any) {
                    input.parse::<Token![::]>()?;
                    path.push(input.call(Ident::parse_any)?.unraw().to_string());
                }
                if path.len() > 1 {
                    self.paths.insert(path);
                }
            } else if input.peek(token::Paren) {
                let inside;
                parenthesized!(inside in input);
                self.tokens(&inside)?;
            } else if input.peek(token::Brace) {
                let inside;
                braced!(inside in input);
                self.tokens(&inside)?;
            } else if input.peek(token::Bracket) {
                let inside;
                bracketed!(inside in input);
                self.tokens(&inside)?;
            } else {
                input.step(|cursor| {
                    cursor.token_tree().ok_or_else(|| cursor.error("no token")).map(|(_, rest)| ((), rest))
                })?;
            }
        }
        Ok(())
    }
}

/// Returns whether something is compiled for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        Meta::List(_) | Meta::Path(_) | Meta::NameValue(_) => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        _ => None,
    }
}

/// Name and folder of every crate of the workspace.
fn members() -> Vec<(String, PathBuf)> {
    let read = |path: PathBuf| -> toml::Table { fs::read_to_string(path).unwrap().parse().unwrap() };
    let workspace = read(root().join("Cargo.toml"));
    let members = workspace["workspace"]["members"].as_array().expect("the workspace lists its members");
    members
        .iter()
        .map(|member| {
            let folder = root().join(member.as_str().expect("a member is a path"));
            let manifest = read(folder.join("Cargo.toml"));
            (manifest["package"]["name"].as_str().expect("a crate has a name").to_owned(), folder)
        })
        .collect()
}

#[test]
fn circles_between_modules_are_those_of_the_list() {
    let mut found = Vec::new();
    let mut modules = 0;
    for (member, folder) in members() {
        for file in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)).into_iter().filter(|file| file.exists())
        {
            let loaded = Crate::load(&file, &|path| fs::read_to_string(path).ok());
            modules += loaded.modules.len();
            found.extend(loaded.circles().into_iter().map(|circle| (member.clone(), circle)));
        }
    }
    let mut wrong = Vec::new();
    for (member, Circle { parent, modules, imports }) in &found {
        let is_known = |one: &KnownCircle| one.member == member && one.parent == parent && one.modules == modules;
        if !ALLOWED.iter().any(is_known) {
            wrong.push(format!("{member}, {parent}: {modules:?} import each other\n  {}", imports.join("\n  ")));
        }
    }
    for KnownCircle { member, parent, modules, reason } in ALLOWED {
        let exists = |(name, circle): &(String, Circle)| {
            name == member && circle.parent == *parent && circle.modules == *modules
        };
        if !found.iter().any(exists) {
            wrong.push(format!("{member}, {parent}: {modules:?} is not a circle any more: take it from the list"));
        }
        assert!(!reason.is_empty(), "{member}, {parent}: {modules:?} has no reason");
    }
    assert!(wrong.is_empty(), "what both sides need goes below both:\n{}", wrong.join("\n"));
    println!("{modules} modules, {} circles", found.len());
}

/// The circles of a crate of these files: parent and modules.
fn circles_in(files: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let read = |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned());
    let circles = Crate::load(Path::new("lib.rs"), &read).circles();
    circles.into_iter().map(|circle| (circle.parent, circle.modules)).collect()
}

fn circle(parent: &str, modules: &[&str]) -> Vec<(String, Vec<String>)> {
    vec![(parent.to_owned(), modules.iter().map(|&module| module.to_owned()).collect())]
}

#[test]
fn circle_of_siblings_is_found_at_every_level() {
    let root = ("lib.rs", "mod one; mod other;");
    let one = ("one.rs", "use crate::other::Thing; pub struct Word(Thing);");
    assert_eq!(circles_in(&[root, one, ("other.rs", "pub struct Thing;")]), []);
    let other = ("other.rs", "pub struct Thing; fn look(_: &crate::one::Word) {}");
    assert_eq!(circles_in(&[root, one, other]), circle("crate", &["one", "other"]));
    // The same one level deeper, in a folder and in braces.
    let deeper = [("lib.rs", "mod folder;"), ("folder/mod.rs", "mod one; mod other;")];
    let one = ("folder/one.rs", "use super::other::Thing; pub struct Word(Thing);");
    let other = ("folder/other.rs", "pub struct Thing; fn look(_: &super::one::Word) {}");
    assert_eq!(circles_in(&[deeper[0], deeper[1], one, other]), circle("crate::folder", &["one", "other"]));
    let braces = "mod one { use super::other; pub fn a() { other::b() } } mod other { pub fn b() { super::one::a() } }";
    assert_eq!(circles_in(&[("lib.rs", braces)]), circle("crate", &["one", "other"]));
}

#[test]
fn circle_over_three_modules_is_one() {
    let root = ("lib.rs", "mod a; mod b; mod c; mod d;");
    let [a, b, c] = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
    assert_eq!(circles_in(&[root, a, b, c, ("d.rs", "use crate::a::A;")]), circle("crate", &["a", "b", "c"]));
}

#[test]
fn reexport_is_followed_to_its_module() {
    // `Thing` comes through `front`, which hands it on from `store`: `store` and `user` are the circle.
    let files = [
        ("lib.rs", "mod front; mod store; mod user;"),
        ("front.rs", "pub use crate::store::*; pub use crate::store::Thing as Other;"),
        ("store.rs", "pub struct Thing; use crate::user::User;"),
    ];
    for user in ["use crate::front::Thing; pub struct User;", "use crate::front::Other; pub struct User;"] {
        let found = circles_in(&[files[0], files[1], files[2], ("user.rs", user)]);
        assert_eq!(found, circle("crate", &["store", "user"]));
    }
}

#[test]
fn paths_inside_macros_and_attributes_are_seen() {
    let root = ("lib.rs", "mod one; mod other;");
    let other = ("other.rs", "pub fn b() -> u8 { 1 } use crate::one::a;");
    for one in [
        "pub fn a() { println!(\"{}\", (crate::other::b(), 2).0) }",
        "pub fn a() {} #[shown(by = crate::other::b())] struct Word;",
    ] {
        assert_eq!(circles_in(&[root, ("one.rs", one), other]), circle("crate", &["one", "other"]));
    }
}

#[test]
fn test_code_and_parents_make_no_circle() {
    let files = [
        ("lib.rs", "mod one; mod other; pub use one::Word; pub struct Shared;"),
        ("one.rs", "use crate::{Shared, other::Thing}; pub struct Word(Thing, Shared);"),
        (
            "other.rs",
            "pub struct Thing; #[cfg(test)] use crate::one::Word; #[cfg(test)] mod tests { use crate::one::Word; } \
             impl Thing { #[cfg(test)] fn look(_: &crate::one::Word) {} }",
        ),
    ];
    assert_eq!(circles_in(&files), []);
}
