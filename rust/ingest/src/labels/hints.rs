//! Hints about files that no format of labels reads.

use super::formats::{FORMATS, TABLE, has_address, tells};
use crate::error::wrapped;
use crate::formats::{FORMATS as CHAIN_FORMATS, Format};
use crate::source::{Content, Probe, Subject, has_address_form, shape_of};

/// The end of every hint.
const GENERAL: &str = "\
A plain table (CSV, TSV, JSON, Parquet) has a column \"address\" and one of code, name or entity.
  --column address=wallet  maps a column that is called otherwise, for each of these names
  --code CODE, --entity NAME  say for all rows what the addresses are, and who is behind them
`headwater labels import --help` lists the codes and the other formats.";

/// The format of chain data that any list of addresses with amounts looks like.
const HOLDERS: &str = "holder-snapshot";

/// Columns of transactions: their addresses are those of whoever took part.
const OF_TRANSACTIONS: [&str; 6] = ["from", "to", "from_address", "to_address", "sender", "receiver"];

/// The longest name of a column that a hint repeats, in bytes.
const LONGEST_NAME: usize = 96;

/// Returns what helps with a file that no format reads, in lines.
pub(super) fn hint(probe: &Probe, has_code: bool) -> String {
    if let Some(shape) = shape_of(probe).filter(|shape| shape.subject != Subject::Chain) {
        return format!("{}\n{GENERAL}", wrapped(shape.instead));
    }
    let is_chain_data = |format: &&&dyn Format| format.name() != HOLDERS && format.sniff(probe).is_some();
    if let Some(format) = CHAIN_FORMATS.iter().find(is_chain_data) {
        return format!("`headwater ingest` reads it, as chain data in the format {}.\n{GENERAL}", format.name());
    }
    let own = match probe.content() {
        Content::Csv | Content::Tsv | Content::Json | Content::Parquet => of_columns(probe, has_code),
        Content::Empty | Content::Binary => None,
    };
    own.map_or_else(|| GENERAL.to_owned(), |own| format!("{own}\n{GENERAL}"))
}

/// Names the columns that a table lacks.
fn of_columns(probe: &Probe, has_code: bool) -> Option<String> {
    let holds_address = |column: &&String| probe.first(column).is_some_and(|cell| has_address_form(cell.trim()));
    if OF_TRANSACTIONS.iter().any(|column| probe.has(&[column])) {
        return Some("It lists transactions, which say nothing of what their addresses are.".to_owned());
    }
    let address = probe.columns().iter().filter(|column| column.len() <= LONGEST_NAME).find(holds_address)?;
    match (has_address(probe), has_code || tells(probe)) {
        (true, true) => None,
        (true, false) => Some(format!("Its column {address:?} contains addresses, and no column says what they are.")),
        (false, true) => Some(format!("Its column {address:?} contains addresses: --column address=\"{address}\"")),
        (false, false) => Some(format!(
            "Its column {address:?} contains addresses: --column address=\"{address}\", with --code, or with another column \
             for what they are."
        )),
    }
}

/// Returns the name of the format of labels that reads a file; `None` for a plain table, which may be anything.
pub(crate) fn label_format_of(probe: &Probe) -> Option<&'static str> {
    let format = FORMATS.iter().find(|format| (format.reads)(probe))?;
    (format.name != TABLE.name).then_some(format.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Bounds, Input};

    fn hint_of(name: &str, content: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        hint(&Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap(), false)
    }

    #[test]
    fn hints_name_the_column_that_holds_addresses() {
        let row = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b,x";
        for (content, expected) in [
            (format!("place,name\n{row}\n"), "Its column \"place\" contains addresses: --column address=\"place\"\n"),
            (
                format!("place,b\n{row}\n"),
                "Its column \"place\" contains addresses: --column address=\"place\", with --code",
            ),
            (format!("address,b\n{row}\n"), "Its column \"address\" contains addresses, and no column says"),
            ("a,b\n1,2\n".to_owned(), "A plain table (CSV"),
            ("from,b\n0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b,x\n".to_owned(), "It lists transactions"),
            (
                "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n".to_owned(),
                "`headwater ingest` reads it",
            ),
        ] {
            let hint = hint_of("a.csv", &content);
            assert!(hint.starts_with(expected), "{content}: {hint}");
            assert!(hint.lines().count() <= 10, "{hint}");
        }
    }
}
