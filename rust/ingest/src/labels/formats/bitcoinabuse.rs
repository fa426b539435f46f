//! Reports of `BitcoinAbuse`.

use headwater_ledger::labels::Level;

use super::reading::{date, each_table_row};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Row};

/// Source: the exports `records_{1d,30d,forever}.csv`. Anybody could report, and most late reports are spam.
pub(super) const FORMAT: Format = Format {
    name: "bitcoinabuse",
    source: "bitcoinabuse",
    group: "bitcoinabuse",
    level: Level::Heuristic,
    vocabulary: Vocabulary("bitcoinabuse"),
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

const COLUMNS: [&str; 3] = ["address", "abuse_type_id", "created_at"];

fn reads(probe: &Probe) -> bool {
    probe.has(&COLUMNS)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        each_table_row(probe, &COLUMNS, &mut labels, |row: &Row<'_>, labels| {
            let created = row.text("created_at")?;
            let asserted_at = date(labels, row.place(), created.as_deref());
            labels.claims.push(RawClaim {
                place: Some(row.place()),
                address: row.text("address")?.unwrap_or_default().into_owned(),
                chain: ChainHint::Chain("bitcoin".to_owned()),
                concepts: row.text("abuse_type_id")?.into_iter().map(String::from).collect(),
                asserted_at,
                ..RawClaim::default()
            });
            Ok(())
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn reports_run_over_lines_and_may_have_no_date() {
        let records = "id,address,abuse_type_id,abuse_type_other,abuser,description,from_country,from_country_code,created_at\n\
            1,198gVAVkzJmpWzshGq3zX8iyYCnKz7ruKT,5,,,\"I know \"\"your\"\" password,\npay 900 USD\n<b>or else</b>\",Germany,DE,2019-01-02 03:04:05\n\
            7,13Xrb1rsXbsSbQoSunDRBXqq1nHrgeeqq5,2,,,market,,,0000-00-00 00:00:00\n";
        let labels = read(&FORMAT, &[("records.csv", records)]);
        assert_eq!(
            all_shown(&labels),
            [
                "198gVAVkzJmpWzshGq3zX8iyYCnKz7ruKT | on bitcoin | 5 | since 2019-01-02T03:04:05Z",
                "13Xrb1rsXbsSbQoSunDRBXqq1nHrgeeqq5 | on bitcoin | 2",
            ]
        );
        assert_eq!(labels.warnings.len(), 1);
    }
}
