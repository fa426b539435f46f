//! Files made to do harm: an error in bounded memory, never a crash, never a partly visible commit.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use flate2::Compression;
use flate2::write::GzEncoder;
use headwater_ingest::{Gathered, IngestError, IngestReport, OnError, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as ParquetCompression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};

const HEADER: &str = "blockNumber,timeStamp,hash,from,to,value,gas,gasPrice,gasUsed,isError";
const ACCOUNT: &str = "0x16b2556e015dbe017f50d3dc403ddfb244ad59fb";

fn row(number: usize) -> String {
    format!("{number},77,0x{number:064x},{ACCOUNT},{ACCOUNT},5,1,1,1,0")
}

fn table(rows: usize) -> String {
    std::iter::once(HEADER.to_owned()).chain((0..rows).map(row)).collect::<Vec<_>>().join("\n")
}

fn ingest(path: &Path, options: &Options) -> (Result<IngestReport, IngestError>, Vec<Batch>) {
    let mut target = Gathered::default();
    let report = ingest_into(&[path.to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn skip() -> Options {
    Options { on_error: OnError::Skip, ..Options::default() }
}

/// Ingests content that must be refused: nothing is committed, and the error names the file.
fn refused(name: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let (report, batches) = ingest(&path, &Options::default());
    let error = report.expect_err(name).to_string();
    assert!(error.contains(name), "{error}");
    assert_eq!(batches, [], "{error}");
    // Skipping goes on past it, without a crash either.
    let _ = ingest(&path, &skip());
    error
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The largest resident memory of this process so far, in bytes; unknown off Linux.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
fn a_cut_or_damaged_compression_is_an_error_of_the_file() {
    let whole = gzip(table(20_000).as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.csv.gz");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(ingest(&path, &Options::default()).0.unwrap().rows, 20_000);
    let error = refused("cut.csv.gz", &whole[..whole.len() / 2]);
    assert!(error.contains("damaged"), "{error}");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xff);
    refused("damaged.csv.gz", &damaged);
    refused("magic.csv.gz", &whole[..3]);
    let bzip2 = b"BZh91AY&SY\x00\x00\x00\x00";
    refused("cut.csv.bz2", bzip2);
}

#[test]
fn skipping_keeps_what_stood_before_the_damage() {
    let whole = gzip(table(20_000).as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.csv.gz");
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let (report, batches) = ingest(&path, &skip());
    let report = report.unwrap();
    assert!(report.rows > 1000 && report.skipped >= 1, "{report:?}");
    assert!(report.files[0].skipped_reasons.iter().any(|reason| reason.contains("damaged")));
    assert_eq!(batches[0].claims, [], "a cut export is complete for nobody");
}

#[test]
fn a_line_of_a_gigabyte_is_refused_in_bounded_memory() {
    // 1 GiB as 64 members of 16 MiB: a few MiB on disk.
    let letters = gzip(&vec![b'a'; 16 << 20]);
    for (name, start) in [
        ("text.csv.gz", format!("{HEADER}\n")),
        ("quote.csv.gz", format!("{HEADER}\n{}\n\"", row(1))),
        ("object.json.gz", "{\"type\":\"block\",\"item_id\":\"1\",\"number\":1,\"extra\":\"".to_owned()),
        ("array.json.gz", "[{\"block_number\":1,\"block_hash\":\"\",\"timestamp\":1,\"author\":\"".to_owned()),
        ("tabs.tsv.gz", "block_id\ttransaction_hash\ttime\ttoken_address\tsender\trecipient\tvalue\n".to_owned()),
        ("header.csv.gz", "blockNumber,".to_owned()),
        ("nothing.gz", String::new()),
    ] {
        let mut content = gzip(start.as_bytes());
        for _ in 0..64 {
            content.extend_from_slice(&letters);
        }
        let error = refused(name, &content);
        assert!(error.len() < 2_000, "a message stays short: {} bytes", error.len());
    }
    if let Some(peak) = peak_memory() {
        assert!(peak < 900 << 20, "{} MiB", peak >> 20);
    }
}

#[test]
fn other_encodings_are_named() {
    let wide: Vec<u8> = table(3).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe], wide.as_slice()].concat();
    assert!(refused("wide.csv", &marked).contains("UTF-16"));
    let mut broken = table(3).into_bytes();
    let at = broken.len() - 60;
    broken[at] = 0xff;
    let error = refused("broken.csv", &broken);
    assert!(error.contains("line 4"), "{error}");
    // The same text with a byte order mark is read.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marked.csv");
    std::fs::write(&path, [b"\xef\xbb\xbf", table(3).as_bytes()].concat()).unwrap();
    assert_eq!(ingest(&path, &Options::default()).0.unwrap().rows, 3);
}

#[test]
fn numbers_that_are_none_are_errors_of_their_row() {
    let past_256_bits = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    for (value, column) in [
        ("-1", 5),
        ("NaN", 5),
        ("inf", 5),
        ("1.5", 5),
        (past_256_bits, 5),
        ("-5", 0),
        ("18446744073709551616", 0),
        ("99999999999999999999", 1),
        ("0x10", 8),
    ] {
        let mut cells: Vec<String> = row(2).split(',').map(str::to_owned).collect();
        value.clone_into(&mut cells[column]);
        let content = format!("{}\n{}\n", table(1), cells.join(","));
        let error = refused("numbers.csv", content.as_bytes());
        assert!(error.contains("line 3") && error.contains(&value[..2]), "{error}");
    }
    let short = refused("short.csv", format!("{}\n1,77,0x\n", table(1)).as_bytes());
    assert!(short.contains("line 3") && short.contains("3 fields") && short.contains("10 fields"), "{short}");
}

fn parquet_file(path: &Path, rows: usize) {
    let packed = WriterProperties::builder().set_compression(ParquetCompression::ZSTD(ZstdLevel::default()));
    write_parquet(path, &columns(rows), packed.build());
}

/// The columns of a table of that many rows.
fn columns(rows: usize) -> RecordBatch {
    let all: Vec<String> = (0..rows).map(row).collect();
    let mut cells: Vec<_> = all.iter().map(|row| row.split(',')).collect();
    let columns = HEADER.split(',').enumerate().map(|(place, name)| {
        let texts: Vec<&str> = cells.iter_mut().map(|cells| cells.next().unwrap()).collect();
        let column: ArrayRef = match place {
            0 => Arc::new(Int64Array::from_iter_values((0..rows).map(|number| i64::try_from(number).unwrap()))),
            _ => Arc::new(StringArray::from(texts)),
        };
        (name, column)
    });
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write_parquet(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_parquet_file_that_is_cut_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.parquet");
    parquet_file(&path, 500);
    let (report, batches) = ingest(&path, &Options::default());
    assert_eq!((report.unwrap().rows, batches[0].transactions.len()), (500, 500));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(folder.path().join("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    let (report, batches) = ingest(folder.path(), &skip());
    let report = report.unwrap();
    assert_eq!((report.rows, batches[0].transactions.len()), (500, 500), "the files beside it are read");
    assert!(report.left_out[0].reason.contains("cut.parquet"));
    for length in [4, 5, 12, whole.len() / 2, whole.len() - 1] {
        refused("cut.parquet", &whole[..length]);
    }
}

/// The bytes of a Parquet file of these columns, and where in them the column of senders begins.
fn senders(columns: &RecordBatch, properties: WriterProperties) -> (Vec<u8>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.parquet");
    write_parquet(&path, columns, properties);
    assert_eq!(ingest(&path, &Options::default()).0.unwrap().rows, u64::try_from(columns.num_rows()).unwrap());
    let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let (start, _) = file.metadata().row_group(0).column(3).byte_range();
    (std::fs::read(&path).unwrap(), usize::try_from(start).unwrap())
}

#[test]
fn page_with_a_false_size_is_refused() {
    // One page of more than 1 MiB of one address, so that its length takes four bytes in the header: 15, kind, 15, length.
    let columns = columns((1 << 20) / ACCOUNT.len());
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for (codec, most) in [
            (ParquetCompression::SNAPPY, 22),
            (ParquetCompression::GZIP(GzipLevel::default()), 1032),
            (ParquetCompression::ZSTD(ZstdLevel::default()), 1 << 15),
        ] {
            let properties = WriterProperties::builder().set_writer_version(version).set_compression(codec);
            let whole = properties.set_dictionary_enabled(false).set_encoding(Encoding::PLAIN);
            let whole = whole.set_data_page_size_limit(1 << 24).set_data_page_row_count_limit(usize::MAX).build();
            let (mut content, start) = senders(&columns, whole);
            let length = &mut content[start + 3..start + 7];
            assert!(length[2] >= 0x80 && length[3] < 0x80, "{length:x?}");
            length.copy_from_slice(&[0xfe, 0xff, 0xff, 0x7f]);
            let error = refused("claims.parquet", &content);
            assert!(error.contains(&format!("at byte {start}: column \"from\" of row group 0")), "{error}");
            assert!(error.contains("claims 134217727"), "{error}");
            let held: u64 = error.split("page of ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!(error.contains(&format!("at most {} come out", held * most)), "{error}");
        }
    }
}

#[test]
fn a_dictionary_that_claims_more_values_than_bytes_is_refused() {
    for codec in [ParquetCompression::UNCOMPRESSED, ParquetCompression::SNAPPY] {
        let (mut content, start) = senders(&columns(3), WriterProperties::builder().set_compression(codec).build());
        // The header of a dictionary is field 7, four past that of the length, and begins with its one value.
        let head = content[start..start + 16].windows(3).position(|bytes| bytes == [0x4c, 0x15, 2]).unwrap();
        content[start + head + 2] = 2 * 63;
        let error = refused("values.parquet", &content);
        assert!(error.contains(&format!("at byte {start}: column \"from\" of row group 0")), "{error}");
        assert!(error.contains("a dictionary of 46 bytes that claims 63 values"), "{error}");
    }
}

#[test]
fn a_page_header_that_cannot_be_followed_is_refused() {
    let (mut content, start) = senders(&columns(3), WriterProperties::builder().build());
    // A list of all the yes and no that a count of 32 bits allows, which takes no bytes and as many steps.
    let head = content[start..start + 16].windows(3).position(|bytes| bytes == [0x4c, 0x15, 2]).unwrap();
    content[start + head..start + head + 3].copy_from_slice(&[0xf9, 0xf2, 0xff]);
    let error = refused("list.parquet", &content);
    assert!(error.contains("a page whose header is none that is known"), "{error}");
}

#[test]
fn forged_bytes_in_a_parquet_file_never_crash() {
    std::panic::set_hook(Box::new(|_| {}));
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("whole.parquet");
    parquet_file(&path, 8);
    let whole = std::fs::read(&path).unwrap();
    let forged = folder.path().join("forged.parquet");
    let before = peak_memory();
    // Every byte of the footer and of the pages, as the largest and as another value; varints grow by a set top bit. One
    // of these after the other, or all of them in the long runs.
    let is_full = headwater_testkit::is_full();
    for at in 4..whole.len() {
        let values = [0xff, 0x80 | whole[at], whole[at].wrapping_add(1)];
        let values = if is_full { &values[..] } else { &values[at % 3..=at % 3] };
        for &value in values {
            let mut content = whole.clone();
            content[at] = value;
            std::fs::write(&forged, &content).unwrap();
            let (report, batches) = ingest(&forged, &Options::default());
            assert!(report.is_ok() || batches.is_empty(), "byte {at} as {value:#x}");
        }
    }
    // Long varints in a row forge sizes of up to 2^63.
    for at in (4..whole.len() - 12).step_by(if is_full { 3 } else { 9 }) {
        let mut content = whole.clone();
        content[at..at + 9].fill(0xff);
        std::fs::write(&forged, &content).unwrap();
        let _ = ingest(&forged, &Options::default());
    }
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(after - before < 900 << 20, "{} MiB", (after - before) >> 20);
    }
}
