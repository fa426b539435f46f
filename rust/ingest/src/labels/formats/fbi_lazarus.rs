//! Wallets of the Lazarus Group as the FBI publishes them: `Address`, `Network`, `Linked to`.

use headwater_ledger::labels::{Code, Level};

use super::super::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use super::official::{claim, each_list_row};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::source::{Content, Probe};

pub(super) const FORMAT: Format = Format {
    name: "fbi_lazarus",
    source: "fbi",
    group: "fbi",
    level: Level::AuthorityData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: true,
    files: Files::Apart,
    reads,
    read,
};

const COLUMNS: &[&str] = &["Address", "Network", "Linked to"];

fn reads(probe: &Probe) -> bool {
    *probe.content() == Content::Csv && probe.has(COLUMNS)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        each_list_row(probe, COLUMNS, &mut labels, |row, labels| {
            let [address, network, linked_to] = [row.text("Address")?, row.text("Network")?, row.text("Linked to")?];
            let chain = network.map_or(ChainHint::None, |network| ChainHint::Chain(network.into_owned()));
            let claim = claim(Code::Theft, row.place(), address.unwrap_or_default(), chain);
            labels.claims.push(RawClaim { entity: linked_to.map(std::borrow::Cow::into_owned), ..claim });
            Ok(())
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read};
    use super::*;

    #[test]
    fn the_network_names_the_chain() {
        let table = "Address,Network,Linked to\r\n\
                     0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786,Binance Smart Chain,Lazarus Group\r\n\
                     1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg,Bitcoin,\r\n";
        let labels = read(&FORMAT, &[("lazarus.csv", table)]).unwrap();
        let expected = [
            ("0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786", "Binance Smart Chain"),
            ("1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg", "Bitcoin"),
        ];
        assert_eq!(addresses(&labels), expected);
        let entities: Vec<_> = labels.claims.iter().map(|claim| claim.entity.as_deref()).collect();
        assert_eq!(entities, [Some("Lazarus Group"), None]);
        assert!(labels.claims.iter().all(|claim| claim.concepts == ["theft"]));
    }
}
