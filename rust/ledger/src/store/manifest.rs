//! The manifest: one JSON file per generation that lists everything the generation consists of.
//!
//! `{"format":3,"checksum":"...","body":{...}}`, where the checksum is the XXH3-128 of the bytes of the body. A
//! manifest is written whole and synced before it gets its name, so one that does not check is damage and never the
//! trace of a crash: it is reported, and no older one takes its place, for that would lose acknowledged commits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Weak};

use headwater_types::{Address, BlockHash, Chain, Family, Network};
use serde::{Deserialize, Serialize};

use super::claims::Claims;
use super::contents::{ChainContents, Contents};
use super::disputes::{self, DisputeHistory};
use super::feed::{FeedEntry, OpenRuns};
use super::folder::{self, FileEntry};
use super::imports::{Entries, Import, ImportPayload, Imports};
use super::parts::{FileRef, Part, Storage, TailBlock, file_digest, own_content};
use super::sidecar::{Kind, Sidecar, kind_of};
use super::{ImportKind, ImportVersion};
use crate::LedgerError;
use crate::labels::{Disputes, LabelFile};
use crate::read::{CoverageTable, Result};
use crate::snapshot::CarriedTables;

/// The one format that is written and read.
const FORMAT: u32 = 3;

/// A manifest as it is in its file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) generation: u64,
    pub(super) chains: BTreeMap<Chain, ChainEntry>,
    pub(super) imports: Vec<ImportEntry>,
    /// The history of disputes, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disputes: Option<FileEntry>,
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
    /// By kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sidecars: BTreeMap<String, Vec<SidecarEntry>>,
    /// Names of segments that are not merged.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    apart: BTreeSet<String>,
}

type Ranges = BTreeMap<CoverageTable, Vec<(u64, u64)>>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    #[serde(flatten)]
    pub(super) file: FileEntry,
    pub(super) transactions: u32,
    pub(super) movements: u64,
    /// The identity of its content in 32 hexadecimal digits, where it was merged of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SidecarEntry {
    #[serde(flatten)]
    pub(super) file: FileEntry,
    /// Files of the segments it covers, in the order it numbers them.
    pub(super) covers: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TailEntry {
    number: u64,
    hash: String,
    parent: String,
    ranges: Ranges,
    /// Accounts are claimed by exports, hardly ever by a block; so they are here rather than in a file.
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

impl ImportEntry {
    pub(super) const fn kind(&self) -> ImportKind {
        self.version.kind
    }

    pub(super) fn file(&self) -> std::result::Result<FileRef, String> {
        self.data.to_ref()
    }
}

impl SegmentEntry {
    fn of(part: &Part) -> Self {
        let (transactions, movements) = (part.segment.transactions(), part.segment.movements());
        let content = (part.content != own_content(&part.file)).then(|| format!("{:032x}", part.content));
        Self { file: FileEntry::of(&part.file), transactions, movements, content }
    }

    /// The file and the identity of its content, or what is wrong with the entry.
    fn to_part(&self) -> std::result::Result<(FileRef, u128), String> {
        let file = self.file.to_ref()?;
        let content = match &self.content {
            Some(text) => u128::from_str_radix(text, 16).map_err(|_| format!("{text:?} is not a digest"))?,
            None => own_content(&file),
        };
        Ok((file, content))
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
            disputes: contents.imports.disputes.file.as_ref().map(FileEntry::of),
            written_segment_bytes: contents.written_bytes,
            feed: FeedEntry::of(&contents.feed),
        }
    }

    /// Every file it lists, each once, or what is wrong with an entry.
    pub(super) fn files(&self) -> Vec<std::result::Result<FileRef, String>> {
        let of_chains = self.chains.values().flat_map(|entry| {
            let segments = entry.all_segments().map(|segment| &segment.file);
            let sidecars = entry.sidecars.values().flatten().map(|sidecar| &sidecar.file);
            segments.chain(&entry.accounts).chain(sidecars)
        });
        let of_feed = self.feed.files();
        let of_imports = self.imports.iter().map(|import| &import.data).chain(&self.disputes);
        let all = of_chains.chain(of_imports).chain(of_feed);
        let mut seen = BTreeSet::new();
        all.filter(|entry| seen.insert(&*entry.file)).map(FileEntry::to_ref).collect()
    }

    /// Reads the bytes of a manifest.
    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let corrupt =
            |offset: usize, what: String| LedgerError::Corrupt { file: path.to_owned(), offset: offset as u64, what };
        let (format, checksum, start) = header(bytes).ok_or_else(|| corrupt(0, "it is not a manifest".into()))?;
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
        Ok(Self::read_with_file(root, generation)?.0)
    }

    /// Reads the manifest of a generation, and describes its file as manifests describe others.
    pub(super) fn read_with_file(root: &Path, generation: u64) -> Result<(Self, FileRef)> {
        let name = folder::manifest_name(generation);
        let path = root.join(&name);
        let bytes = std::fs::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => LedgerError::GenerationGone { generation },
            _ => folder::io_error("cannot read", &path, source),
        })?;
        let manifest = Self::parse(&path, &bytes)?;
        if manifest.generation != generation {
            let what = format!("it is of generation {}", manifest.generation);
            return Err(LedgerError::Corrupt { file: path, offset: 0, what });
        }
        Ok((manifest, FileRef { name, length: bytes.len() as u64, digest: file_digest(&bytes) }))
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
        let disputes = self.disputes.as_ref().map(|entry| entry.to_ref().map_err(corrupt)).transpose()?;
        let disputes = disputes.map(|file| open.disputes(root, file)).transpose()?.unwrap_or_default();
        let imports = open.imports(versions, disputes);
        let feed = self.feed.open(root, &mut open.runs, &corrupt)?;
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
    /// The sealed ones first.
    pub(super) fn all_segments(&self) -> impl Iterator<Item = &SegmentEntry> {
        self.segments.iter().chain(self.tail.iter().map(|block| &block.segment))
    }

    fn of(held: &ChainContents) -> Self {
        let tail = held.tail.iter().map(|block| TailEntry {
            number: block.number,
            hash: block.hash.display(Family::Utxo),
            parent: block.parent.display(Family::Utxo),
            ranges: block.claims.ranges.clone(),
            accounts: accounts_text(&block.claims),
            segment: SegmentEntry::of(&block.part),
        });
        let mut sidecars: BTreeMap<String, Vec<SidecarEntry>> = BTreeMap::new();
        for (kind, sidecar) in held.sidecars.all() {
            let entry = SidecarEntry { file: FileEntry::of(&sidecar.file), covers: sidecar.covers.clone() };
            sidecars.entry(kind.to_owned()).or_default().push(entry);
        }
        Self {
            network: held.network,
            segments: held.sealed.iter().map(|part| SegmentEntry::of(part)).collect(),
            tail: tail.collect(),
            ranges: held.claims.ranges.clone(),
            accounts: held.accounts_file.as_ref().map(FileEntry::of),
            sidecars,
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
        held.carried = Arc::clone(open.carried.entry(chain).or_default());
        for entry in &self.segments {
            held.sealed.push(open.part(root, entry.to_part().map_err(corrupt)?)?);
        }
        for entry in &self.tail {
            let hash = |text: &str| BlockHash::parse(Family::Utxo, text).map_err(|error| corrupt(error.to_string()));
            let accounts = parse_accounts(chain, self.network, &entry.accounts).map_err(corrupt)?;
            held.tail.push(TailBlock {
                number: entry.number,
                hash: hash(&entry.hash)?,
                parent: hash(&entry.parent)?,
                claims: Claims { ranges: entry.ranges.clone(), accounts },
                part: open.part(root, entry.segment.to_part().map_err(corrupt)?)?,
            });
        }
        for (name, entries) in &self.sidecars {
            let kind = kind_of(name).ok_or_else(|| corrupt(format!("{name:?} is not a kind of sidecar")))?;
            for entry in entries {
                let file = entry.file.to_ref().map_err(corrupt)?;
                held.sidecars.insert(kind, open.sidecar(root, kind, file, &entry.covers)?);
            }
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

/// The parts that are open already, to be shared between generations.
#[derive(Default)]
pub(super) struct OpenParts {
    parts: HashMap<String, Weak<Part>>,
    sidecars: HashMap<String, Weak<Sidecar>>,
    /// By name and digest: a store that was made anew under a reader has the same names.
    import_files: HashMap<(String, u128), WeakImport>,
    disputes: Option<(FileRef, Weak<Disputes>)>,
    /// The tables of the imports of the last generation: most generations have the same ones.
    tables: Option<Imports>,
    runs: OpenRuns,
    /// Tables that generations derive of each chain and pass on.
    carried: BTreeMap<Chain, Arc<CarriedTables>>,
}

impl OpenParts {
    /// The parts of a generation.
    pub(super) fn of(contents: &Contents) -> Self {
        let mut open = Self::default();
        for (chain, held) in &contents.chains {
            open.carried.insert(*chain, Arc::clone(&held.carried));
            open.parts.extend(held.parts().map(|part| (part.file.name.clone(), Arc::downgrade(part))));
            let sidecars = held.sidecars.all().map(|(_, sidecar)| (sidecar.file.name.clone(), Arc::downgrade(sidecar)));
            open.sidecars.extend(sidecars);
        }
        for Import { file, brought, .. } in &contents.imports.versions {
            open.import_files.insert((file.name.clone(), file.digest), WeakImport::of(brought));
        }
        let disputes = &contents.imports.disputes;
        open.disputes = disputes.file.clone().map(|file| (file, Arc::downgrade(&disputes.disputes)));
        open.tables = Some(contents.imports.clone());
        open.runs = OpenRuns::of(&contents.feed);
        open
    }

    fn part(&mut self, root: &Path, (file, content): (FileRef, u128)) -> Result<Arc<Part>> {
        if let Some(part) = self.parts.get(&file.name).and_then(Weak::upgrade)
            && part.file == file
            && part.content == content
        {
            return Ok(part);
        }
        let segment = Arc::new(folder::open_listed(root, &file)?);
        let part = Arc::new(Part { file, segment, content });
        self.parts.retain(|_, part| part.strong_count() > 0);
        self.parts.insert(part.file.name.clone(), Arc::downgrade(&part));
        Ok(part)
    }

    fn sidecar(&mut self, root: &Path, kind: &dyn Kind, file: FileRef, covers: &[String]) -> Result<Arc<Sidecar>> {
        if let Some(held) = self.sidecars.get(&file.name).and_then(Weak::upgrade)
            && held.file == file
            && held.covers == covers
        {
            return Ok(held);
        }
        let opened = kind.open(folder::open_listed_container(root, &file)?)?;
        let sidecar = Arc::new(Sidecar { file, covers: covers.to_vec(), opened });
        self.sidecars.retain(|_, sidecar| sidecar.strong_count() > 0);
        self.sidecars.insert(sidecar.file.name.clone(), Arc::downgrade(&sidecar));
        Ok(sidecar)
    }

    fn import(&mut self, root: &Path, version: &ImportVersion, file: FileRef) -> Result<Import> {
        let version = version.clone();
        let key = (file.name.clone(), file.digest);
        if let Some(brought) = self.import_files.get(&key).and_then(WeakImport::upgrade) {
            return Ok(Import { version, file, brought });
        }
        let brought = open_import(root, version.kind, &file)?;
        self.import_files.retain(|_, import| import.upgrade().is_some());
        self.import_files.insert(key, WeakImport::of(&brought));
        Ok(Import { version, file, brought })
    }

    fn imports(&mut self, versions: Vec<Import>, disputes: DisputeHistory) -> Imports {
        let is_same = |tables: &&Imports| {
            let is_pair = |(one, other): (&Import, &Import)| one.version == other.version && one.file == other.file;
            tables.disputes.file == disputes.file
                && tables.versions.len() == versions.len()
                && tables.versions.iter().zip(&versions).all(is_pair)
        };
        let imports = self.tables.as_ref().filter(is_same).cloned();
        let imports = imports.unwrap_or_else(|| Imports::new(versions, disputes));
        self.tables = Some(imports.clone());
        imports
    }

    fn disputes(&mut self, root: &Path, file: FileRef) -> Result<DisputeHistory> {
        let open = self.disputes.as_ref().filter(|(held, _)| *held == file).and_then(|(_, held)| held.upgrade());
        let disputes = match open {
            Some(open) => open,
            None => Arc::new(open_disputes(root, &file)?),
        };
        self.disputes = Some((file.clone(), Arc::downgrade(&disputes)));
        Ok(DisputeHistory { disputes, file: Some(file) })
    }
}

/// Opens the file of an import.
fn open_import(root: &Path, kind: ImportKind, file: &FileRef) -> Result<ImportPayload> {
    if kind == ImportKind::Labels {
        let opened = LabelFile::read(folder::open_listed_container(root, file)?)?;
        return Ok(ImportPayload::Labels(Arc::new(opened)));
    }
    let bytes = folder::read_listed(root, file)?;
    let corrupt = |what| LedgerError::Corrupt { file: root.join(&file.name), offset: 0, what };
    Ok(ImportPayload::Market(Arc::new(Entries::from_lines(kind, &bytes).map_err(corrupt)?)))
}

/// Opens the history of disputes.
fn open_disputes(root: &Path, file: &FileRef) -> Result<Disputes> {
    let bytes = folder::read_listed(root, file)?;
    let corrupt = |what| LedgerError::Corrupt { file: root.join(&file.name), offset: 0, what };
    disputes::from_lines(&bytes).map_err(corrupt)
}

/// The contents of an import, as long as a generation holds it.
enum WeakImport {
    Market(Weak<Entries>),
    Labels(Weak<LabelFile>),
}

impl WeakImport {
    fn of(brought: &ImportPayload) -> Self {
        match brought {
            ImportPayload::Market(entries) => Self::Market(Arc::downgrade(entries)),
            ImportPayload::Labels(file) => Self::Labels(Arc::downgrade(file)),
        }
    }

    fn upgrade(&self) -> Option<ImportPayload> {
        match self {
            Self::Market(entries) => entries.upgrade().map(ImportPayload::Market),
            Self::Labels(file) => file.upgrade().map(ImportPayload::Labels),
        }
    }
}
