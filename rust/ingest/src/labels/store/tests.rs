//! The core lists beside lists of one's own.

use std::fmt::Write as _;
use std::path::Path;

use headwater_ledger::labels::{Code, DateBasis};
use headwater_types::Family;

use super::*;
use crate::labels::outcome::is_listed;

const DAY: i64 = 86_400;

fn day(number: i64) -> Timestamp {
    // 2026-09-01
    Timestamp::new(1_788_220_800 + number * DAY)
}

fn terms(number: i64) -> ImportTerms {
    ImportTerms { imported_at: day(number), shrinking: ShrinkPolicy::Refused }
}

/// The addresses of the core list that OFAC lists, with the coin of their chain.
fn listed() -> Vec<(String, &'static str)> {
    let ofac = core_lists().unwrap().into_iter().find(|labels| labels.list == OFAC).unwrap();
    let coin = |claim: &Claim| match claim.address.family() {
        Family::Utxo => "XBT",
        Family::Tron => "TRX",
        Family::Evm => "ETH",
    };
    let mut listed: Vec<_> = ofac
        .claims
        .iter()
        .filter(|claim| is_listed(claim))
        .map(|claim| (claim.address.to_string(), coin(claim)))
        .collect();
    listed.dedup();
    listed
}

/// Writes `sdn_advanced.xml` of a day of September 2026 with these addresses of one entity, listed in 2010.
fn write_list(folder: &Path, of_month: u32, addresses: &[(String, &str)]) -> Vec<PathBuf> {
    let mut features = String::new();
    for (address, coin) in addresses {
        let id = ["XBT", "TRX", "ETH"].iter().position(|known| known == coin).unwrap();
        writeln!(
            features,
            "<Feature FeatureTypeID=\"{id}\"><FeatureVersion><VersionDetail>{address}</VersionDetail></FeatureVersion></Feature>"
        )
        .unwrap();
    }
    let text = format!(
        "<Sanctions><DateOfIssue><Year>2026</Year><Month>9</Month><Day>{of_month}</Day></DateOfIssue>\
         <ReferenceValueSets><FeatureTypeValues>\
         <FeatureType ID=\"0\">Digital Currency Address - XBT</FeatureType>\
         <FeatureType ID=\"1\">Digital Currency Address - TRX</FeatureType>\
         <FeatureType ID=\"2\">Digital Currency Address - ETH</FeatureType>\
         </FeatureTypeValues><ListValues><List ID=\"1550\">SDN List</List></ListValues></ReferenceValueSets>\
         <DistinctParties><DistinctParty><Profile ID=\"1\">{features}</Profile></DistinctParty></DistinctParties>\
         <SanctionsEntries><SanctionsEntry ProfileID=\"1\" ListID=\"1550\"><EntryEvent><Date><Year>2010</Year><Month>1</Month>\
         <Day>2</Day></Date></EntryEvent></SanctionsEntry></SanctionsEntries></Sanctions>"
    );
    let path = folder.join("sdn_advanced.xml");
    std::fs::write(&path, text).unwrap();
    vec![path]
}

/// Claims in force of one address as version's source, code and whether they ended.
fn about(writer: &Writer, address: &str) -> Vec<(String, Option<Code>, bool)> {
    let versions = writer.import_versions();
    let mut found = Vec::new();
    let visit = &mut |version: u64, claim: Claim<&str>| {
        if claim.address.to_string() == address {
            let source = versions.iter().find(|one| one.version == version).unwrap().source.clone();
            found.push((source, claim.code, claim.valid_until.is_some()));
        }
        Ok(())
    };
    writer.snapshot().labels().each(visit).unwrap();
    found.sort();
    found
}

fn import_files(writer: &mut Writer, paths: &[PathBuf], number: i64) -> LabelImportReport {
    import_labels(writer, paths, &LabelOptions::default(), terms(number)).unwrap()
}

#[test]
fn core_lists_are_imported_once_and_replace_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    let own = import_files(&mut writer, &write_list(folder.path(), 2, &listed()), 3);
    let report = import_core_lists(&mut writer, day(4)).unwrap();
    assert!(report.lists.iter().all(|list| list.source == CORE_SOURCE && list.replaces.is_none()));
    let again = import_core_lists(&mut writer, day(5)).unwrap();
    let versions = |report: &LabelImportReport| report.lists.iter().map(|list| list.version).collect::<Vec<_>>();
    assert_eq!(versions(&again), versions(&report));
    assert!(again.lists.iter().all(|list| list.state == ImportState::Unchanged));
    let held = writer.import_versions();
    assert!(held.iter().all(|version| version.in_force) && held.len() == 1 + report.lists.len());
    assert_eq!(held[0].version, own.lists[0].version);
    let ofac = held.iter().find(|version| version.list.as_ref().unwrap().name == OFAC).unwrap();
    let ofac = ofac.list.as_ref().unwrap();
    assert_eq!(
        (ofac.sanctions_of.clone(), ofac.ended_at.to_string()),
        (vec!["ofac".to_owned()], "2026-08-20T00:00:00Z".to_owned())
    );
}

#[test]
fn delisting_in_a_later_edition_ends_the_core_claim() {
    let listed = listed();
    let (gone, kept) = (&listed[0].0, &listed[1].0);
    let ended = [(CORE_SOURCE.to_owned(), Some(Code::Sanction), true)];
    for is_core_first in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
        let paths = write_list(folder.path(), 2, &listed[1..]);
        if is_core_first {
            import_core_lists(&mut writer, day(3)).unwrap();
            let report = import_files(&mut writer, &paths, 4);
            assert!(
                report.lists[0].warnings.iter().any(|warning| warning.contains("that are delisted: 1")),
                "{report:?}"
            );
        } else {
            import_files(&mut writer, &paths, 3);
            import_core_lists(&mut writer, day(4)).unwrap();
        }
        assert_eq!(about(&writer, gone), ended, "core first: {is_core_first}");
        assert_eq!(about(&writer, kept).iter().filter(|(.., is_ended)| *is_ended).count(), 0);
        // Nothing brings it back.
        import_core_lists(&mut writer, day(5)).unwrap();
        assert_eq!(about(&writer, gone), ended, "core first: {is_core_first}");
    }
}

#[test]
fn parts_of_the_list_delist_nobody() {
    let listed = listed();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    import_core_lists(&mut writer, day(3)).unwrap();
    import_files(&mut writer, &write_list(folder.path(), 2, &listed[..100]), 4);
    let claims = about(&writer, &listed[500].0);
    assert!(claims.contains(&(CORE_SOURCE.to_owned(), Some(Code::Sanction), false)), "{claims:?}");
    assert!(claims.iter().all(|(.., is_ended)| !is_ended), "{claims:?}");
}

#[test]
fn files_of_ofac_are_dated_by_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    let ronin = "0x098b716b8aaf21512996dc57eb0615e2383e2f96";
    let unknown = "0x1111111111111111111111111111111111111111";
    let addresses = [ronin, unknown].map(|address| (address.to_owned(), "ETH"));
    let report = import_files(&mut writer, &write_list(folder.path(), 2, &addresses), 3);
    let expected = "claims dated by the address, from the core list of 2026-08-20: 1; the file gives the date of the entity, or none";
    assert!(report.lists[0].warnings.iter().any(|warning| warning == expected), "{report:?}");
    let claims = claims_of(&writer, report.lists[0].version).unwrap();
    let dates: Vec<_> = claims.iter().map(|claim| (claim.asserted_at.unwrap().to_string(), claim.date_basis)).collect();
    assert_eq!(
        dates,
        [
            ("2022-04-14T00:00:00Z".to_owned(), Some(DateBasis::Address)),
            ("2010-01-02T00:00:00Z".to_owned(), Some(DateBasis::Entity))
        ]
    );
}
