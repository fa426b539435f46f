//! The lists of OFAC as CSV: `sdn.csv` and `cons_prim.csv`, with `sdn_comments.csv` and `cons_comments.csv`.
//!
//! There is no header. Wallets stand in the last column, the remarks, which OFAC cuts at 1,000 characters, inside an
//! address too; what was cut off is the text of the row of the same number in the file of comments.

use std::collections::HashMap;

use headwater_types::{Address, Chain};

use super::super::raw::RawLabels;
use super::ofac::{self, WALLET, listed};
use super::official::{Record, each_record, ticker, wrong};
use super::{Files, Format, Given};
use crate::source::{Content, Input, Probe};
use crate::{IngestError, Place};

pub(super) const FORMAT: Format = Format { files: Files::Together, ..ofac::format("ofac_csv", reads, read) };

const COLUMNS: usize = 12;
const NAME: usize = 1;
const REMARKS: usize = COLUMNS - 1;
/// An empty field.
const EMPTY: &str = "-0-";
/// Characters of the remarks that the main file keeps.
const KEPT: usize = 1_000;

fn reads(probe: &Probe) -> bool {
    let columns = probe.columns();
    let is_number = columns.first().is_some_and(|first| !first.is_empty() && first.bytes().all(|b| b.is_ascii_digit()));
    let is_main = columns.len() == COLUMNS && columns.iter().any(|column| column == EMPTY);
    *probe.content() == Content::Csv && is_number && (is_main || columns.len() == 2 && is_comments(probe.input()))
}

fn is_comments(input: &Input) -> bool {
    input.name().to_lowercase().contains("comments")
}

/// A party is known by its number in its list: one that is in both lists has one number.
#[derive(PartialEq, Eq, Hash)]
struct Party {
    is_consolidated: bool,
    number: String,
}

impl Party {
    fn of(input: &Input, record: &Record) -> Self {
        let is_consolidated = input.name().to_lowercase().contains("cons");
        Self { is_consolidated, number: record.field(0).trim().to_owned() }
    }
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut comments: HashMap<Party, String> = HashMap::new();
    for input in inputs(probes, true) {
        each_record(input, |record| {
            if record.len() < 2 {
                let seen = format!("{} fields", record.len());
                return Err(wrong(input, record.place, "row", &seen, "a number and a text"));
            }
            comments.entry(Party::of(input, record)).or_default().push_str(record.field(1));
            Ok(())
        })?;
    }
    let mut uncontinued = 0_u64;
    for input in inputs(probes, false) {
        each_record(input, |record| {
            if record.len() < COLUMNS {
                let seen = format!("{} fields", record.len());
                return Err(wrong(input, record.place, "row", &seen, "12 fields: the file may be cut off"));
            }
            let beginning = record.field(REMARKS);
            let rest = comments.remove(&Party::of(input, record));
            let is_cut = rest.is_none() && beginning.chars().count() >= KEPT;
            uncontinued += u64::from(is_cut);
            let remarks = format!("{beginning}{}", rest.unwrap_or_default());
            read_remarks(&remarks, is_cut, record.place, record.field(NAME), &mut labels);
            Ok(())
        })?;
        labels.end_file(input.path());
    }
    if uncontinued > 0 {
        labels.missing_file = Some("the file of comments");
        labels.warnings.push(format!(
            "{uncontinued} remarks are cut at 1,000 characters, and nothing continues them: import the file of comments too"
        ));
    }
    if !comments.is_empty() {
        labels.warnings.push(format!("{} comments belong to no party of these files", comments.len()));
    }
    Ok(labels)
}

fn inputs(probes: &[Probe], comments: bool) -> impl Iterator<Item = &Input> {
    probes.iter().map(Probe::input).filter(move |input| is_comments(input) == comments)
}

/// The wallets among remarks such as `DOB 01 Jan 1980; Digital Currency Address - XBT 1Ced5...; alt. Digital Currency
/// Address - XBT bc1q3...; Linked To: OTHERS.`
fn read_remarks(remarks: &str, is_cut: bool, place: Place, name: &str, labels: &mut RawLabels) {
    let mut wallets = remarks.split(WALLET).skip(1).peekable();
    while let Some(wallet) = wallets.next() {
        let (wallet, is_ended) = match wallet.split_once(';') {
            Some((wallet, _)) => (wallet, true),
            None => (wallet, wallets.peek().is_some() || wallet.trim_end().ends_with('.')),
        };
        let wallet = wallet.trim_start_matches([' ', '-']).trim_end_matches([' ', '.', '\u{1a}']);
        let (coin, address) = wallet.split_once(char::is_whitespace).unwrap_or((wallet, ""));
        if is_cut && !is_ended && !is_whole(address) {
            labels.cut += 1;
            labels.warnings.push(format!("{place}: the remarks are cut inside an address, {address:?}"));
        } else {
            labels.claims.push(listed(place, address.trim(), ticker(Some(coin)), Some(name)));
        }
    }
}

/// Whether a text is all of an address: its length or its checksum says so.
fn is_whole(address: &str) -> bool {
    [Chain::ETHEREUM, Chain::BITCOIN, Chain::TRON].iter().any(|chain| Address::parse(*chain, address).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    /// One party with these remarks.
    fn row(number: u32, name: &str, remarks: &str) -> String {
        format!("{number},\"{name}\",-0- ,\"DPRK3] [CYBER2\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,{remarks}\r\n")
    }

    /// Remarks that the main file cuts behind their last words.
    fn cut(last: &str) -> String {
        format!("\"{}{last}\"", "x; ".repeat(400).chars().take(KEPT - last.chars().count()).collect::<String>())
    }

    #[test]
    fn wallets_stand_among_the_remarks() {
        let remarks = "\"DOB 01 Jan 1980; Digital Currency Address - XBT 1Ced5NDTrxeU4Qu8ttpFHBmUtn4Ft21Sw3; alt. Digital \
                       Currency Address - USDT 0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b; Secondary sanctions risk: \
                       none; Digital Currency Address - LTC LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp.\"";
        let list =
            [row(90_001, "DOE, Example", remarks), row(90_003, "EXAMPLE SHIP", "-0- "), "\u{1a}".into()].concat();
        let labels = read(&FORMAT, &[("sdn.csv", &list)]).unwrap();
        let expected = [
            ("1Ced5NDTrxeU4Qu8ttpFHBmUtn4Ft21Sw3", "XBT"),
            ("0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b", "USDT"),
            ("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp", "LTC"),
        ];
        assert_eq!(addresses(&labels), expected);
        assert_eq!(rows(&labels)[0].2, Some("DOE, Example"));
        assert_eq!((labels.claims[0].place, &*labels.claims[0].concepts[0]), (Some(Place::Line(1)), "sanction"));
        assert_eq!((labels.cut, labels.warnings.len()), (0, 0));
    }

    #[test]
    fn cut_remarks_go_on_in_the_comments_with_nothing_between() {
        let list = [
            row(91_001, "DOE, Cut", &cut("Digital Currency Address - XBT 3H66KSK8NjLRgKr7Hcox")),
            row(91_002, "EXAMPLE MIXER", &cut("Digital Currency ")),
        ];
        let comments = "91001,\"TfuZt7gniJFK5k; alt. Digital Currency Address - XBT \
                        bc1q0pjqr6yc9qk9cpa28ygc3pecszmwvdxgly3w09; Linked To: EXAMPLE GROUP.\"\r\n91002,\"Address - ETH \
                        0x7330C536024389edB93b629AEc8a214c391C2581; Organization Type: Other.\"\r\n\u{1a}";
        let labels = read(&FORMAT, &[("sdn.csv", &list.concat()), ("sdn_comments.csv", comments)]).unwrap();
        let expected = [
            ("3H66KSK8NjLRgKr7HcoxTfuZt7gniJFK5k", "XBT"),
            ("bc1q0pjqr6yc9qk9cpa28ygc3pecszmwvdxgly3w09", "XBT"),
            ("0x7330C536024389edB93b629AEc8a214c391C2581", "ETH"),
        ];
        assert_eq!(addresses(&labels), expected);
        assert_eq!((labels.cut, labels.warnings.len()), (0, 0));
    }

    #[test]
    fn an_address_that_is_cut_is_counted_and_never_guessed() {
        let list = [
            row(91_003, "EXAMPLE CUT", &cut("Digital Currency Address - XBT 3HZU5KTsd6L4")),
            row(91_004, "WHOLE", &cut("Digital Currency Address - XBT 19kdt5n322MwZZoWxT6ZT7ZYiKc1UmGYZW")),
            row(91_005, "ENDED", &cut("Digital Currency Address - LTC LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp.")),
            row(91_006, "CUT", &cut("Digital Currency Address - LTC LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp")),
            row(91_007, "CUT", &cut("Digital Currency Address - ")),
        ];
        // Comments of the other list belong to other parties.
        let comments = "91003,\"and more.\"\r\n";
        let labels = read(&FORMAT, &[("sdn.csv", &list.concat()), ("cons_comments.csv", comments)]).unwrap();
        let expected = [("19kdt5n322MwZZoWxT6ZT7ZYiKc1UmGYZW", "XBT"), ("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp", "LTC")];
        assert_eq!(addresses(&labels), expected);
        assert_eq!(labels.cut, 3);
        assert!(labels.warnings.iter().any(|warning| warning.contains("5 remarks are cut")), "{:?}", labels.warnings);
        assert!(labels.warnings.iter().any(|warning| warning.contains("1 comments belong to no party")));
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let list = [row(90_001, "DOE", "-0- "), "90002,\"DOE\",-0- ".into()].concat();
        let error = read(&FORMAT, &[("sdn.csv", &list)]).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("12 fields"), "{error}");
    }
}
