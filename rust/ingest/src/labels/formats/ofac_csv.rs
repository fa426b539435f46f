//! The lists of OFAC as CSV: `sdn.csv` and `cons_prim.csv`, with `sdn_comments.csv` and `cons_comments.csv`. The same rows
//! with other marks between their fields are `sdn.pip` (`|`) and `sdn.del` (`@`).
//!
//! There is no header. Wallets stand in the last column, the remarks, which OFAC cuts at 1,000 characters, inside an
//! address too; what was cut off is the text of the row of the same number in the file of comments.

use std::collections::HashMap;

use headwater_types::{Address, Chain};

use super::super::raw::RawLabels;
use super::ofac::{self, WALLET, listed};
use super::official::{Record, each_divided_record, ticker, wrong};
use super::{Files, Format, Given};
use crate::source::{Input, Probe};
use crate::{IngestError, Place};

pub(super) const FORMAT: Format = Format { files: Files::Together, ..ofac::format("ofac_csv", reads, read) };

const COLUMNS: usize = 12;
const NAME: usize = 1;
const REMARKS: usize = COLUMNS - 1;
/// An empty field.
const EMPTY: &str = "-0-";
/// Characters of the remarks that the main file keeps.
const KEPT: usize = 1_000;

/// The separators of fields: in CSV, in `.pip` and in `.del`.
const DELIMITERS: [u8; 3] = *b",|@";

fn reads(probe: &Probe) -> bool {
    delimiter_of(probe).is_some()
}

/// Returns the separator of the fields of a file; `None` if its first row is not one of OFAC's.
fn delimiter_of(probe: &Probe) -> Option<u8> {
    let is_ours = |delimiter: &u8| {
        let Some(first) = first_record(probe.head(), *delimiter) else { return false };
        let is_number = first.get(0).is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
        let is_main = first.len() == COLUMNS && first.iter().any(|field| field.trim() == EMPTY);
        is_number && (is_main || first.len() == 2 && is_comments(probe.input()))
    };
    DELIMITERS.into_iter().find(is_ours)
}

fn first_record(head: &[u8], delimiter: u8) -> Option<csv::StringRecord> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut rows = csv::ReaderBuilder::new();
    let mut reader = rows.has_headers(false).flexible(true).delimiter(delimiter).from_reader(head);
    let first = reader.byte_records().next()?.ok()?;
    Some(csv::StringRecord::from_byte_record_lossy(first))
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
    for (input, delimiter) in inputs(probes, true) {
        each_divided_record(input, delimiter, |record| {
            if record.len() < 2 {
                let seen = format!("{} fields", record.len());
                return Err(wrong(input, record.place, "row", &seen, "a number and a text"));
            }
            comments.entry(Party::of(input, record)).or_default().push_str(record.field(1));
            Ok(())
        })?;
    }
    let mut uncontinued = 0_u64;
    for (input, delimiter) in inputs(probes, false) {
        each_divided_record(input, delimiter, |record| {
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

/// The files of comments, or the others, with what divides their fields.
fn inputs(probes: &[Probe], comments: bool) -> impl Iterator<Item = (&Input, u8)> {
    let divided = |probe| (Probe::input(probe), delimiter_of(probe).unwrap_or(b','));
    probes.iter().map(divided).filter(move |(input, _)| is_comments(input) == comments)
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

/// Returns true if a text is all of an address: its length or its checksum says so.
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
    fn the_same_rows_may_have_other_marks_between_their_fields() {
        for (name, mark) in [("pip", '|'), ("del", '@')] {
            let list = format!(
                "90001{mark}\"DOE, Example\"{mark}-0- {mark}\"CYBER2\"{mark}-0- {mark}-0- {mark}-0- {mark}-0- {mark}-0- {mark}-0- \
                 {mark}-0- {mark}\"Email a@b.example; Digital Currency Address - XBT 1Ced5NDTrxeU4Qu8ttpFHBmUtn4Ft21Sw3; alt.\"\r\n\u{1a}"
            );
            let comments = format!(
                "90001{mark}\" Digital Currency Address - ETH 0x7330C536024389edB93b629AEc8a214c391C2581.\"\r\n"
            );
            let files = [(format!("sdn.{name}"), list), (format!("sdn_comments.{name}"), comments)];
            let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
            let labels = read(&FORMAT, &files).unwrap();
            let expected =
                [("1Ced5NDTrxeU4Qu8ttpFHBmUtn4Ft21Sw3", "XBT"), ("0x7330C536024389edB93b629AEc8a214c391C2581", "ETH")];
            assert_eq!(addresses(&labels), expected, "{name}");
            assert_eq!(rows(&labels)[1].2, Some("DOE, Example"));
            assert!(labels.warnings.is_empty(), "{:?}", labels.warnings);
        }
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
