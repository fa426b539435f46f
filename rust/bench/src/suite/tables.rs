//! The rows as plain columns on disk, from which every peer builds what it likes best.
//!
//! `postings/` has both sides of every transfer, sorted by account and time, accounts and tokens as integers: the
//! best case. `transfers/` has the transfers in order of time, with text addresses in `addresses.txt`: the usual case.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Result;
use super::error::doing;
use super::oracle::row_of;
use crate::generator::{Generator, Ranks, STABLECOINS, holder_balances, token_decimals};

/// Writes both tables and the balances of the holders preset, unless they are there.
///
/// # Errors
/// When they cannot be written.
pub fn write(generator: &Generator, ranks: &Ranks, holders: usize, folder: &Path) -> Result<()> {
    // The number grows with what is written, so that folders of earlier versions are written anew.
    let ready = folder.join("ready.2");
    if ready.exists() {
        return Ok(());
    }
    write_transfers(generator, ranks, &folder.join("transfers"))?;
    write_postings(generator, ranks, &folder.join("postings"))?;
    Columns::new(&folder.join("holders"))?.put("balance.i128", &holder_balances(holders), u128::to_le_bytes)?;
    fs::write(&ready, "").map_err(doing("marking the tables as ready"))
}

struct Columns {
    folder: PathBuf,
}

impl Columns {
    fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(doing(format!("making {}", folder.display())))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn open(&self, name: &str) -> Result<BufWriter<File>> {
        let path = self.folder.join(name);
        let file = File::create(&path).map_err(doing(format!("making {}", path.display())))?;
        Ok(BufWriter::with_capacity(1 << 20, file))
    }

    fn put<T: Copy, const N: usize>(&self, name: &str, values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Result<()> {
        let mut file = self.open(name)?;
        for &value in values {
            file.write_all(&bytes(value)).map_err(doing("writing a column"))?;
        }
        file.flush().map_err(doing("writing a column"))
    }
}

fn write_transfers(generator: &Generator, ranks: &Ranks, folder: &Path) -> Result<()> {
    let columns = Columns::new(folder)?;
    let mut files = Vec::new();
    for name in ["from.u32", "to.u32", "time.u32", "token.u8", "amount.i128"] {
        files.push(columns.open(name)?);
    }
    for number in 0..generator.preset().chunks() {
        let chunk = generator.chunk(number);
        for place in 0..chunk.len() {
            let row = row_of(&chunk, place, ranks, true);
            let to = ranks.account(chunk.to[place]);
            let cells: [&[u8]; 5] =
                [&row.1.to_le_bytes(), &to.to_le_bytes(), &row.0.to_le_bytes(), &[row.2], &row.4.to_le_bytes()];
            for (file, cell) in files.iter_mut().zip(cells) {
                file.write_all(cell).map_err(doing("writing a column"))?;
            }
        }
    }
    for mut file in files {
        file.flush().map_err(doing("writing a column"))?;
    }
    let mut addresses = columns.open("addresses.txt")?;
    for rank in (0..).take(ranks.len()) {
        let address = headwater_types::Address::Evm(ranks.address_at(rank));
        writeln!(addresses, "{address}").map_err(doing("writing the addresses"))?;
    }
    addresses.flush().map_err(doing("writing the addresses"))
}

/// Sorts by counting: the place of every account is known from its degree.
fn write_postings(generator: &Generator, ranks: &Ranks, folder: &Path) -> Result<()> {
    let columns = Columns::new(folder)?;
    let preset = generator.preset();
    let mut starts = vec![0_usize; ranks.len() + 1];
    let chunks = || (0..preset.chunks()).map(|number| generator.chunk(number));
    for chunk in chunks() {
        for (&from, &to) in chunk.from.iter().zip(&chunk.to) {
            starts[ranks.account(to) as usize + 1] += 1;
            if from != to {
                starts[ranks.account(from) as usize + 1] += 1;
            }
        }
    }
    for place in 1..starts.len() {
        starts[place] += starts[place - 1];
    }
    let total = starts.last().copied().unwrap_or(0);
    let mut next = starts;
    let (mut account, mut row, mut other, mut time) =
        (vec![0_u32; total], vec![0_u32; total], vec![0_u32; total], vec![0_u32; total]);
    let mut large = Vec::new();
    let (mut token, mut direction, mut amount) = (vec![0_u8; total], vec![0_u8; total], vec![0_u128; total]);
    for chunk in chunks() {
        for place in 0..chunk.len() {
            let sides = [(chunk.to[place], true), (chunk.from[place], false)];
            let count = if chunk.from[place] == chunk.to[place] { 1 } else { 2 };
            for &(id, incoming) in &sides[..count] {
                let rank = ranks.account(id);
                let at = next[rank as usize];
                next[rank as usize] += 1;
                let posting = row_of(&chunk, place, ranks, incoming);
                account[at] = rank;
                row[at] = u32::try_from(chunk.first_row).unwrap_or(u32::MAX) + u32::try_from(place).unwrap_or(0);
                (time[at], other[at], token[at], direction[at], amount[at]) =
                    (posting.0, posting.1, posting.2, posting.3, posting.4);
                if chunk.high_at(place) > 0 {
                    large.push(u32::try_from(at).unwrap_or(u32::MAX));
                }
            }
        }
    }
    for (name, column) in [("account.u32", &account), ("row.u32", &row), ("other.u32", &other), ("time.u32", &time)] {
        columns.put(name, column, u32::to_le_bytes)?;
    }
    // Places of the amounts that peers hold modulo 2^128.
    columns.put("large.u32", &large, u32::to_le_bytes)?;
    let stablecoins = STABLECOINS.map(|token| (ranks.token(token), token_decimals(token.into())));
    let stablecoins = serde_json::json!(stablecoins.collect::<Vec<_>>());
    fs::write(folder.join("stablecoins.json"), stablecoins.to_string()).map_err(doing("writing the stablecoins"))?;
    columns.put("token.u8", &token, u8::to_le_bytes)?;
    columns.put("direction.u8", &direction, u8::to_le_bytes)?;
    columns.put("amount.i128", &amount, u128::to_le_bytes)
}
