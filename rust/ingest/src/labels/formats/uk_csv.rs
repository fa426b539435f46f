//! The sanctions list of the United Kingdom as CSV: `UK-Sanctions-List.csv`, and `ConList.csv`, which ended in January
//! 2026 and has other names for some columns.
//!
//! A line with the date of the report stands above the header. There is a row for each name of a party and no column for
//! wallets: they stand in the text of other columns.

use headwater_ledger::labels::{Code, Level};
use headwater_types::Timestamp;

use super::super::raw::{RawClaim, RawDateBasis, RawLabels, Vocabulary};
use super::official::{Dates, Parties, Rank, Record, claim, date, each_record, first_date, month, wrong};
use super::running_text::addresses_in;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::source::{Input, Probe, plain_number};

pub(super) const FORMAT: Format = Format {
    name: "uk_csv",
    source: "uk",
    group: "uk",
    level: Level::SanctionsList,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: true,
    files: Files::Together,
    reads,
    read,
};

const PARTY: [&str; 2] = ["Unique ID", "Group ID"];
const DESIGNATED: [&str; 3] = ["Date Designated", "UK Sanctions List Date Designated", "Listed On"];
/// The parts of a name in their order; the last is the family name, or the name of a company.
const NAMES: [&str; 6] = ["Name 1", "Name 2", "Name 3", "Name 4", "Name 5", "Name 6"];
const NAME_TYPE: [&str; 2] = ["Name type", "Alias Type"];
const PRIMARY: &str = "Primary Name";
const TEXTS: [&str; 2] = ["Other Information", "UK Statement of Reasons"];

/// Lines up to which the header stands.
const FIRST_LINES: usize = 5;

fn reads(probe: &Probe) -> bool {
    let first: Vec<&[u8]> = probe.head().split(|byte| *byte == b'\n').take(FIRST_LINES).collect();
    let has = |line: &[u8], name: &str| line.windows(name.len()).any(|part| part == name.as_bytes());
    let is_header = |line: &[u8]| {
        let has_any = |names: &[&str]| names.iter().any(|name| has(line, name));
        has_any(&PARTY) && has_any(&DESIGNATED) && has(line, TEXTS[0]) && has(line, NAMES[5])
    };
    first.iter().any(|line| is_header(line))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut parties = Parties::default();
    for input in probes.iter().map(Probe::input) {
        let mut columns: Option<Columns> = None;
        each_record(input, |record| {
            match &columns {
                Some(columns) => return read_record(input, columns, record, &mut labels, &mut parties),
                None if record.iter().any(|name| PARTY.contains(&name.trim())) => columns = Some(Columns::of(record)),
                None => labels.list_date = labels.list_date.max(report_date(record)),
            }
            Ok(())
        })?;
        labels.end_file(input.path());
    }
    parties.name_claims(&mut labels);
    Ok(labels)
}

/// The positions of the columns.
struct Columns(Vec<String>);

impl Columns {
    fn of(header: &Record) -> Self {
        Self(header.iter().map(|name| name.trim().to_owned()).collect())
    }

    fn get<'r>(&self, record: &'r Record, name: &str) -> &'r str {
        let place = self.0.iter().position(|column| column == name);
        place.map(|place| record.field(place).trim()).unwrap_or_default()
    }

    /// The first field with a text, of columns with these names.
    fn first<'r>(&self, record: &'r Record, names: &[&str]) -> &'r str {
        names.iter().map(|name| self.get(record, name)).find(|text| !text.is_empty()).unwrap_or_default()
    }
}

fn read_record(
    input: &Input,
    columns: &Columns,
    record: &Record,
    labels: &mut RawLabels,
    parties: &mut Parties,
) -> Result<(), IngestError> {
    if record.len() < columns.0.len() {
        let (seen, expected) = (format!("{} fields", record.len()), format!("{} fields", columns.0.len()));
        return Err(wrong(input, record.place, "row", &seen, &format!("{expected}, as the header has")));
    }
    let party = columns.first(record, &PARTY);
    let parts = NAMES.iter().map(|name| columns.get(record, name)).filter(|part| !part.is_empty());
    let rank =
        if columns.first(record, &NAME_TYPE).eq_ignore_ascii_case(PRIMARY) { Rank::Primary } else { Rank::Other };
    parties.note_name(party, rank, &parts.collect::<Vec<_>>().join(" "));
    let found: Vec<_> = TEXTS.iter().flat_map(|column| addresses_in(columns.get(record, column))).collect();
    if found.is_empty() {
        return Ok(());
    }
    let days = DESIGNATED.map(|name| (name, Some(columns.get(record, name))));
    let asserted_at = first_date(labels, record.place, &days, &[Dates::DayFirst, Dates::Iso]);
    for (address, coin) in found {
        let claim = claim(Code::Sanction, record.place, address, coin);
        parties.add(labels, party, RawClaim { asserted_at, date_basis: RawDateBasis::Entity, ..claim });
    }
    Ok(())
}

/// The date of a line such as `Report Date: 13-Feb-2026`.
fn report_date(record: &Record) -> Option<Timestamp> {
    record.iter().find_map(|field| {
        let text = field.rsplit(':').next()?.trim();
        let [day, name, year] = text.split('-').collect::<Vec<_>>()[..] else { return Dates::DayFirst.read(text) };
        date(plain_number(year)?, month(name)?, plain_number(day)?)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::raw::ChainHint;
    use super::super::official::testing::{read, rows};
    use super::*;

    const LIST: &str = "Report Date: 13-Feb-2026
Last Updated,Unique ID,Name 6,Name 1,Name 2,Name 3,Name 4,Name 5,Name type,Other Information,UK Statement of Reasons,Date Designated
16/04/2025,RUS0001,ALIAS,Other,,,,,Alias,\"Wallets:
TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz (USDT)\",,03/04/2025
16/04/2025,RUS0001,MUSTER,Jan,Peter,,,,Primary Name,,,03/04/2025
16/04/2025,CYB0002,EXAMPLE EXCHANGE,,,,,,Primary Name,,Uses ETH 0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786.,
16/04/2025,SHP0003,EXAMPLE SHIP,,,,,,Primary Name,IMO 9123456,,01/02/2024
";

    #[test]
    fn wallets_stand_in_the_text_below_a_line_with_the_date() {
        for (list, date) in
            [(LIST, "2026-02-13T00:00:00Z"), (&LIST.replace("13-Feb-2026", "05/03/2026,,"), "2026-03-05T00:00:00Z")]
        {
            let labels = read(&FORMAT, &[("UK-Sanctions-List.csv", list)]).unwrap();
            let [ethereum, tether] = ["ETH", "USDT"].map(|ticker| ChainHint::Ticker(ticker.to_owned()));
            let expected = [
                (
                    "TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz",
                    &tether,
                    Some("Jan Peter MUSTER"),
                    "2025-04-03".to_owned(),
                    String::new(),
                ),
                (
                    "0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786",
                    &ethereum,
                    Some("EXAMPLE EXCHANGE"),
                    String::new(),
                    String::new(),
                ),
            ];
            assert_eq!(rows(&labels), expected);
            assert!(labels.claims.iter().all(|claim| claim.date_basis == RawDateBasis::Entity));
            assert_eq!(labels.list_date.unwrap().to_string(), date);
        }
    }

    #[test]
    fn the_former_list_has_groups_and_listing_dates() {
        let list = "Last Updated,05/01/2026
Name 6,Name 1,Name 2,Name 3,Name 4,Name 5,Title,Other Information,Group Type,Alias Type,Regime,Listed On,Last Updated,Group ID
ALIAS,,,,,,,,Entity,AKA,Example,06/05/2024,06/05/2024,77
EXAMPLE,,,,,,,Uses TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz.,Entity,Primary name,Example,06/05/2024,06/05/2024,77
";
        let labels = read(&FORMAT, &[("ConList.csv", list)]).unwrap();
        let found: Vec<_> = rows(&labels).into_iter().map(|row| (row.0, row.2, row.3)).collect();
        assert_eq!(found, [("TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz", Some("EXAMPLE"), "2024-05-06".to_owned())]);
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-01-05T00:00:00Z");
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let error = read(&FORMAT, &[("UK-Sanctions-List.csv", &[LIST, "16/04/2025,SHP"].concat())]).unwrap_err();
        assert!(error.to_string().contains("12 fields"), "{error}");
    }
}
