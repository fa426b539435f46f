//! Parquet: tables of the columns of an account's transactions, in several encodings.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::evm::{A, B, hash};
use super::imported;
use crate::fuzz::reader;

fn file(rows: u8, compression: Compression) -> Vec<u8> {
    let numbers = |start: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(start..start + i64::from(rows))) };
    let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value; usize::from(rows)])) };
    let repeated = |value: &str| -> ArrayRef {
        Arc::new(std::iter::repeat_n(value, usize::from(rows)).collect::<DictionaryArray<Int32Type>>())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("blockNumber", numbers(5)),
        ("timeStamp", numbers(1_600_000_000)),
        ("hash", Arc::new((0..rows).map(|row| Some(hash(row))).collect::<StringArray>())),
        ("from", repeated(A)),
        ("to", text(B)),
        ("value", text("340282366920938463463374607431768211456")),
        ("gas", text("21000")),
        ("gasPrice", text("1")),
        ("gasUsed", text("21000")),
        ("isError", text("0")),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn parquet_of_every_compression() {
    let samples = [
        file(3, Compression::UNCOMPRESSED),
        file(20, Compression::SNAPPY),
        file(20, Compression::ZSTD(ZstdLevel::default())),
        file(20, Compression::GZIP(GzipLevel::default())),
        file(20, Compression::BROTLI(BrotliLevel::default())),
        file(20, Compression::LZ4),
        file(20, Compression::LZ4_RAW),
    ];
    let words: [&[u8]; 4] = [b"PAR1", &[0xff; 9], &[0x28, 0xb5, 0x2f, 0xfd], &[0x80; 4]];
    imported(reader("parquet").samples(samples).words(words), "table.parquet");
}
