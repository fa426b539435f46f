//! The files.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Packed, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::support::TRANSACTIONS;

/// A file, and what it is called in messages.
pub struct HostileFile {
    pub name: String,
    pub file: &'static str,
    pub write: Box<dyn FnOnce(&Path)>,
}

const ACCOUNT: &str = "0x16b2556e015dbe017f50d3dc403ddfb244ad59fb";
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"number":"0x5","hash":"0xabababababababababababababababababababababababababababababababab","parentHash":"0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","timestamp":"0x3e8","transactions":[{"hash":"0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22061","blockNumber":"0x5","transactionIndex":"0x0","from":"0x16b2556e015dbe017f50d3dc403ddfb244ad59fb","to":"0x16b2556e015dbe017f50d3dc403ddfb244ad59fc","value":"0x9","nonce":"0x1","gas":"0x5208","gasPrice":"0x3b9aca00","input":"0x"}]}}"#;

/// A sequence of numbers that depends on its seed only.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Members of 16 MiB of one byte behind a beginning, a GiB in all.
fn bomb(start: &str, byte: u8) -> Vec<u8> {
    let member = gzip(&vec![byte; 16 << 20]);
    let mut content = gzip(start.as_bytes());
    for _ in 0..64 {
        content.extend_from_slice(&member);
    }
    content
}

/// Rows of an account's transactions; `padding` is in each of them, once on disk.
fn parquet(rows: i64, padding: usize, packed: Packed) -> Vec<u8> {
    let length = usize::try_from(rows).unwrap();
    let numbers = |start: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(start..start + rows)) };
    let same = |text: &str| -> ArrayRef {
        Arc::new(std::iter::repeat_n(text, length).collect::<DictionaryArray<Int32Type>>())
    };
    let hashes: StringArray = (0..rows).map(|row| Some(format!("0x{:064x}", row + 1))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("blockNumber", numbers(5)),
        ("timeStamp", numbers(1_600_000_000)),
        ("hash", Arc::new(hashes)),
        ("from", same(ACCOUNT)),
        ("to", same(ACCOUNT)),
        ("value", same("7")),
        ("gas", same("21000")),
        ("gasPrice", same("1")),
        ("gasUsed", same("21000")),
        ("isError", same("0")),
        ("input", same(&format!("0x{}", "00".repeat(padding)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_compression(packed).set_max_row_group_row_count(Some(100)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Text at the beginning of a file that seems to be a GiB long and takes no room.
fn sparse(path: &Path, start: &str) {
    let mut file = File::create(path).unwrap();
    file.write_all(start.as_bytes()).unwrap();
    // The first look at a file is a MiB long: zeros there would show at once that it is not text.
    file.write_all(&vec![b'a'; 1 << 20]).unwrap();
    file.seek(SeekFrom::Start(1 << 30)).unwrap();
    file.write_all(b"\"\n").unwrap();
}

fn plain(name: impl Into<String>, file: &'static str, content: impl Into<Vec<u8>>) -> HostileFile {
    let content = content.into();
    HostileFile { name: name.into(), file, write: Box::new(move |path| std::fs::write(path, content).unwrap()) }
}

/// Those that are thought out.
fn by_hand() -> Vec<HostileFile> {
    let header = TRANSACTIONS.lines().next().unwrap();
    let row = TRANSACTIONS.lines().nth(1).unwrap();
    let mut made = Vec::new();
    for (name, file, start) in [
        ("a line of a GiB in CSV", "line.csv", format!("{TRANSACTIONS}{row}")),
        ("a quote of a GiB without end in CSV", "quote.csv", format!("{TRANSACTIONS}\"")),
        ("a text of a GiB in JSON", "text.json", ANSWER.replace("\"input\":\"0x\"", "\"input\":\"0x")),
        ("a GiB in one line of JSON", "lines.json", "{\"type\":\"block\",\"number\":1,\"extra\":\"".to_owned()),
        ("a header of a GiB", "header.tsv", "block_id\thash\t".to_owned()),
    ] {
        made.push(HostileFile { name: name.to_owned(), file, write: Box::new(move |path| sparse(path, &start)) });
    }
    made.extend([
        plain("gzip of a GiB of letters", "bomb.csv.gz", bomb(TRANSACTIONS, b'a')),
        plain("gzip of a GiB of line ends", "ends.csv.gz", bomb(TRANSACTIONS, b'\n')),
        plain("gzip of a GiB of brackets", "open.json.gz", bomb("[", b'[')),
        plain("gzip of a GiB of zeros", "zeros.gz", bomb("", 0)),
        plain("gzip in gzip in gzip", "deep.csv.gz", gzip(&gzip(&gzip(TRANSACTIONS.as_bytes())))),
        plain("a million open lists", "lists.json", "[".repeat(1_000_000)),
        plain("a million open objects", "objects.json", "{\"a\":".repeat(1_000_000)),
        plain(
            "a block in a million lists",
            "inside.json",
            format!("{}{ANSWER}{}", "[".repeat(1 << 20), "]".repeat(1 << 20)),
        ),
        plain("five million values", "values.json", format!("[{}0]", "0,".repeat(5_000_000))),
        plain("a number of ten million digits", "number.json", ANSWER.replace("\"0x3e8\"", &"9".repeat(10_000_000))),
        plain("a million columns", "columns.csv", format!("{header}{}\n{row}\n", ",x".repeat(1_000_000))),
        plain("a row of a million fields", "fields.csv", format!("{header}\n{row}{}\n", ",1".repeat(1_000_000))),
        plain("a million quotes", "quotes.csv", format!("{header}\n{}\n", "\"".repeat(1_000_001))),
        plain("a million lines of nothing", "blank.csv", format!("{header}\n{}", ",\n".repeat(1_000_000))),
        plain(
            "a zip archive",
            "archive.csv",
            [&b"PK\x03\x04\x14\x00\x00\x00\x08\x00"[..], &[0x5a; 4000], b"PK\x05\x06"].concat(),
        ),
        plain(
            "a zip archive that is called Parquet",
            "archive.parquet",
            [&b"PK\x03\x04"[..], &[1; 900], b"PAR1"].concat(),
        ),
        plain(
            "Parquet that is all footer",
            "footer.parquet",
            [&b"PAR1"[..], &[0xff; 5000], &[0xff, 0xff, 0xff, 0x7f], b"PAR1"].concat(),
        ),
        plain(
            "Parquet with an encrypted footer",
            "sealed.parquet",
            [&b"PAR1"[..], &[0; 64], &[32, 0, 0, 0], b"PARE"].concat(),
        ),
        plain("UTF-16", "wide.csv", TRANSACTIONS.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        plain("half of a character", "half.csv", [TRANSACTIONS.as_bytes(), b"\xf0\x9f"].concat()),
        plain(
            "frames of blocks that are longer than the file",
            "blk00000.dat",
            [&[0xf9, 0xbe, 0xb4, 0xd9][..], &4_000_000_u32.to_le_bytes(), &[0xff; 500]].concat(),
        ),
    ]);
    made
}

/// Files that are valid, from which others are made.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("flipped.parquet", parquet(300, 8, Packed::UNCOMPRESSED)),
        ("flipped.parquet", parquet(300, 8, Packed::SNAPPY)),
        ("flipped.parquet", parquet(300, 8, Packed::ZSTD(ZstdLevel::default()))),
        ("flipped.csv", TRANSACTIONS.as_bytes().to_vec()),
        ("flipped.json", ANSWER.as_bytes().to_vec()),
        ("flipped.csv.gz", gzip(TRANSACTIONS.as_bytes())),
    ]
}

/// One that differs from a valid file in a few places, as chance has it; every second one is Parquet whose footer, or
/// whose first page, names sizes and counts of up to 2^63.
fn by_chance(number: usize, draw: &mut Draw, sound: &[(&'static str, Vec<u8>)]) -> HostileFile {
    let forged = number.is_multiple_of(2);
    let (file, content) = &sound[if forged { draw.below(3) } else { draw.below(sound.len()) }];
    let mut content = content.clone();
    let length = content.len();
    let (at, what) = (draw.below(length), draw.below(5));
    let from = if forged && draw.below(3) > 0 { length - 8 - draw.below(length / 3) } else { at };
    let name = match (forged, what) {
        (true, 0..3) => {
            let run = 1 + draw.below(9);
            content[from..(from + run).min(length)].fill(0xff);
            format!("{run} bytes of 0xff at {from} of {length} of {file}")
        }
        (true, 3) => {
            let size = [u32::MAX, 0x7fff_ffff, 0x0100_0000, 0][draw.below(4)];
            content[length - 8..length - 4].copy_from_slice(&size.to_le_bytes());
            format!("a footer of {size} bytes in {file}")
        }
        (true, _) => {
            content[from] |= 0x80;
            format!("a number that continues at {from} of {length} of {file}")
        }
        (false, 0) => {
            content.truncate(at);
            format!("{file} cut to {at} of {length}")
        }
        (false, 1) => {
            let piece = content[..at].to_vec();
            content.extend(piece);
            format!("{file} with its first {at} bytes again")
        }
        (false, _) => {
            let flips = 1 + draw.below(4);
            for _ in 0..flips {
                content[draw.below(length)] ^= 1 << draw.below(8);
            }
            format!("{flips} bits of {file} flipped")
        }
    };
    plain(format!("file {number}: {name}"), file, content)
}

/// So many files: those thought out, and the rest by chance. A few that expand to much more than they are come only
/// where there are many.
pub fn crafted(seed: u64, many: usize) -> Vec<HostileFile> {
    let mut draw = Draw(seed);
    let sound = sound();
    let mut made = by_hand();
    if many > 100 {
        let padded = |name, rows, padding, packed| plain(name, "padded.parquet", parquet(rows, padding, packed));
        made.extend([
            padded("Parquet of 128 MiB in one", 16 << 10, 4 << 10, Packed::ZSTD(ZstdLevel::default())),
            padded("Parquet of 128 MiB in one, uncompressed", 1 << 10, 64 << 10, Packed::UNCOMPRESSED),
        ]);
    }
    let rest = many - made.len();
    made.extend((0..rest).map(|number| by_chance(number, &mut draw, &sound)));
    made
}
