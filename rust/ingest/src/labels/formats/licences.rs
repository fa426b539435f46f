//! The licences under which the sources of the formats publish their lists.
//!
//! Only what a source states itself is here, read in its repository or on its page. Other formats have no licence here: it is
//! unknown, not free. So have formats in which everybody publishes, such as packs of tags. `--licence` states the terms of one
//! list.

/// Licences by the names of formats.
const LICENCES: &[(&str, &str)] = &[
    ("ofac_lists", OFAC),
    ("ofac_xml", OFAC),
    ("ofac_advanced", OFAC),
    ("ofac_enhanced", OFAC),
    ("ofac_csv", OFAC),
    ("ofac_text", OFAC),
    ("opensanctions_csv", OPEN_SANCTIONS),
    ("opensanctions_ftm", OPEN_SANCTIONS),
    ("opensanctions_statements", OPEN_SANCTIONS),
    ("eu_csv", EU),
    ("eu_xml", EU),
    ("uk_csv", UK),
    ("uk_xml", UK),
    ("ransomwhere", "CC BY 4.0"),
    ("mining_pools", "MIT"),
    ("forta", "MIT"),
    ("eth_labels", "MIT"),
    ("etherscan_labels", "MIT"),
    ("darklist", "MIT"),
    ("hop", "ISC"),
    ("scamsniffer", "GPL-3.0"),
    ("dune", "BUSL-1.1"),
];

/// Works of the government of the United States have no copyright there.
const OFAC: &str = "public domain (US government work)";
/// The licence of the Commission's documents: any reuse, with the source named.
const EU: &str = "reuse with attribution (Decision 2011/833/EU)";
const UK: &str = "Open Government Licence v3.0";
/// Not for commercial use without a contract.
const OPEN_SANCTIONS: &str = "CC BY-NC 4.0";

/// The licence of the lists in a format; `None` where it is not known.
pub(in super::super) fn licence_of(format: &str) -> Option<&'static str> {
    LICENCES.iter().find(|(name, _)| *name == format).map(|(_, licence)| *licence)
}

#[cfg(test)]
mod tests {
    use super::super::FORMATS;
    use super::*;

    #[test]
    fn licences_are_of_formats_and_unknown_elsewhere() {
        for (name, _) in LICENCES {
            assert!(FORMATS.iter().any(|format| format.name == *name), "{name}");
        }
        assert_eq!(licence_of("eu_xml"), Some(EU));
        for name in ["cryptoscamdb", "arkham", "address_list", "table", "tagpack"] {
            assert_eq!(licence_of(name), None, "{name}");
        }
    }

    #[test]
    fn opensanctions_is_non_commercial_in_every_format() {
        let names = FORMATS.iter().map(|format| format.name).filter(|name| name.starts_with("opensanctions"));
        for name in names {
            assert_eq!(licence_of(name), Some(OPEN_SANCTIONS), "{name}");
        }
    }
}
