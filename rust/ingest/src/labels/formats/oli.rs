//! Tags of the Open Labels Initiative, a row each.

use headwater_ledger::labels::Level;
use headwater_types::Timestamp;
use rustc_hash::FxHashMap;

use super::reading::{date, each_table_row};
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Row, truth};
use crate::{IngestError, Place};

/// Source: the label pool of `openlabelsinitiative/OLI`. Anybody may attest.
pub(super) const FORMAT: Format = Format {
    name: "oli",
    source: "open_labels_initiative",
    group: "openlabelsinitiative.org",
    level: Level::WebCrawl,
    vocabulary: Vocabulary("oli"),
    chain: None,
    refuses_empty: false,
    files: Files::Together,
    reads,
    read,
};

const COLUMNS: [&str; 4] = ["chain_id", "address", "tag_id", "tag_value"];

/// The name for every EVM chain.
const ANY_CHAIN: &str = "eip155:any";

fn reads(probe: &Probe) -> bool {
    probe.has(&COLUMNS)
}

/// The tags of one address of one chain.
#[derive(Default)]
struct Tagged {
    address: String,
    chain: String,
    place: Option<Place>,
    owner: Option<String>,
    name: Option<String>,
    /// Its usage categories: each attestation.
    uses: Vec<Usage>,
}

struct Usage {
    place: Place,
    category: String,
    asserted_at: Option<Timestamp>,
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut tagged: Vec<Tagged> = Vec::new();
    let mut places: FxHashMap<(String, String), usize> = FxHashMap::default();
    let columns = [&COLUMNS[..], &["time_created", "revoked"]].concat();
    for probe in probes {
        each_table_row(probe, &columns, &mut labels, |row: &Row<'_>, labels| {
            let text = |column: &str| row.text(column).map(|text| text.unwrap_or_default().trim().to_owned());
            if truth(&text("revoked")?).unwrap_or_default() {
                return Ok(());
            }
            let (chain, address) = (text("chain_id")?, text("address")?);
            let key = (chain.to_ascii_lowercase(), address.to_ascii_lowercase());
            let place = *places.entry(key).or_insert_with(|| {
                tagged.push(Tagged { address, chain, place: Some(row.place()), ..Tagged::default() });
                tagged.len() - 1
            });
            let of = &mut tagged[place];
            let value = text("tag_value")?;
            match text("tag_id")?.as_str() {
                _ if value.is_empty() => {}
                "usage_category" => {
                    let asserted_at = date(labels, row.place(), Some(&text("time_created")?));
                    of.uses.push(Usage { place: row.place(), category: value, asserted_at });
                }
                "owner_project" => of.owner = Some(value),
                "contract_name" => of.name = Some(value),
                _ => {}
            }
            Ok(())
        })?;
    }
    for of in tagged {
        of.add(&mut labels);
    }
    Ok(labels)
}

impl Tagged {
    fn add(self, labels: &mut RawLabels) {
        let chain = match self.chain.as_str() {
            "" => ChainHint::None,
            chain if chain.eq_ignore_ascii_case(ANY_CHAIN) => ChainHint::AnyEvm,
            chain => ChainHint::Chain(chain.to_owned()),
        };
        let claim = RawClaim {
            place: self.place,
            address: self.address,
            chain,
            name: self.name,
            entity: self.owner,
            ..RawClaim::default()
        };
        if self.uses.is_empty() {
            labels.claims.push(claim);
            return;
        }
        for usage in self.uses {
            labels.claims.push(RawClaim {
                place: Some(usage.place),
                concepts: vec![usage.category],
                asserted_at: usage.asserted_at,
                ..claim.clone()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn tags_of_an_address_are_joined() {
        let table = "chain_id,address,tag_id,tag_value,attester,time_created,revoked\n\
            eip155:1,0x22989f936e257f3903379Cd8E7FcdB91237605Ee,usage_category,cex,0x1ef5,2025-01-02T03:04:05,false\n\
            eip155:1,0x22989f936e257f3903379Cd8E7FcdB91237605Ee,owner_project,example-exchange,0x1ef5,2025-01-02T03:04:05,false\n\
            eip155:1,0x22989f936e257f3903379cd8e7fcdb91237605ee,usage_category,cex,0x881f,2025-02-03T00:00:00,false\n\
            eip155:any,0xA53F2999141887A6123Ccb9312a03902843412fb,usage_category,gambling,0x1ef5,2025-01-06T00:00:00,false\n\
            eip155:any,0xA53F2999141887A6123Ccb9312a03902843412fb,is_eoa,true,0x1ef5,2025-01-06T00:00:00,false\n\
            eip155:1,0x7712FC87de356768BDdcF21213eF745803b6c84F,contract_name,SafeProxy,0x1ef5,2025-01-09T00:00:00,false\n\
            eip155:1,0x1A24428B7393755002253dD33CcC3cFa641C1110,usage_category,dex,0x1ef5,2025-01-09T00:00:00,true\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("labels.csv", table)])),
            [
                "0x22989f936e257f3903379Cd8E7FcdB91237605Ee | on eip155:1 | cex | of example-exchange | since 2025-01-02T03:04:05Z",
                "0x22989f936e257f3903379Cd8E7FcdB91237605Ee | on eip155:1 | cex | of example-exchange | since 2025-02-03T00:00:00Z",
                "0xA53F2999141887A6123Ccb9312a03902843412fb | on evm | gambling | since 2025-01-06T00:00:00Z",
                "0x7712FC87de356768BDdcF21213eF745803b6c84F | on eip155:1 | named SafeProxy",
            ]
        );
    }
}
