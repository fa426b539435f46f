//! Files that people take for lists of addresses and that are none, with what to import instead.

use super::ofac_text::{RECORD_OF_CHANGES, is_changes};
use crate::source::Probe;

/// Names of files in lower case, as they begin and end; what they are, and the remedy.
const FILES: &[(&[&str], &[&str], &str)] = &[
    (
        &["add", "cons_add"],
        &[".csv", ".pip", ".del", ".ff"],
        "is OFAC's table of postal addresses: import sdn.csv with sdn_comments.csv",
    ),
    (
        &["alt", "cons_alt"],
        &[".csv", ".pip", ".del", ".ff"],
        "is OFAC's table of other names: import sdn.csv with sdn_comments.csv",
    ),
    (
        &["sdn", "sdn_comments", "cons_prim", "cons_comments"],
        &[".ff"],
        "is OFAC's list in columns of fixed width: import sdn.csv with sdn_comments.csv, or sdn_advanced.xml",
    ),
    (
        &["uk-sanctions-list", "uk_sanctions_list", "conlist"],
        &[".txt", ".html", ".htm", ".odt", ".ods"],
        "is the list of the United Kingdom in a form for readers: import UK-Sanctions-List.csv or UK-Sanctions-List.xml",
    ),
];

/// Describes a known file without a list of addresses.
pub(in super::super) fn refused(probe: &Probe) -> Option<&'static str> {
    let name = probe.input().name().to_lowercase();
    let is_named = |(begin, end): (&[&str], &[&str])| {
        end.iter().filter_map(|end| name.strip_suffix(end)).any(|stem| begin.contains(&stem))
    };
    if let Some((.., what)) = FILES.iter().find(|(begin, end, _)| is_named((begin, end))) {
        return Some(what);
    }
    is_record_of_changes(probe).then_some(RECORD_OF_CHANGES)
}

/// Returns true if a file is a record of changes to a list of OFAC, or a notice of them.
pub(super) fn is_record_of_changes(probe: &Probe) -> bool {
    let beginning = probe.head().get(..2_000).unwrap_or(probe.head());
    let beginning = String::from_utf8_lossy(beginning).to_uppercase();
    let is_ofac = ["OFFICE OF FOREIGN ASSETS CONTROL", "OFAC", "SDN LIST"].iter().any(|word| beginning.contains(word));
    is_ofac && is_changes(&beginning)
}

#[cfg(test)]
mod tests {
    use super::super::FORMATS;
    use super::super::reading::testing::probes;
    use super::*;

    #[test]
    fn files_beside_the_lists_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("ADD.CSV", "36,1,\"Harbour Road 1\",\"Example City\",\"Nowhere\",-0- \r\n", "postal addresses"),
            ("alt.pip", "36|12|\"aka\"|\"EXAMPLE\"|-0- \r\n", "other names"),
            ("sdn.ff", "36        EXAMPLE COMPANY      \r\n", "fixed width"),
            ("UK-Sanctions-List.txt", "Report Date\r\n", "UK-Sanctions-List.csv"),
            (
                "sdnew26.txt",
                "OFFICE OF FOREIGN ASSETS CONTROL\n\nChanges to the list\n\nEXAMPLE [X].\n",
                "record of changes",
            ),
            (
                "sdnlist.txt",
                "OFFICE OF FOREIGN ASSETS CONTROL\n\nThe following deletions have been\nmade to OFAC's SDN List:\n\nEXAMPLE; Digital Currency Address - ETH\n0xD389FE6a479A836797eb0F1497CDD90Fa9e028Df [X].\n",
                "record of changes",
            ),
        ];
        for (name, content, expected) in files {
            let probe = probes(folder.path(), &[(name, content)]).remove(0);
            assert!(FORMATS.iter().all(|format| !(format.reads)(&probe)), "{name}");
            assert!(refused(&probe).is_some_and(|what| what.contains(expected)), "{name}");
        }
        let list = probes(folder.path(), &[("sdn.csv", "a")]).remove(0);
        assert_eq!(refused(&list), None);
    }
}
