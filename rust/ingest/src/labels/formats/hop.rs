//! Addresses that the Hop airdrop left out as deposit addresses of exchanges, one a line.

use headwater_ledger::labels::Level;

use super::reading::is_hex;
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::{IngestError, Place};

/// Source: `depositAddressBlacklist.ts` of `hop-protocol/hop-airdrop`, or its addresses one a line. The team judged them
/// from their transfers on several chains; no exchange confirmed them.
pub(super) const FORMAT: Format = Format {
    name: "hop",
    source: "hop",
    group: "hop",
    level: Level::Heuristic,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

const NAMES: [&str; 2] = ["exchange_deposit_addresses", "depositaddressblacklist"];

fn reads(probe: &Probe) -> bool {
    // Any list of addresses looks like this: only its name states what they are.
    let name = probe.input().name().to_ascii_lowercase();
    let is_text =
        || probe.document().is_none() && String::from_utf8_lossy(probe.head()).lines().any(|line| is_hex(bare(line)));
    NAMES.iter().any(|list| name.contains(list)) && is_text()
}

/// A line without the marks of an array around its address.
fn bare(line: &str) -> &str {
    line.trim().trim_matches(|mark: char| matches!(mark, '"' | '\'' | ',' | ';') || mark.is_whitespace())
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let is_code = probe.input().name().to_ascii_lowercase().contains(".ts");
        let mut lines = probe.input().lines()?;
        while let Some((number, line)) = lines.next_line()? {
            let line = String::from_utf8_lossy(line);
            let address = bare(&line);
            let is_around = is_code && !is_hex(address);
            if address.is_empty() || address.starts_with('#') || is_around {
                continue;
            }
            labels.claims.push(RawClaim {
                place: Some(Place::Line(number)),
                address: address.to_owned(),
                chain: ChainHint::AnyEvm,
                concepts: vec!["deposit".to_owned()],
                ..RawClaim::default()
            });
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, probes, read};
    use super::*;

    #[test]
    fn each_line_is_a_deposit_address() {
        let list = "0x0000287bf463ad9e70c041a4a14667f5a101be63\r\n\n0x000050288e4ee8522f4daeb9e1cd2906b771f302";
        let expected = [
            "0x0000287bf463ad9e70c041a4a14667f5a101be63 | on evm | deposit",
            "0x000050288e4ee8522f4daeb9e1cd2906b771f302 | on evm | deposit",
        ];
        assert_eq!(all_shown(&read(&FORMAT, &[("exchange_deposit_addresses.txt", list)])), expected);
        let code = "export const blacklist = [\n  '0x0000287bf463ad9e70c041a4a14667f5a101be63',\n  '0x000050288e4ee8522f4daeb9e1cd2906b771f302'\n]\n";
        assert_eq!(all_shown(&read(&FORMAT, &[("depositAddressBlacklist.ts", code)])), expected);
        let folder = tempfile::tempdir().unwrap();
        assert!(!reads(&probes(folder.path(), &[("sanctioned_addresses_ETH.txt", list)])[0]));
    }
}
