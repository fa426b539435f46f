//! Lists of the holders of a token with their balances at a block: what a block explorer exports, or an airdrop lists.
//!
//! A list knows neither its token nor its block: `--contract`, `--at-block` and, where the store does not hold the block,
//! `--at-time` say so. Balances are in the smallest unit, or with `--decimals` in whole ones.

use std::collections::HashSet;

use headwater_ledger::facts::{TokenFacts, opening};
use headwater_types::{Address, Amount, Chain, Timestamp};

use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError};
use crate::source::{Content, Probe, Row, each_row, each_row_under, plain_decimal, ungrouped};
use crate::{IngestError, Options, Sink};

/// Names of the column of holders, in lowercase.
const HOLDERS: [&str; 6] = ["holderaddress", "holder", "address", "wallet", "account", "addr"];
/// Names of the column of balances, in lowercase.
const BALANCES: [&str; 5] = ["balance", "balance_raw", "amount", "quantity", "value"];

pub(super) struct HolderSnapshot;

impl Format for HolderSnapshot {
    fn name(&self) -> &'static str {
        "holder-snapshot"
    }

    fn describe(&self) -> &'static str {
        "addresses and balances of one token at a block (CSV with or without a header, JSON lines, Parquet): opening \
         balances; takes --contract, --at-block, --at-time, --decimals"
    }

    fn is_meant(&self, options: &Options) -> bool {
        options.snapshot.contract.is_some()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let layout = Layout::of(probe)?;
        let chain = match layout.seen.as_deref() {
            Some(text) if Address::parse(Chain::TRON, text).is_ok() => Chain::TRON,
            Some(_) | None => Chain::ETHEREUM,
        };
        Some(Sniffed { chain: SniffedChain::Usually(chain), table: 0, rank: 9, first_block: None })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let probe = Probe::new(job.input.clone())?;
        let layout = Layout::of(&probe).ok_or(IngestError::MissingColumn {
            path: job.input.path().to_owned(),
            column: "balance",
            format: "holder-snapshot",
        })?;
        let (chain, decimals) = (sink.chain(), sink.options().snapshot.decimals);
        let (contract, block, time) = place(job, sink)?;
        let (mut balances, mut seen) = (Vec::new(), HashSet::new());
        let Layout { holder, balance, has_names, .. } = &layout;
        let row = |row: &Row<'_>, _: &mut Sink<'_>| {
            let who = row.address(holder, chain)?;
            let who = who.ok_or_else(|| FieldError::new(holder, None, format!("an address of {chain}")))?;
            let text = row.text(balance)?;
            let held = text.as_deref().and_then(|text| amount(text, decimals));
            let held = held.ok_or_else(|| FieldError::new(balance, text.as_deref(), expected(decimals)))?;
            if !seen.insert(who) {
                return Err(FieldError::new(holder, Some(&who.to_string()), "every address once").into());
            }
            balances.push((who, held));
            Ok::<(), Fault>(())
        };
        let columns = [&**holder, &**balance];
        if *has_names {
            each_row(&job.input, &job.content, &columns, sink, row)?;
        } else {
            each_row_under(&job.input, &columns, sink, row)?;
        }
        if let Some(decimals) = decimals {
            let decimals = Some(decimals);
            sink.token(TokenFacts { contract, symbol: None, name: None, decimals, is_non_fungible: false });
        }
        for part in opening(chain, contract, block, time, balances)? {
            sink.transaction(part);
            sink.boundary()?;
        }
        Ok(())
    }
}

/// The columns of a list.
struct Layout {
    holder: String,
    balance: String,
    /// True if the first line names them; else it is the first row, and they are named here.
    has_names: bool,
    /// A holder, where one was seen.
    seen: Option<String>,
}

impl Layout {
    fn of(probe: &Probe) -> Option<Self> {
        let is_table = matches!(probe.content(), Content::Csv | Content::Tsv | Content::Json | Content::Parquet);
        let named = |names: &[&str]| {
            let column = |name: &&str| probe.columns().iter().find(|column| column.to_lowercase() == **name).cloned();
            names.iter().find_map(column)
        };
        if !is_table {
            return None;
        }
        if let (Some(holder), Some(balance)) = (named(&HOLDERS), named(&BALANCES)) {
            let seen = probe.first(&holder).map(str::to_owned);
            return Some(Self { holder, balance, has_names: true, seen });
        }
        let [holder, balance] = probe.columns() else { return None };
        let is_address = [Chain::ETHEREUM, Chain::TRON].iter().any(|chain| Address::parse(*chain, holder).is_ok());
        let is_number = balance.starts_with(|letter: char| letter.is_ascii_digit())
            && balance.chars().all(|letter| letter.is_ascii_digit() || ".,eE+-".contains(letter));
        let (seen, holder, balance) = (Some(holder.clone()), "address".to_owned(), "balance".to_owned());
        (is_address && is_number).then_some(Self { holder, balance, has_names: false, seen })
    }
}

/// Token, block and time of a list, as the caller says.
fn place(job: &Job, sink: &mut Sink<'_>) -> Result<(Address, u64, Timestamp), IngestError> {
    let missing = |option: &'static str, why: String| IngestError::MissingOption {
        path: job.input.path().to_owned(),
        option,
        why,
    };
    let (chain, options) = (sink.chain(), sink.options().snapshot.clone());
    let contract =
        options.contract.ok_or_else(|| missing("--contract", "a list of holders does not name its token".into()))?;
    let contract = Address::parse(chain, &contract).map_err(|error| missing("--contract", error.to_string()))?;
    let block = options.at_block.ok_or_else(|| {
        missing("--at-block", "a list of holders does not tell the block that its balances are of".into())
    })?;
    let time = match options.at_time {
        Some(time) => Some(time),
        None => sink.block_time(block)?,
    };
    let time = time.ok_or_else(|| {
        missing(
            "--at-time",
            format!("the store does not hold block {block} of {chain}: give its time in epoch seconds"),
        )
    })?;
    Ok((contract, block, time))
}

fn expected(decimals: Option<u8>) -> String {
    match decimals {
        Some(decimals) => format!("a balance with at most {decimals} decimals"),
        None => "an integer in the smallest unit; give --decimals for balances in whole units".to_owned(),
    }
}

/// A balance in the smallest unit. With decimals it is in whole units, and may have thousands marks and an exponent.
fn amount(text: &str, decimals: Option<u8>) -> Option<Amount> {
    let text = text.trim();
    let Some(decimals) = decimals else { return Amount::parse_raw(text).ok() };
    Amount::parse_decimal(&plain_decimal(&ungrouped(text)?)?, decimals).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_are_read_exactly_or_not_at_all() {
        let of = |text: &str| amount(text, Some(18)).map(|amount| amount.to_string());
        assert_eq!(of("3E-18").as_deref(), Some("3"));
        assert_eq!(of("1,234.5").as_deref(), Some("1234500000000000000000"));
        assert_eq!(of("0.5e1").as_deref(), Some("5000000000000000000"));
        assert_eq!(of("30E-19").as_deref(), Some("3"));
        assert_eq!(of("0").as_deref(), Some("0"));
        for text in ["3E-19", "", "x", "-1", "1.2.3", "1e999", ".", "0,5", "1,23"] {
            assert_eq!(of(text), None, "{text:?}");
        }
        assert_eq!(amount("12", None), Some(Amount::from(12)));
        assert_eq!((amount("1.5", None), amount("1E3", None)), (None, None));
    }

    fn read(lines: &str, snapshot: crate::SnapshotOptions, named: bool) -> Result<crate::IngestReport, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("holders.csv");
        std::fs::write(&path, lines).unwrap();
        std::fs::write(folder.path().join("blocks.csv"), "number,hash,parent_hash,timestamp,gas_limit\n5,,,9,1\n")
            .unwrap();
        let options = Options { snapshot, ..Options::default() };
        let paths = if named { vec![path, folder.path().to_owned()] } else { vec![folder.path().to_owned()] };
        let mut target = crate::Gathered::default();
        crate::ingest_into(&paths, &options, &mut target, &crate::Silent, &headwater_ledger::Cancel::new())
    }

    const HOLDER: &str = "0x00000000000000000000000000000000000000aa";

    #[test]
    fn an_address_that_stands_twice_is_named_with_its_line() {
        let snapshot = crate::SnapshotOptions {
            contract: Some("0x00000000000000000000000000000000000000cc".to_owned()),
            at_block: Some(5),
            ..crate::SnapshotOptions::default()
        };
        let error = read(&format!("{HOLDER},1\n{HOLDER},1\n"), snapshot, false).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains(HOLDER) && error.contains("once"), "{error}");
    }

    #[test]
    fn list_in_a_folder_is_skipped_without_a_token() {
        let report = read(&format!("address,balance\n{HOLDER},1\n"), crate::SnapshotOptions::default(), false).unwrap();
        assert_eq!((report.files.len(), report.left_out.len()), (1, 1));
        let error = read(&format!("{HOLDER},1\n"), crate::SnapshotOptions::default(), true).unwrap_err().to_string();
        assert!(error.contains("holders.csv needs --contract"), "{error}");
    }
}
