//! The manifest: one JSON file per generation that lists everything the generation consists of.
//!
//! `{"format":2,"checksum":"...","body":{...}}`, where the checksum is the XXH3-128 of the bytes of the body. A
//! manifest is written whole and synced before it gets its name, so one that does not check is damage and never the
//! trace of a crash: it is reported, and no older one takes its place, for that would lose acknowledged commits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Weak};

use headwater_types::{Address, BlockHash, Chain, Family, Network};
use serde::{Deserialize, Serialize};

use super::ImportVersion;
use super::claims::Claims;
use super::contents::{ChainContents, Contents, FileRef, Part, Storage, TailBlock, file_digest};
use super::feed::{FeedEntry, Run};
use super::folder;
use super::imports::{Entries, Import, Imports};
use super::sidecars::{EdgePart, HolderPart};
use crate::LedgerError;
use crate::edges::EdgeFile;
use crate::holders::HolderFile;
use crate::read::{CoverageTable, Result};

/// The one format that is written and read.
const FORMAT: u32 = 2;

/// A manifest as it stands in its file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) generation: u64,
    pub(super) chains: BTreeMap<Chain, ChainEntry>,
    pub(super) imports: Vec<ImportEntry>,
    written_segment_bytes: u64,
    pub(super) feed: FeedEntry,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChainEntry {
    network: Network,
    pub(super) segments: Vec<SegmentEntry>,
    pub(super) tail: Vec<TailEntry>,
    ranges: Ranges,
    pub(super) accounts: Option<FileEntry>,
    /// The holder table, where it is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holders: Option<HoldersEntry>,
    /// Names of segments that are not merged.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    apart: BTreeSet<String>,
}

type Ranges = BTreeMap<CoverageTable, Vec<(u64, u64)>>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    file: String,
    length: u64,
    digest: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    #[serde(flatten)]
    pub(super) file: FileEntry,
    pub(super) transactions: u32,
    pub(super) movements: u64,
    /// Its edges, where they are built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) edges: Option<EdgesEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HoldersEntry {
    #[serde(flatten)]
    pub(super) file: FileEntry,
    /// Files of the segments it covers, in the order it numbers them.
    pub(super) covers: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EdgesEntry {
    #[serde(flatten)]
    pub(super) file: FileEntry,
    /// The registry and prices that it was built under.
    market: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TailEntry {
    number: u64,
    hash: String,
    parent: String,
    ranges: Ranges,
    /// Accounts are claimed by exports, hardly ever by a block; so they stand here rather than in a file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accounts: Accounts,
    #[serde(flatten)]
    pub(super) segment: SegmentEntry,
}

/// Claimed accounts by table, as text.
type Accounts = BTreeMap<CoverageTable, Vec<String>>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ImportEntry {
    #[serde(flatten)]
    version: ImportVersion,
    data: FileEntry,
}

impl FileEntry {
    pub(super) fn of(file: &FileRef) -> Self {
        Self { file: file.name.clone(), length: file.length, digest: format!("{:032x}", file.digest) }
    }

    pub(super) fn to_ref(&self) -> std::result::Result<FileRef, String> {
        let digest = u128::from_str_radix(&self.digest, 16).map_err(|_| format!("{:?} is no digest", self.digest))?;
        let is_inside = folder::FOLDERS.iter().any(|folder| {
            self.file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(is_plain_name)
        });
        if !is_inside {
            return Err(format!("{:?} is no file of a store", self.file));
        }
        Ok(FileRef { name: self.file.clone(), length: self.length, digest })
    }
}

/// A forged manifest must not reach files outside of the store.
fn is_plain_name(name: &str) -> bool {
    !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl SegmentEntry {
    fn of(held: &ChainContents, part: &Part) -> Self {
        let edges = held.sidecars.edges_of(part);
        Self {
            file: FileEntry::of(&part.file),
            transactions: part.segment.transactions(),
            movements: part.segment.movements(),
            edges: edges.map(|edges| EdgesEntry {
                file: FileEntry::of(&edges.file),
                market: format!("{:032x}", edges.edges.stamp().0),
            }),
        }
    }

    /// Its files.
    fn files(&self) -> impl Iterator<Item = &FileEntry> {
        std::iter::once(&self.file).chain(self.edges.as_ref().map(|edges| &edges.file))
    }
}

/// Lists contents, writing the files of claimed accounts that have none yet, and gives the bytes of the manifest.
pub(super) fn write(contents: &mut Contents, storage: &mut dyn Storage) -> Result<Vec<u8>> {
    for held in contents.chains.values_mut() {
        if held.accounts_file.is_none() && !held.claims.accounts.is_empty() {
            let bytes = serde_json::to_vec(&accounts_text(&held.claims)).expect("plain records have a JSON form");
            held.accounts_file = Some(storage.keep_file("accounts", "json", bytes)?);
        }
    }
    let body = serde_json::to_string(&Manifest::of(contents)).expect("plain records always have a JSON form");
    let checksum = file_digest(body.as_bytes());
    Ok(format!("{{\"format\":{FORMAT},\"checksum\":\"{checksum:032x}\",\"body\":{body}}}\n").into_bytes())
}

fn accounts_text(claims: &Claims) -> Accounts {
    let texts = |accounts: &BTreeSet<Address>| accounts.iter().map(Address::to_string).collect();
    claims.accounts.iter().map(|(table, accounts)| (*table, texts(accounts))).collect()
}

impl Manifest {
    fn of(contents: &Contents) -> Self {
        let imports = contents.imports.versions.iter();
        Self {
            generation: contents.generation,
            chains: contents.chains.iter().map(|(chain, held)| (*chain, ChainEntry::of(held))).collect(),
            imports: imports
                .map(|import| ImportEntry { version: import.version.clone(), data: FileEntry::of(&import.file) })
                .collect(),
            written_segment_bytes: contents.written_bytes,
            feed: FeedEntry::of(&contents.feed),
        }
    }

    /// Every file it lists, each once, or what is wrong with an entry.
    pub(super) fn files(&self) -> Vec<std::result::Result<FileRef, String>> {
        let of_chains = self.chains.values().flat_map(|entry| {
            let tail = entry.tail.iter().map(|block| &block.segment);
            entry
                .segments
                .iter()
                .chain(tail)
                .flat_map(SegmentEntry::files)
                .chain(&entry.accounts)
                .chain(entry.holders.as_ref().map(|holders| &holders.file))
        });
        let of_feed = self.feed.files();
        let all = of_chains.chain(self.imports.iter().map(|import| &import.data)).chain(of_feed);
        let mut seen = BTreeSet::new();
        all.filter(|entry| seen.insert(&*entry.file)).map(FileEntry::to_ref).collect()
    }

    /// Reads the bytes of a manifest.
    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let corrupt =
            |offset: usize, what: String| LedgerError::Corrupt { file: path.to_owned(), offset: offset as u64, what };
        let (format, checksum, start) = header(bytes).ok_or_else(|| corrupt(0, "it is no manifest".into()))?;
        if format != FORMAT {
            return Err(LedgerError::OtherFormat { path: path.to_owned(), found: format, expected: FORMAT });
        }
        let body = bytes[start..].strip_suffix(b"}\n").ok_or_else(|| corrupt(bytes.len(), "it is cut short".into()))?;
        if file_digest(body) != checksum {
            return Err(corrupt(start, "its checksum does not match".into()));
        }
        serde_json::from_slice(body).map_err(|error| corrupt(start, error.to_string()))
    }

    /// Reads the manifest of a generation.
    pub(super) fn read(root: &Path, generation: u64) -> Result<Self> {
        let path = root.join(folder::manifest_name(generation));
        let bytes = std::fs::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => LedgerError::GenerationGone { generation },
            _ => folder::io_error("cannot read", &path, source),
        })?;
        let manifest = Self::parse(&path, &bytes)?;
        if manifest.generation != generation {
            let what = format!("it is of generation {}", manifest.generation);
            return Err(LedgerError::Corrupt { file: path, offset: 0, what });
        }
        Ok(manifest)
    }

    /// Opens everything the manifest lists; segments that are open already are shared.
    pub(super) fn open(&self, root: &Path, open: &mut OpenParts) -> Result<Contents> {
        let path = root.join(folder::manifest_name(self.generation));
        let corrupt = |what: String| LedgerError::Corrupt { file: path.clone(), offset: 0, what };
        let mut chains = BTreeMap::new();
        for (chain, entry) in &self.chains {
            chains.insert(*chain, entry.open(*chain, root, open, &corrupt)?);
        }
        let mut versions = Vec::new();
        for entry in &self.imports {
            let file = entry.data.to_ref().map_err(corrupt)?;
            versions.push(open.import(root, &entry.version, file)?);
        }
        let imports = Imports::new(versions);
        let feed = self.feed.open(root, open, &corrupt)?;
        let written_bytes = self.written_segment_bytes;
        Ok(Contents { generation: self.generation, chains, imports, written_bytes, feed: Arc::new(feed) })
    }
}

/// Format, checksum and where the body begins.
fn header(bytes: &[u8]) -> Option<(u32, u128, usize)> {
    let rest = bytes.strip_prefix(b"{\"format\":")?;
    let comma = rest.iter().take(12).position(|byte| *byte == b',')?;
    let format = std::str::from_utf8(&rest[..comma]).ok()?.parse().ok()?;
    let rest = rest[comma..].strip_prefix(b",\"checksum\":\"")?;
    // Only the text that was written: with capitals it would be the same number, and still not the same file.
    let checksum = u128::from_str_radix(std::str::from_utf8(rest.get(..32)?).ok()?, 16).ok()?;
    if format!("{checksum:032x}").as_bytes() != &rest[..32] {
        return None;
    }
    let body = rest[32..].strip_prefix(b"\",\"body\":")?;
    Some((format, checksum, bytes.len() - body.len()))
}

impl ChainEntry {
    fn of(held: &ChainContents) -> Self {
        let tail = held.tail.iter().map(|block| TailEntry {
            number: block.number,
            hash: block.hash.display(Family::Utxo),
            parent: block.parent.display(Family::Utxo),
            ranges: block.claims.ranges.clone(),
            accounts: accounts_text(&block.claims),
            segment: SegmentEntry::of(held, &block.part),
        });
        Self {
            network: held.network,
            segments: held.sealed.iter().map(|part| SegmentEntry::of(held, part)).collect(),
            tail: tail.collect(),
            ranges: held.claims.ranges.clone(),
            accounts: held.accounts_file.as_ref().map(FileEntry::of),
            holders: held
                .sidecars
                .holders
                .as_ref()
                .map(|holders| HoldersEntry { file: FileEntry::of(&holders.file), covers: holders.covers.clone() }),
            apart: held.apart.clone(),
        }
    }

    fn open(
        &self,
        chain: Chain,
        root: &Path,
        open: &mut OpenParts,
        corrupt: &dyn Fn(String) -> LedgerError,
    ) -> Result<ChainContents> {
        let mut held = ChainContents::new(self.network);
        for entry in &self.segments {
            held.sealed.push(open.part(root, entry.file.to_ref().map_err(corrupt)?)?);
        }
        for entry in &self.tail {
            let hash = |text: &str| BlockHash::parse(Family::Utxo, text).map_err(|error| corrupt(error.to_string()));
            let accounts = parse_accounts(chain, self.network, &entry.accounts).map_err(corrupt)?;
            held.tail.push(TailBlock {
                number: entry.number,
                hash: hash(&entry.hash)?,
                parent: hash(&entry.parent)?,
                claims: Claims { ranges: entry.ranges.clone(), accounts },
                part: open.part(root, entry.segment.file.to_ref().map_err(corrupt)?)?,
            });
        }
        let entries = self.segments.iter().chain(self.tail.iter().map(|entry| &entry.segment));
        for (entry, part) in entries.zip(held.parts().map(|part| part.file.name.clone()).collect::<Vec<_>>()) {
            if let Some(edges) = &entry.edges {
                let edges = open.edges(root, edges.file.to_ref().map_err(corrupt)?)?;
                held.sidecars.edges.insert(part, edges);
            }
        }
        if let Some(entry) = &self.holders {
            let file = entry.file.to_ref().map_err(corrupt)?;
            held.sidecars.holders = Some(open.holders(root, file, &entry.covers)?);
        }
        held.claims.ranges = self.ranges.clone();
        held.apart.clone_from(&self.apart);
        if let Some(entry) = &self.accounts {
            let file = entry.to_ref().map_err(corrupt)?;
            let bytes = folder::read_listed(root, &file)?;
            let damaged = |what| LedgerError::Corrupt { file: root.join(&file.name), offset: 0, what };
            let accounts = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
            held.claims.accounts = parse_accounts(chain, self.network, &accounts).map_err(damaged)?;
            held.accounts_file = Some(file);
        }
        Ok(held)
    }
}

fn parse_accounts(
    chain: Chain,
    network: Network,
    accounts: &Accounts,
) -> std::result::Result<BTreeMap<CoverageTable, BTreeSet<Address>>, String> {
    let parse = |text: &String| Address::parse_on(chain, network, text).map_err(|error| error.to_string());
    accounts
        .iter()
        .map(|(table, texts)| Ok((*table, texts.iter().map(parse).collect::<std::result::Result<_, _>>()?)))
        .collect()
}

/// What is open already, to be shared between generations.
#[derive(Default)]
pub(super) struct OpenParts {
    parts: HashMap<String, Weak<Part>>,
    edges: HashMap<String, Weak<EdgePart>>,
    holders: HashMap<String, Weak<HolderPart>>,
    /// By name and digest: a store that was made anew under a reader has the same names.
    imports: HashMap<(String, u128), Weak<Entries>>,
    pub(super) runs: HashMap<(String, u128), Weak<Run>>,
}

impl OpenParts {
    fn part(&mut self, root: &Path, file: FileRef) -> Result<Arc<Part>> {
        if let Some(part) = self.parts.get(&file.name).and_then(Weak::upgrade)
            && part.file == file
        {
            return Ok(part);
        }
        let segment = Arc::new(folder::open_listed(root, &file)?);
        let part = Arc::new(Part { file, segment });
        self.parts.retain(|_, part| part.strong_count() > 0);
        self.parts.insert(part.file.name.clone(), Arc::downgrade(&part));
        Ok(part)
    }

    fn edges(&mut self, root: &Path, file: FileRef) -> Result<Arc<EdgePart>> {
        if let Some(part) = self.edges.get(&file.name).and_then(Weak::upgrade)
            && part.file == file
        {
            return Ok(part);
        }
        let edges = Arc::new(EdgeFile::read(folder::open_listed_sidecar(root, &file)?)?);
        let part = Arc::new(EdgePart { file, edges });
        self.edges.retain(|_, part| part.strong_count() > 0);
        self.edges.insert(part.file.name.clone(), Arc::downgrade(&part));
        Ok(part)
    }

    fn holders(&mut self, root: &Path, file: FileRef, covers: &[String]) -> Result<Arc<HolderPart>> {
        if let Some(part) = self.holders.get(&file.name).and_then(Weak::upgrade)
            && part.file == file
            && part.covers == covers
        {
            return Ok(part);
        }
        let holders = Arc::new(HolderFile::read(folder::open_listed_sidecar(root, &file)?)?);
        let part = Arc::new(HolderPart { file, covers: covers.to_vec(), holders });
        self.holders.retain(|_, part| part.strong_count() > 0);
        self.holders.insert(part.file.name.clone(), Arc::downgrade(&part));
        Ok(part)
    }

    fn import(&mut self, root: &Path, version: &ImportVersion, file: FileRef) -> Result<Import> {
        let version = version.clone();
        if let Some(entries) = self.imports.get(&(file.name.clone(), file.digest)).and_then(Weak::upgrade) {
            return Ok(Import { version, file, entries });
        }
        let bytes = folder::read_listed(root, &file)?;
        let entries = Entries::from_lines(version.kind, &bytes).map_err(|what| LedgerError::Corrupt {
            file: root.join(&file.name),
            offset: 0,
            what,
        })?;
        let entries = Arc::new(entries);
        self.imports.retain(|_, entries| entries.strong_count() > 0);
        self.imports.insert((file.name.clone(), file.digest), Arc::downgrade(&entries));
        Ok(Import { version, file, entries })
    }
}
