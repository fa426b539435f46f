//! Headers of the pages of a Parquet file, looked at before the pages are read: the reader makes room for as much as a
//! header claims, and fills it, before it sees how little there is.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use parquet::arrow::ProjectionMask;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::IngestError;
use crate::error::Place;
use crate::source::Input;

/// Records that may stand within each other. Those of page headers are two deep.
const MAX_DEPTH: u8 = 8;

/// Refuses columns with a page that claims more than can come out of its bytes. Takes one short read a page. The columns
/// must lie inside the file.
pub(super) fn check_pages(
    input: &Input,
    metadata: &ParquetMetaData,
    mask: &ProjectionMask,
    groups: impl IntoIterator<Item = usize>,
) -> Result<(), IngestError> {
    let mut file = BufReader::new(input.file()?);
    for group in groups {
        let columns = metadata.row_group(group).columns().iter().enumerate();
        for (_, column) in columns.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            if let Some((byte, what)) = forged_page(&mut file, column).map_err(|error| input.io(error))? {
                let what = format!("column {} of row group {group} has {what}", column.column_path());
                return Err(input.damaged(Some(Place::Byte(byte)), what));
            }
        }
    }
    Ok(())
}

/// Where the first page stands that cannot be what it claims, and what it claims. What is no page at all ends the look:
/// nothing is made room for, and it is an error when it is read.
fn forged_page(file: &mut BufReader<File>, column: &ColumnChunkMetaData) -> io::Result<Option<(u64, String)>> {
    let (start, length) = column.byte_range();
    let mut left = length;
    file.seek(SeekFrom::Start(start))?;
    while left > 0 {
        let at = start + (length - left);
        let mut bytes = file.by_ref().take(left);
        let page = match PageHeader::read(&mut bytes) {
            Ok(page) => page,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Some((at, error.to_string()))),
            Err(_) => return Ok(None),
        };
        let rest = u64::try_from(page.held).ok().and_then(|held| bytes.limit().checked_sub(held));
        let Some(rest) = rest.filter(|_| page.claimed >= 0) else { return Ok(None) };
        if let Some(what) = page.forged(column) {
            return Ok(Some((at, what)));
        }
        file.seek_relative(i64::from(page.held))?;
        left = rest;
    }
    Ok(None)
}

/// The greatest number of bytes that come out of a compressed one.
fn expansion(codec: Compression) -> i64 {
    match codec {
        Compression::UNCOMPRESSED => 1,
        // A copy of 64 bytes takes 3.
        Compression::SNAPPY => 22,
        // A copy of 258 bytes takes 2 bits.
        Compression::GZIP(_) => 1032,
        // A block of 128 KiB takes 4.
        Compression::ZSTD(_) => 1 << 15,
        // A byte of a length stands for 255 bytes.
        Compression::LZ4 | Compression::LZ4_RAW => 256,
        // A block of 16 MiB takes less than 16.
        Compression::BROTLI(_) => 1 << 21,
        // Not read at all.
        Compression::LZO => i64::MAX,
    }
}

/// A page header, as far as it is looked at: `PageHeader` of parquet.thrift, in the compact protocol of Thrift. What is
/// not there is below zero.
struct PageHeader {
    /// Bytes when it is decompressed.
    claimed: i32,
    /// Bytes as they lie in the file.
    held: i32,
    /// Values of a dictionary.
    values: i32,
}

impl PageHeader {
    /// Fields are read by their number, whatever kind they are said to be: so does the reader that comes after.
    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut page = Self { claimed: -1, held: -1, values: -1 };
        each_field(from, |from, field, kind| match field {
            1 | 4 => number(from).map(drop),
            2 => number(from).map(|bytes| page.claimed = bytes),
            3 => number(from).map(|bytes| page.held = bytes),
            5 => first_number(from, 4).map(drop),
            6 => first_number(from, 0).map(drop),
            7 => first_number(from, 2).map(|values| page.values = values),
            8 => first_number(from, 6).map(drop),
            _ => skip(from, kind, MAX_DEPTH),
        })?;
        Ok(page)
    }

    /// Describes an impossible claim.
    fn forged(&self, column: &ColumnChunkMetaData) -> Option<String> {
        let (claimed, held) = (i64::from(self.claimed), i64::from(self.held));
        let most = held.saturating_mul(expansion(column.compression()));
        // One that is not compressed is as long as it is.
        let bytes = if column.compression() == Compression::UNCOMPRESSED { held } else { claimed };
        if bytes > most {
            return Some(format!("a page of {held} bytes that claims {claimed}, of which at most {most} come out"));
        }
        let values = if column.column_type() == Type::BOOLEAN { bytes * 8 } else { bytes };
        let is_forged = i64::from(self.values) > values;
        is_forged.then(|| format!("a dictionary of {bytes} bytes that claims {} values", self.values))
    }
}

/// Reads a record whose fields up to `last` are whole numbers; gives the first one.
fn first_number<R: Read>(from: &mut R, last: i16) -> io::Result<i32> {
    let mut first = -1;
    each_field(from, |from, field, kind| match field {
        _ if !(1..=last).contains(&field) => skip(from, kind, MAX_DEPTH),
        1 => number(from).map(|value| first = value),
        _ => number(from).map(drop),
    })?;
    Ok(first)
}

/// Goes through a record: `handle` takes number and kind of each field, and reads it.
fn each_field<R: Read>(from: &mut R, mut handle: impl FnMut(&mut R, i16, u8) -> io::Result<()>) -> io::Result<()> {
    let mut field = 0_i16;
    loop {
        let head = byte(from)?;
        let (step, kind) = (head >> 4, head & 0x0f);
        if kind == 0 {
            return Ok(());
        }
        field = match step {
            0 => i16::try_from(number(from)?).map_err(|_| unknown())?,
            step => field.saturating_add(i16::from(step)),
        };
        handle(from, field, kind)?;
    }
}

/// Passes over a field. No page header has lists.
fn skip<R: Read>(from: &mut R, kind: u8, depth: u8) -> io::Result<()> {
    let bytes = match kind {
        // Yes and no stand in the kind.
        1 | 2 => 0,
        3 => 1,
        4..=6 => return varint(from).map(drop),
        7 => 8,
        8 => varint(from)?,
        12 if depth > 0 => return each_field(from, |from, _, kind| skip(from, kind, depth - 1)),
        _ => return Err(unknown()),
    };
    io::copy(&mut from.take(bytes), &mut io::sink()).map(drop)
}

/// A whole number of 32 bits: 0, -1, 1, -2 and so on as 0, 1, 2, 3.
fn number(from: &mut impl Read) -> io::Result<i32> {
    let folded = u32::try_from(varint(from)?).map_err(|_| unknown())?;
    Ok((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
}

/// A whole number in groups of 7 bits, the lowest first; all but the last have their top bit set.
fn varint(from: &mut impl Read) -> io::Result<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = byte(from)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(unknown())
}

fn byte(from: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    Ok(byte[0])
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a page whose header is none that is known")
}
