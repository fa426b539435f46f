//! Exports of ethereum-etl: tables with few rows are complete for the blocks of the export, not only from row to row.

use headwater_ingest::{OnError, Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::read::{Coverage, CoverageTable, Generation};
use headwater_ledger::store::Writer;
use headwater_types::Chain;

fn blocks(numbers: impl Iterator<Item = u64>) -> String {
    let rows = numbers.map(|number| format!("{number},,,{},5000\n", 1_600_000_000 + 12 * number));
    format!("number,hash,parent_hash,timestamp,gas_limit\n{}", rows.collect::<String>())
}

fn hash(block: u64) -> String {
    format!("0x{block:064x}")
}

fn address(digits: &str) -> String {
    format!("0x{}", digits.repeat(20))
}

fn transactions(numbers: &[u64]) -> String {
    let (from, to) = (address("aa"), address("bb"));
    let row = |number: &u64| format!("{},0,{number},0,{from},{to},1,21000,1,0x\n", hash(*number));
    let rows = numbers.iter().map(row).collect::<String>();
    format!("hash,nonce,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input\n{rows}")
}

fn transfers(numbers: &[u64]) -> String {
    let (token, from, to) = (address("cc"), address("aa"), address("bb"));
    let row = |number: &u64| format!("{token},{from},{to},7,{},0,{number}\n", hash(*number));
    let rows = numbers.iter().map(row).collect::<String>();
    format!("token_address,from_address,to_address,value,transaction_hash,log_index,block_number\n{rows}")
}

/// Loads files of one folder, in one load or each in its own.
fn held(files: &[(&str, String)], at_once: bool) -> Coverage {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path().join("store")).unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|(name, content)| {
            let path = folder.path().join("files").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            path
        })
        .collect();
    let options = Options { chain: Some(Chain::ETHEREUM), on_error: OnError::Stop, ..Options::default() };
    for load in paths.chunks(if at_once { paths.len() } else { 1 }) {
        ingest(load, &options, &mut writer, &Silent, &Cancel::new()).unwrap();
    }
    writer.snapshot().coverage()[&Chain::ETHEREUM].clone()
}

fn gaps(coverage: &Coverage, table: CoverageTable) -> Vec<(u64, u64)> {
    coverage.gaps(Chain::ETHEREUM, table)
}

#[test]
fn export_has_no_gap_where_a_table_has_no_row() {
    let files = [
        ("blocks.csv", blocks(0..=100)),
        ("transactions.csv", transactions(&[3, 12, 40, 97])),
        ("token_transfers.csv", transfers(&[12, 97])),
    ];
    let coverage = held(&files, true);
    for table in [CoverageTable::Blocks, CoverageTable::Transactions, CoverageTable::TokenTransfers] {
        assert_eq!(coverage.ranges_of(table), [(0, 100)], "{table:?}");
        assert_eq!(gaps(&coverage, table), [], "{table:?}");
    }
    let coverage = held(&files, false);
    assert_eq!(gaps(&coverage, CoverageTable::TokenTransfers), [(0, 11), (98, 100)], "the loads are of two exports");
}

#[test]
fn transactions_show_the_blocks_of_transfers() {
    let files = [
        ("blocks.csv", blocks(0..=100)),
        ("x/transactions.csv", transactions(&[3, 12, 97])),
        ("x/transfers.csv", transfers(&[12])),
    ];
    let coverage = held(&files, true);
    assert_eq!(coverage.ranges_of(CoverageTable::TokenTransfers), [(3, 97)], "blocks lie in another folder");
}

#[test]
fn file_that_is_missing_leaves_a_gap() {
    let files = [
        ("blocks_1.csv", blocks(0..=99)),
        ("blocks_2.csv", blocks(100..=199)),
        ("blocks_3.csv", blocks(200..=299)),
        ("transactions.csv", transactions(&[5, 15, 250, 280])),
        ("transfers_1.csv", transfers(&[5, 15])),
        ("transfers_3.csv", transfers(&[250, 280])),
    ];
    let coverage = held(&files, true);
    assert_eq!(coverage.ranges_of(CoverageTable::Transactions), [(0, 299)]);
    assert_eq!(gaps(&coverage, CoverageTable::TokenTransfers), [(100, 199)]);
    let coverage = held(&files[..5], true);
    assert_eq!(gaps(&coverage, CoverageTable::TokenTransfers), [(100, 299)]);
    let with_hole = ("blocks.csv", blocks((0..=10).chain(20..=100)));
    let coverage = held(&[with_hole, ("t.csv", transactions(&[25])), ("u.csv", transfers(&[25]))], true);
    assert_eq!(gaps(&coverage, CoverageTable::TokenTransfers), [(0, 24), (26, 100)], "blocks are a selection");
}

#[test]
fn name_of_an_export_states_its_range() {
    let files = |name: &'static str| {
        let blocks = ("b/blocks_00000000_00000099.csv", blocks(0..=99));
        [blocks, ("t/transactions_00000000_00000099.csv", transactions(&[5, 15])), (name, transfers(&[15]))]
    };
    let coverage = held(&files("u/token_transfers_00000000_00000099.csv"), false);
    for table in [CoverageTable::Transactions, CoverageTable::TokenTransfers] {
        assert_eq!(coverage.ranges_of(table), [(0, 99)]);
    }
    for name in ["u/token_transfers_00000020_00000099.csv", "u/transfers.csv"] {
        let coverage = held(&files(name), true);
        assert_eq!(coverage.ranges_of(CoverageTable::TokenTransfers), [(15, 15)], "{name}");
    }
    let empty = ("u/token_transfers_00000000_00000099.csv", transfers(&[]));
    let coverage = held(&[("b/blocks.csv", blocks(0..=99)), ("t/t.csv", transactions(&[5])), empty], true);
    assert_eq!(coverage.ranges_of(CoverageTable::TokenTransfers), [(0, 99)]);
}
