//! Untouched account exports of Etherscan: an unnamed first column, empty accounts, long call data.

use std::io::Read;
use std::path::Path;

use headwater_ingest::{Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::read::{CoverageTable, Generation};
use headwater_ledger::store::{Store, Writer};
use headwater_types::Chain;

use super::classifier::{one_in, some_of};

/// Unpacks the files of an archive: blocks of 512 bytes, a header with name and size in octal before each file.
fn unpack(archive: &[u8], folder: &Path) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.iter().copied().take_while(|byte| *byte != 0).collect()).unwrap();
    let mut rest = archive;
    while rest.len() > 512 && rest[0] != 0 {
        let (header, after) = rest.split_at(512);
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        if header[156] == b'0' {
            let path = folder.join(text(&header[..100]));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &after[..size]).unwrap();
        }
        rest = &after[size.next_multiple_of(512)..];
    }
}

/// The accounts of exports, which are in the names of their files.
fn accounts_of(folder: &Path) -> Vec<String> {
    let mut accounts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            accounts.extend(accounts_of(&entry));
        } else {
            let name = entry.file_name().unwrap().to_str().unwrap();
            accounts.push(name.split('_').next().unwrap().to_lowercase());
        }
    }
    accounts
}

#[test]
fn corpus_original_exports_agree_with_their_collection() {
    let data = headwater_tests::corpus().join("classifier");
    let folder = tempfile::tempdir().unwrap();
    let packed = std::fs::read(data.join("etherscan_csv_originals.tar.gz")).unwrap();
    let mut archive = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut archive).unwrap();
    let originals = folder.path().join("originals");
    unpack(&archive, &originals);

    // The exports of the same accounts, beside a share of the others.
    let collection = some_of(folder.path(), one_in(16), &accounts_of(&originals));
    let read = |writer: &mut Writer, paths: &[std::path::PathBuf]| {
        ingest(paths, &Options::default(), writer, &Silent, &Cancel::new()).unwrap()
    };
    let store = |name: &str| folder.path().join(name);
    let mut writer = Writer::open_or_create(store("first")).unwrap();
    let report = read(&mut writer, std::slice::from_ref(&originals));
    // 2,401 transactions and 536 token transfers, counted with another program; an empty account is one empty row.
    assert_eq!((report.files.len(), report.skipped), (92, 0));
    let held = writer.snapshot().coverage()[&Chain::ETHEREUM].clone();
    assert!(held.accounts[&CoverageTable::Transactions] > 0 && held.accounts[&CoverageTable::TokenTransfers] > 0);
    read(&mut writer, &collection);
    drop(writer);

    // The other way round, and one after the other or together: the same content.
    let mut writer = Writer::open_or_create(store("second")).unwrap();
    read(&mut writer, &[collection[1].clone(), originals.clone(), collection[0].clone()]);
    drop(writer);
    let digest = |name: &str| Store::open(store(name)).unwrap().digest(&Cancel::new()).unwrap();
    assert_eq!(digest("first"), digest("second"));
}
