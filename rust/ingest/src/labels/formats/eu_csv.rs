//! The consolidated list of the European Union as CSV.
//!
//! It has a row for each name of a party and no column for wallets: they stand in the text of remarks, which every row of
//! the party repeats.

use headwater_ledger::labels::{Code, Level};

use super::super::raw::{RawClaim, RawDateBasis, RawLabels, Vocabulary};
use super::official::{Dates, Parties, Rank, claim, each_list_row, first_date};
use super::running_text::addresses_in;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::error::Fault;
use crate::source::{Content, Probe, Row};

pub(super) const FORMAT: Format = Format {
    name: "eu_csv",
    source: "eu",
    group: "eu",
    level: Level::SanctionsList,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: true,
    files: Files::Together,
    reads,
    read,
};

const PARTY: &str = "Entity_LogicalId";
const NAME: &str = "NameAlias_WholeName";
const FILE_DATE: &str = "fileGenerationDate";
const DATES: [&str; 2] = ["Entity_DesignationDate", "Entity_Regulation_PublicationDate"];

fn reads(probe: &Probe) -> bool {
    *probe.content() == Content::Csv && probe.has(&[PARTY, NAME])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut parties = Parties::default();
    for probe in probes {
        let is_text = |column: &&String| column.ends_with("_Remark");
        let remarks: Vec<&str> = probe.columns().iter().filter(is_text).map(String::as_str).collect();
        each_list_row(probe, &[], &mut labels, |row, labels| read_row(row, &remarks, labels, &mut parties))?;
        labels.end_file(probe.path());
    }
    parties.name_claims(&mut labels);
    Ok(labels)
}

fn read_row(row: &Row<'_>, remarks: &[&str], labels: &mut RawLabels, parties: &mut Parties) -> Result<(), Fault> {
    let party = row.text(PARTY)?.unwrap_or_default();
    parties.note_name(&party, Rank::Other, row.text(NAME)?.as_deref().unwrap_or_default());
    if labels.list_date.is_none() {
        labels.list_date = row.text(FILE_DATE)?.and_then(|text| Dates::DayFirst.read(&text));
    }
    for column in remarks {
        let Some(text) = row.text(column)? else { continue };
        let found = addresses_in(&text);
        if found.is_empty() {
            continue;
        }
        let days = [row.text(DATES[0])?, row.text(DATES[1])?];
        let fields = [(DATES[0], days[0].as_deref()), (DATES[1], days[1].as_deref())];
        let asserted_at = first_date(labels, row.place(), &fields, &[Dates::Iso, Dates::DayFirst]);
        for (address, coin) in found {
            let claim = RawClaim {
                asserted_at,
                date_basis: RawDateBasis::Entity,
                ..claim(Code::Sanction, row.place(), address, coin)
            };
            parties.add(labels, &party, claim);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::raw::ChainHint;
    use super::super::official::testing::{read, rows};
    use super::*;

    const LIST: &str = "\u{feff}fileGenerationDate;Entity_LogicalId;Entity_DesignationDate;Entity_Remark;Entity_Regulation_PublicationDate;NameAlias_WholeName;Address_Remark
28/10/2025;9001;2025-02-24;\"Known wallets:
ETH: 0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786, twice. BTC: 1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJgbc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn6
Seen in 0x16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3\";2025-02-25;;
28/10/2025;9001;2025-02-24;;2025-02-25;\"Example Exchange \"\"EX\"\"\";
28/10/2025;9001;2025-02-24;;2025-02-25;Primer Birzha;
28/10/2025;9002;;;2025-03-01;Jan Muster;Wallet 0xa02d00403cf9d715c6e3c32aa76829711fccf448
";

    #[test]
    fn wallets_stand_in_remarks_and_parties_have_their_first_name() {
        let labels = read(&FORMAT, &[("eu.csv", LIST)]).unwrap();
        let [eth, btc] = ["ETH", "BTC"].map(|name| ChainHint::Ticker(name.to_owned()));
        let glued = "1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJgbc1qnmqyp5j6ql2ljdaljtaqwp37ux3dey66mf4wn6";
        let party = Some("Example Exchange \"EX\"");
        let day = |text: &str| text.to_owned();
        let expected = [
            ("0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786", &eth, party, day("2025-02-24"), day("")),
            (glued, &btc, party, day("2025-02-24"), day("")),
            (
                "0xa02d00403cf9d715c6e3c32aa76829711fccf448",
                &ChainHint::AnyEvm,
                Some("Jan Muster"),
                day("2025-03-01"),
                day(""),
            ),
        ];
        assert_eq!(rows(&labels), expected);
        assert!(labels.claims.iter().all(|claim| claim.date_basis == RawDateBasis::Entity));
        assert_eq!(labels.list_date.unwrap().to_string(), "2025-10-28T00:00:00Z");
    }

    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let error = read(&FORMAT, &[("eu.csv", &[LIST, "28/10/2025;9003;20"].concat())]).unwrap_err().to_string();
        assert!(error.contains("7 fields"), "{error}");
    }
}
