//! The container of a file, detected from its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::{DeflateDecoder, GzDecoder};
use headwater_types::text::{SHOWN, shortened};
use zip::CompressionMethod;

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, several members included.
    Gzip,
    /// bzip2, several streams included.
    Bzip2,
    /// Zstandard, several frames included.
    Zstd,
    /// A zip archive of one file.
    Zip,
}

impl Compression {
    /// The compression that the first bytes of a file state.
    pub(super) fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            _ => Self::None,
        }
    }

    /// Endings of file names that say nothing but this compression.
    pub(super) const ENDINGS: [&str; 4] = [".gz", ".bz2", ".zst", ".zip"];

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Zstd => "zstd",
            Self::Zip => "zip",
        }
    }
}

/// Containers that are not read, by the bytes at their beginning (or at an offset), with what to do about them.
const UNREAD: &[(usize, &[u8], &str)] = &[
    (0, b"\xfd7zXZ\0", "is an xz archive: unpack it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive: unpack it first"),
    (0, b"Rar!\x1a\x07", "is a RAR archive: unpack it first"),
    (0, b"\x04\x22\x4d\x18", "is an LZ4 archive: unpack it first"),
    (0, b"\xff\x06\0\0sNaPpY", "is a snappy archive: unpack it first"),
    (
        0,
        b"e2\0\0\0\0\0\0\x01\0",
        "is a history file of the beacon chain (era): take those of the execution layer (era1, ere)",
    ),
    (
        0,
        b"e2\0\0\0\0\0\0\x02\0",
        "is a history file of the beacon chain (era): take those of the execution layer (era1, ere)",
    ),
    (
        0,
        b"e2\0\0\0\0\0\0\x03\x01",
        "is a history file with proofs in its headers (e2hs): take the era1 or ere file of the same blocks",
    ),
    (257, b"ustar", "is a tar archive: unpack it first"),
    (0, b"SQLite format 3\0", "is an SQLite database: export its tables as CSV"),
    (0, b"ARROW1", "is an Arrow IPC file: write it as Parquet"),
    (0, b"FEA1", "is a Feather file: write it as Parquet"),
    (0, b"Obj\x01", "is an Avro file: write it as Parquet"),
    (0, b"ORC", "is an ORC file: write it as Parquet"),
    (0, b"\x89HDF", "is an HDF5 file: write it as Parquet"),
    (0, b"\xd0\xcf\x11\xe0", "is an old Excel workbook: save it as CSV"),
    (0, b"%PDF", "is a PDF document: export the table as CSV"),
    (0, b"{\\rtf", "is a rich text document: save it as plain text or CSV"),
    (0, b"PGDMP", "is a dump of PostgreSQL: restore it, and export the table as CSV"),
    (0, b"\x89PNG", "is a picture: get the table itself as CSV"),
    (0, b"\xff\xd8\xff", "is a picture: get the table itself as CSV"),
    (0, b"GIF8", "is a picture: get the table itself as CSV"),
    (8, b"WEBP", "is a picture: get the table itself as CSV"),
];

/// Describes a known container that is not read, and the remedy.
pub(super) fn unread(head: &[u8]) -> Option<&'static str> {
    let holds = |(at, magic, _): &&(usize, &[u8], &str)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic));
    UNREAD.iter().find(holds).map(|(_, _, what)| *what)
}

/// The members of a gzip file one after the other. Zeros behind a member pad it and are passed over.
pub(super) struct GzipMembers<R> {
    state: State<R>,
}

enum State<R> {
    Inside(GzDecoder<R>),
    Between(R),
    Ended,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(file: R) -> Self {
        Self { state: State::Inside(GzDecoder::new(file)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Inside(mut member) => {
                    let count = member.read(buffer)?;
                    if count > 0 || buffer.is_empty() {
                        self.state = State::Inside(member);
                        return Ok(count);
                    }
                    self.state = State::Between(member.into_inner());
                }
                State::Between(mut file) => {
                    let bytes = file.fill_buf()?;
                    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                    if bytes.is_empty() {
                        return Ok(0);
                    }
                    let is_member = zeros < bytes.len();
                    file.consume(zeros);
                    self.state = if is_member { State::Inside(GzDecoder::new(file)) } else { State::Between(file) };
                }
                State::Ended => return Ok(0),
            }
        }
    }
}

/// Documents that are zip archives, by two files in them.
const DOCUMENTS: &[(&str, &str, &str)] = &[
    ("[Content_Types].xml", "word/", "is a Word document: save its table as CSV"),
    ("[Content_Types].xml", "ppt/", "is a PowerPoint document: get the table itself as CSV"),
    ("[Content_Types].xml", "", "is an Excel workbook: save its sheet as CSV"),
    ("mimetype", "content.xml", "is an OpenDocument spreadsheet or text: save its sheet as CSV"),
];

/// Returns true if a system put a file into an archive beside those of the user.
fn is_of_system(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name.ends_with(".DS_Store") || name.ends_with("Thumbs.db")
}

/// The one file of a zip archive.
pub(super) fn open_zip(
    file: File,
    reading: impl FnOnce(File) -> Box<dyn Read + Send>,
) -> io::Result<Box<dyn Read + Send>> {
    let damaged = |error: zip::result::ZipError| io::Error::new(io::ErrorKind::InvalidData, format!("zip: {error}"));
    let unread = |what: String| io::Error::new(io::ErrorKind::Unsupported, what);
    let mut archive = zip::ZipArchive::new(BufReader::new(file.try_clone()?)).map_err(damaged)?;
    let (mut files, mut names) = (Vec::new(), Vec::new());
    for place in 0..archive.len() {
        let entry = archive.by_index_raw(place).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.to_string();
        if entry.is_file() && !is_of_system(&name) {
            names.push(name);
            files.push(place);
        }
    }
    let has = |part: &str| names.iter().any(|name| name.starts_with(part));
    if let Some((_, _, what)) = DOCUMENTS.iter().find(|(mark, part, _)| has(mark) && has(part)) {
        return Err(unread((*what).to_owned()));
    }
    let [place] = files[..] else {
        let shown = shortened(&names.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", "), SHOWN);
        let shown = if shown.is_empty() { shown } else { format!(" ({shown})") };
        let what =
            format!("is a zip archive of {} files{shown}: unpack it, and name the files or their folder", files.len());
        return Err(unread(what));
    };
    let entry = archive.by_index_raw(place).map_err(damaged)?;
    if entry.encrypted() {
        return Err(unread("is a zip archive with a password: unpack it first".to_owned()));
    }
    let start = entry.data_start().ok_or_else(|| unread("is a zip archive whose file is not found".to_owned()))?;
    let (method, length) = (entry.compression(), entry.compressed_size());
    drop(entry);
    let mut file = file;
    file.seek(SeekFrom::Start(start))?;
    let bytes = reading(file).take(length);
    match method {
        CompressionMethod::Stored => Ok(Box::new(bytes)),
        CompressionMethod::Deflated => Ok(Box::new(DeflateDecoder::new(BufReader::with_capacity(1 << 17, bytes)))),
        other => Err(unread(format!("is a zip archive compressed with {other:?}: unpack it first"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &str) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn gzip_members_are_read_past_padding() {
        let padded = [member("a"), vec![0; 300], member("b"), vec![0; 70_000]].concat();
        let mut text = String::new();
        GzipMembers::new(&padded[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "ab");
        let followed = [member("a"), b"more".to_vec()].concat();
        assert!(GzipMembers::new(&followed[..]).read_to_string(&mut text).is_err());
        let cut = &member("a long enough text")[..12];
        assert!(GzipMembers::new(cut).read_to_string(&mut text).is_err());
    }

    #[test]
    fn unread_containers_are_named() {
        let mut tar = vec![0; 300];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(unread(&tar).unwrap().contains("tar archive"));
        assert!(unread(b"\xfd7zXZ\0...").unwrap().contains("xz"));
        assert_eq!(unread(b"number,hash"), None);
    }
}
