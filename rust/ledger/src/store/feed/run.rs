//! Items of the feed that follow each other, in two files: the list, whose first line says which pieces the pack has and
//! whose other lines are the items; and the pack, which is the segments of those items one behind the other. A segment
//! that is large, or that many items share, stays a file of its own, which the manifest lists beside the run.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::super::folder::{self, FEED, Folder, io_error};
use super::super::parts::{FileRef, write_all};
use super::line::ItemEntry;
use super::{RecentItem, Source};
use crate::LedgerError;
use crate::feed::{FeedItem, ItemSegments};
use crate::read::Result;
use crate::segment::Segment;

/// Segments up to this size are copied into a pack.
const LARGEST_PIECE: u64 = 16 << 20;

/// Segments that more items share than this are not.
const MAX_SHARED: usize = 32;

/// A run of items.
pub(in crate::store) struct Run {
    root: PathBuf,
    pub(super) first: u64,
    pub(super) last: u64,
    /// When its last item was made.
    pub(super) made: i64,
    /// The number of its items that take blocks back.
    pub(super) removed: u64,
    pub(super) list: FileRef,
    pub(super) pack: Option<FileRef>,
    /// Segments in files of their own.
    pub(super) parts: Vec<Arc<Source>>,
    read: OnceLock<Lines>,
}

/// The number of a segment: a piece of the pack, or behind those a part.
type PartNumber = usize;

/// The list, read.
struct Lines {
    pieces: Vec<Piece>,
    items: Vec<FeedItem>,
    /// By item: where its rows are, where what was before, and when it was made.
    places: Vec<(Option<PartNumber>, Option<PartNumber>, i64)>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Piece {
    offset: u64,
    length: u64,
}

/// The first line of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    pieces: Vec<Piece>,
}

/// The source of the bytes of a piece while a run is written.
enum Bytes<'a> {
    File(&'a FileRef),
    Piece(&'a Run, Piece),
}

impl Run {
    pub(super) fn closed(
        root: &Path,
        (first, last, made, removed): (u64, u64, i64, u64),
        list: FileRef,
        pack: Option<FileRef>,
        parts: Vec<Arc<Source>>,
    ) -> Self {
        Self { root: root.to_owned(), first, last, made, removed, list, pack, parts, read: OnceLock::new() }
    }

    pub(super) fn count(&self) -> u64 {
        self.last - self.first + 1
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        std::iter::once(&self.list).chain(&self.pack).chain(self.parts.iter().map(|part| &part.file))
    }

    /// Writes items that were listed one by one.
    pub(super) fn of(kept: &[RecentItem], folder: &mut Folder) -> Result<Self> {
        let sources = || kept.iter().flat_map(|kept| kept.rows.iter().chain(&kept.before));
        let mut shares: HashMap<&str, usize> = HashMap::new();
        sources().for_each(|source| *shares.entry(&source.file.name).or_default() += 1);
        let mut draft = Draft::default();
        let mut places: HashMap<&str, Target> = HashMap::new();
        for source in sources() {
            places.entry(&source.file.name).or_insert_with(|| {
                let is_small = source.file.length <= LARGEST_PIECE && shares[&*source.file.name] <= MAX_SHARED;
                if is_small { draft.piece(Bytes::File(&source.file)) } else { draft.part(source) }
            });
        }
        let target = |source: &Arc<Source>| places[&*source.file.name];
        let items = kept
            .iter()
            .map(|kept| (kept.item, kept.made, kept.rows.as_ref().map(target), kept.before.as_ref().map(target)));
        draft.write(&items.collect::<Vec<_>>(), folder)
    }

    /// Writes several runs that follow each other as one.
    pub(super) fn merged(runs: &[Arc<Self>], folder: &mut Folder) -> Result<Self> {
        let mut draft = Draft::default();
        let mut items = Vec::new();
        for run in runs {
            let lines = run.lines()?;
            let mut targets: Vec<Target> = Vec::with_capacity(lines.pieces.len() + run.parts.len());
            targets.extend(lines.pieces.iter().map(|piece| draft.piece(Bytes::Piece(run, *piece))));
            targets.extend(run.parts.iter().map(|part| draft.part(part)));
            for (item, (rows, before, made)) in lines.items.iter().zip(&lines.places) {
                let target = |place: &Option<PartNumber>| place.map(|place| targets[place]);
                items.push((*item, *made, target(rows), target(before)));
            }
        }
        draft.write(&items, folder)
    }

    /// The items.
    pub(super) fn items(&self) -> Result<&[FeedItem]> {
        Ok(&self.lines()?.items)
    }

    /// An item of it with its segments.
    pub(super) fn rows(&self, position: u64) -> Result<(FeedItem, Option<ItemSegments>)> {
        let lines = self.lines()?;
        let place = usize::try_from(position - self.first).unwrap_or(usize::MAX);
        let (rows, before, _) = lines.places[place];
        let before = before.map(|before| self.segment(lines, before)).transpose()?;
        let rows = rows.map(|rows| self.segment(lines, rows)).transpose()?;
        Ok((lines.items[place], rows.map(|rows| (rows, before))))
    }

    fn segment(&self, lines: &Lines, place: PartNumber) -> Result<Arc<Segment>> {
        match lines.pieces.get(place) {
            Some(piece) => {
                let bytes = self.bytes(*piece)?;
                let name = self.pack.as_ref().map_or(&self.list.name, |pack| &pack.name);
                let name = format!("{} from byte {} on", self.root.join(name).display(), piece.offset);
                Ok(Arc::new(Segment::from_bytes(&name, bytes)?))
            }
            None => self.parts[place - lines.pieces.len()].open(&self.root),
        }
    }

    /// The bytes of a piece of the pack; the segment in it carries checksums of its own.
    fn bytes(&self, piece: Piece) -> Result<Vec<u8>> {
        let Some(pack) = &self.pack else { return Err(self.corrupt("it names a pack that does not exist")) };
        let path = self.root.join(&pack.name);
        let failed = |source| folder::missing_or_io(&path, source);
        let mut file = File::open(&path).map_err(failed)?;
        file.seek(SeekFrom::Start(piece.offset)).map_err(failed)?;
        let mut bytes = vec![0; usize::try_from(piece.length).unwrap_or(usize::MAX)];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(LedgerError::Corrupt { file: path, offset: piece.offset, what: "it is cut short".to_owned() })
            }
            Err(source) => Err(io_error("cannot read", &path, source)),
        }
    }

    fn lines(&self) -> Result<&Lines> {
        if let Some(lines) = self.read.get() {
            return Ok(lines);
        }
        let bytes = folder::read_listed(&self.root, &self.list)?;
        let lines = self.parse(&bytes).map_err(|what| self.corrupt(&what))?;
        Ok(self.read.get_or_init(|| lines))
    }

    fn parse(&self, bytes: &[u8]) -> std::result::Result<Lines, String> {
        let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let text = |error: serde_json::Error| error.to_string();
        let header: Header = serde_json::from_slice(lines.next().unwrap_or_default()).map_err(text)?;
        let end = self.pack.as_ref().map_or(0, |pack| pack.length);
        let is_inside = |piece: &Piece| piece.offset.checked_add(piece.length).is_some_and(|last| last <= end);
        if !header.pieces.iter().all(is_inside) {
            return Err("a piece lies outside of the pack".to_owned());
        }
        let known = header.pieces.len() + self.parts.len();
        let mut read = Lines { pieces: header.pieces, items: Vec::new(), places: Vec::new() };
        for (expected, line) in (self.first..).zip(lines) {
            let entry: ItemEntry<PartNumber> = serde_json::from_slice(line).map_err(text)?;
            let item = entry.item()?;
            let is_known = [entry.rows, entry.before].into_iter().flatten().all(|place| place < known);
            if item.position != expected || !is_known {
                return Err(format!("its line of item {expected} does not fit"));
            }
            read.items.push(item);
            read.places.push((entry.rows, entry.before, entry.made));
        }
        if read.items.len() as u64 != self.count() {
            return Err(format!("it has {} items, expected {}", read.items.len(), self.count()));
        }
        Ok(read)
    }

    fn corrupt(&self, what: &str) -> LedgerError {
        LedgerError::Corrupt { file: self.root.join(&self.list.name), offset: 0, what: what.to_owned() }
    }
}

/// The destination of a segment.
#[derive(Clone, Copy)]
enum Target {
    Piece(usize),
    Part(usize),
}

/// An item that is about to be written: when it was made, where its rows go, and where what was before.
type Line = (FeedItem, i64, Option<Target>, Option<Target>);

/// A run that is about to be written.
#[derive(Default)]
struct Draft<'a> {
    pieces: Vec<Bytes<'a>>,
    parts: Vec<Arc<Source>>,
    /// Places of parts by name: several runs may share one.
    known: BTreeMap<String, usize>,
}

impl<'a> Draft<'a> {
    fn piece(&mut self, bytes: Bytes<'a>) -> Target {
        self.pieces.push(bytes);
        Target::Piece(self.pieces.len() - 1)
    }

    fn part(&mut self, source: &Arc<Source>) -> Target {
        let next = self.parts.len();
        let place = *self.known.entry(source.file.name.clone()).or_insert(next);
        if place == next {
            self.parts.push(Arc::clone(source));
        }
        Target::Part(place)
    }

    fn write(self, items: &[Line], folder: &mut Folder) -> Result<Run> {
        let root = folder.path().to_owned();
        let mut pieces = Vec::with_capacity(self.pieces.len());
        let pack = if self.pieces.is_empty() {
            None
        } else {
            let mut offset = 0;
            Some(folder.keep_stream(FEED, "pack", &mut |out| {
                for piece in &self.pieces {
                    let bytes = piece.read(&root)?;
                    write_all(out, &bytes)?;
                    pieces.push(Piece { offset, length: bytes.len() as u64 });
                    offset += bytes.len() as u64;
                }
                Ok(())
            })?)
        };
        let place = |target: Target| match target {
            Target::Piece(place) => place,
            Target::Part(place) => pieces.len() + place,
        };
        let mut text = serde_json::to_vec(&Header { pieces: pieces.clone() }).expect("plain records have a JSON form");
        for (item, made, rows, before) in items {
            text.push(b'\n');
            let entry = ItemEntry::of(item, *made, rows.map(place), before.map(place));
            serde_json::to_writer(&mut text, &entry).expect("plain records have a JSON form");
        }
        let list = folder.keep_stream(FEED, "list", &mut |out| write_all(out, &text))?;
        let position = |item: Option<&Line>| item.map_or(0, |(item, ..)| item.position);
        let made = items.last().map_or(0, |(_, made, ..)| *made);
        let removed = items.iter().filter(|(item, ..)| item.removed).count() as u64;
        let span = (position(items.first()), position(items.last()), made, removed);
        Ok(Run::closed(&root, span, list, pack, self.parts))
    }
}

impl Bytes<'_> {
    fn read(&self, root: &Path) -> Result<Vec<u8>> {
        match self {
            Self::Piece(run, piece) => run.bytes(*piece),
            Self::File(file) => folder::read_listed(root, file),
        }
    }
}
