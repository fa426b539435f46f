//! Seizure orders of the National Bureau for Counter Terror Financing of Israel: the tables of its page as CSV, `wallets.csv`
//! and `releases.csv`, in Hebrew or English.
//!
//! A row names an order, alone (`צ.ת 18/26`, `ASO 18/26`) or with its first wallet; the rows below belong to it. Days and
//! ends of the orders stand in the table of releases. Spreadsheets break cells of several lines into rows of one field.

use std::collections::HashMap;

use headwater_ledger::labels::{Code, Level};
use headwater_types::Timestamp;

use super::super::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use super::coins;
use super::official::{Dates, Record, claim, each_record, ticker};
use super::running_text::addresses_in;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::source::{Content, Probe};

pub(super) const FORMAT: Format = Format {
    name: "il_nbctf",
    source: "il_mod_crypto",
    group: "il_mod_crypto",
    level: Level::AuthorityData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: true,
    files: Files::Together,
    reads,
    read,
};

/// The beginning of the number of an order.
const ORDER: [&str; 2] = ["צ.ת", "ASO"];
/// Names of the columns, as far as they distinguish them.
const NAME: [&str; 2] = ["שם מלא", "Full name"];
const WALLET: [&str; 2] = ["הארנק", "Virtual currency address"];
const COIN: [&str; 2] = ["מטבע", "Currency"];
const RELEASES: [[&str; 3]; 3] = [
    ["סוג", "תאריך עדכון", "תוקף הצו"],
    ["File Type", "Last Updated", "Validity of Issue"],
    ["order", "update_date", "validity_date"],
];
/// Texts that stand for an unknown name.
const NAMELESS: [&str; 2] = ["-", "אנונימי"];

fn reads(probe: &Probe) -> bool {
    *probe.content() == Content::Csv && (is_wallets(probe) || is_releases(probe))
}

fn is_wallets(probe: &Probe) -> bool {
    let has = |names: [&str; 2]| probe.columns().iter().any(|column| is_named(column, names));
    has(NAME) && has(WALLET)
}

fn is_releases(probe: &Probe) -> bool {
    RELEASES.iter().any(|columns| probe.has(columns))
}

fn is_named(column: &str, names: [&str; 2]) -> bool {
    names.iter().any(|name| column.contains(name))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut releases = HashMap::new();
    for probe in probes.iter().filter(|probe| is_releases(probe)) {
        read_releases(probe, &mut releases, &mut labels)?;
        labels.end_file(probe.path());
    }
    let mut undated = Vec::new();
    for probe in probes.iter().filter(|probe| !is_releases(probe)) {
        let mut wallets = Wallets::default();
        each_record(probe.input(), |record| {
            wallets.read(record, &releases, &mut labels);
            Ok(())
        })?;
        undated.extend(wallets.undated);
        labels.end_file(probe.path());
    }
    if !undated.is_empty() {
        labels
            .warnings
            .push(format!("no release dates the orders {}: import the table of releases too", undated.join(", ")));
    }
    Ok(labels)
}

/// When an order was made, and until when it is valid.
#[derive(Default)]
struct Release {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

fn read_releases(
    probe: &Probe,
    releases: &mut HashMap<String, Release>,
    labels: &mut RawLabels,
) -> Result<(), IngestError> {
    let mut is_header = true;
    each_record(probe.input(), |record| {
        // An order that became a forfeiture has no end.
        if !std::mem::take(&mut is_header)
            && let Some(order) = number_of(record.field(0))
        {
            let (since, until) = (Dates::DayFirst.read(record.field(1)), Dates::DayFirst.read(record.field(2)));
            if since.is_none() {
                let (place, text) = (record.place, record.field(1));
                labels.warnings.push(format!("{place}: {text:?} is not a date of order {order}: left out"));
            }
            // Annexes and amendments have rows of their own.
            let release = releases.entry(order).or_default();
            release.since = [release.since, since].into_iter().flatten().min();
            release.until = release.until.max(until);
        }
        Ok(())
    })
}

/// The number of an order, `18/26`, out of a text such as `Seizure order (ASO - 18/26) of the Minister of Defense`.
fn number_of(text: &str) -> Option<String> {
    text.split(|letter: char| !letter.is_ascii_digit() && letter != '/').find_map(|word| {
        let (number, year) = word.split_once('/')?;
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_digits(number) && is_digits(year)).then(|| format!("{}/{year}", number.trim_start_matches('0')))
    })
}

/// The table of wallets, as far as it was read.
#[derive(Default)]
struct Wallets {
    columns: Option<Columns>,
    order: Option<String>,
    undated: Vec<String>,
}

struct Columns {
    /// The name is in the first column too where that names the orders.
    name: usize,
    wallet: usize,
    coin: Option<usize>,
}

impl Columns {
    fn of(header: &Record) -> Self {
        let place = |names| header.iter().position(|column| is_named(column, names));
        Self { name: place(NAME).unwrap_or_default(), wallet: place(WALLET).unwrap_or_default(), coin: place(COIN) }
    }
}

impl Wallets {
    fn read(&mut self, record: &Record, releases: &HashMap<String, Release>, labels: &mut RawLabels) {
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::of(record));
            return;
        };
        let first = visible(record.field(0));
        let is_order = ORDER.iter().any(|word| first.starts_with(word));
        if is_order {
            self.order = number_of(&first);
            if let Some(order) = self.order.as_ref().filter(|order| !releases.contains_key(*order)) {
                self.undated.push(order.clone());
            }
        }
        let name = if is_order && columns.name == 0 { "" } else { record.field(columns.name).trim() };
        let is_broken = !is_order && record.len() <= columns.wallet;
        let (address, name) = if is_broken { (first.as_str(), "") } else { (record.field(columns.wallet), name) };
        let name = if NAMELESS.contains(&name) { "" } else { name };
        // A row without both goes on with the papers of the person above.
        if address.trim().is_empty() && name.is_empty() {
            return;
        }
        let coin = columns.coin.map(|coin| record.field(coin)).filter(|coin| addresses_in(coin).is_empty());
        let release = self.order.as_ref().and_then(|order| releases.get(order));
        let wallet = |address: &str, coin| RawClaim {
            entity: Some(name.to_owned()).filter(|name| !name.is_empty()),
            asserted_at: release.and_then(|release| release.since),
            valid_until: release.and_then(|release| release.until),
            ..claim(Code::TerroristFinancing, record.place, address, coin)
        };
        let hint = coin_of(coin);
        // Where the column names no coin, the cell of the wallet may.
        let within: Vec<_> = if hint == ChainHint::AnyEvm { coins_within(address) } else { Vec::new() };
        if within.is_empty() {
            labels.claims.push(wallet(address, hint));
        }
        for (address, coin) in within {
            labels.claims.push(wallet(&address, coin));
        }
        // Further wallets of a row are in the fields behind, that of the coin included.
        let behind = (columns.wallet + 1..record.len()).filter(|_| !is_broken).map(|column| record.field(column));
        for (further, coin) in behind.flat_map(addresses_in) {
            if !address.contains(&further) {
                labels.claims.push(wallet(&further, coin));
            }
        }
    }
}

/// Coins as the Hebrew table may write them.
const HEBREW_COINS: [(&str, &str); 6] =
    [("ביטקוין", "BTC"), ("אתריום", "ETH"), ("איתריום", "ETH"), ("טרון", "TRX"), ("טתר", "USDT"), ("לייטקוין", "LTC")];

/// The hint of the column of the coin. Where it names several, and the form of an address decides among them, it says
/// nothing.
fn coin_of(text: Option<&str>) -> ChainHint {
    let text = text.map(visible);
    let parts: Vec<&str> =
        text.iter().flat_map(|text| text.split([',', ';', '/', '+', '&', '\n'])).map(str::trim).collect();
    let known = |part: &&str| {
        let hebrew = HEBREW_COINS.iter().find(|(name, _)| name == part).map_or(*part, |(_, ticker)| *ticker);
        let name: String = hebrew.to_lowercase().split_whitespace().collect();
        coins::of_ticker(hebrew, true).or_else(|| coins::of_name(&name))
    };
    let named: Option<Vec<_>> = parts.iter().filter(|part| !part.is_empty()).map(known).collect();
    match named.as_deref() {
        Some([coin]) => ticker(Some(coin.ticker.as_str())),
        Some(coins) if coins.iter().all(|coin| coin.is_held) => ChainHint::AnyEvm,
        Some(_) | None => ticker(text.as_deref()),
    }
}

/// The addresses of a cell that names the coin of one of them, `3KBJ9... (LTC)`; none where the form of each decides.
fn coins_within(cell: &str) -> Vec<(String, ChainHint)> {
    let mut text = visible(cell);
    for (hebrew, ticker) in HEBREW_COINS {
        text = text.replace(hebrew, ticker);
    }
    let found = addresses_in(&text);
    if found.iter().all(|(_, coin)| *coin == ChainHint::AnyEvm) { Vec::new() } else { found }
}

/// A text without blanks around it and marks that print nothing.
fn visible(text: &str) -> String {
    let is_visible = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}');
    text.chars().filter(is_visible).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const HEBREW: &str = "שם מלא,תעודת זהות,דרכון,תאריך לידה,מספר זיהוי הארנק האלקטרוני/ יוזר,מטבע
צ.ת 18/26,,,,,
פלוני אלמוני,123456789,,01.02.1980,TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G,USDT
,,,,\"0xD90671cFb674F0aD27FF01B0a693db133961978e, TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx\",
,,,,-,-
צ.ת 12/21,,,,,
,,,,13u8BH7G5sWkmfH7PJ9d1knJVyGS9gvX1Q,BTC
צ.ת 1/21,,,,,
,,,,D8XskHfyM9eN6g9aB5zJ16oCUT9DRPpfbf,DOGE
";

    const RELEASES: &str = "order,update_date,validity_date\n18/26,05.04.2026,05.04.2028\n12/21,3.02.2021,03.02.2023\n";

    #[test]
    fn order_rows_may_have_one_field_and_hebrew_names() {
        let wallets = "שם מלא,תעודת זהות,דרכון,תאריך לידה,מספר זיהוי הארנק האלקטרוני/ יוזר,מטבע
צ.ת 53/25
,,,,TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G,
צ.ת - 51/25,
אנונימי,-,-,-,13u8BH7G5sWkmfH7PJ9d1knJVyGS9gvX1Q,BTC
";
        let releases = "סוג,תאריך עדכון,תוקף הצו
צ.ת 53/25 של שר הביטחון,24.11.2025,צו חילוט (צח 14/26)
נספח לצו תפיסה 51/25 - פרטי ישויות וארנקים,03.11.2025,-
צ.ת 51/25 של שר הביטחון,04.11.2025,03.11.2027
";
        let labels = read(&FORMAT, &[("wallets.csv", wallets), ("releases.csv", releases)]).unwrap();
        let found: Vec<_> = rows(&labels).into_iter().map(|row| (row.2, row.3, row.4)).collect();
        let row = |since: &str, until: &str| (None, since.to_owned(), until.to_owned());
        assert_eq!(found, [row("2025-11-24", ""), row("2025-11-03", "2027-11-03")]);
        assert!(labels.warnings.is_empty(), "{:?}", labels.warnings);
    }

    #[test]
    fn a_row_may_hold_several_wallets() {
        let (tron, other) = ("TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G", "TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx");
        let (evm, bitcoin) = ("0xD90671cFb674F0aD27FF01B0a693db133961978e", "13u8BH7G5sWkmfH7PJ9d1knJVyGS9gvX1Q");
        let wallets = format!(
            "Order ID,Full name,ID No,Passport No,D.O.B (DD/MM/YYYY),Virtual currency address / User ID,Currency
ASO 13/26,,,,,{tron},{other},{evm}
,JANE DOE,,,,\"{tron}\n{bitcoin}\",\"USDT, BTC\"
,,,,,{bitcoin},ביטקוין
,,,,,{bitcoin},\"BTC, Litecoin\"
"
        );
        let labels = read(&FORMAT, &[("wallets.csv", &wallets)]).unwrap();
        let both = format!("{tron}\n{bitcoin}");
        let expected = [
            (tron, "evm"),
            (other, "evm"),
            (evm, "evm"),
            (both.as_str(), "evm"),
            (bitcoin, "BTC"),
            (bitcoin, "BTC, Litecoin"),
        ];
        assert_eq!(addresses(&labels), expected);
    }

    #[test]
    fn the_cell_of_a_wallet_may_name_its_coin() {
        let (bitcoin, shared) = ("13u8BH7G5sWkmfH7PJ9d1knJVyGS9gvX1Q", "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8");
        let wallets = format!(
            "Order ID,Full name,ID No,Passport No,D.O.B (DD/MM/YYYY),Virtual currency address / User ID,Currency
ASO 13/26,,,,,{bitcoin} (BCH),
,,,,,{bitcoin} BCH,
,,,,,LTC {shared},-
,,,,,{bitcoin} - Bitcoin Cash,
,,,,,{shared} לייטקוין,
,,,,,{bitcoin},
,,,,,{bitcoin} / {shared},
"
        );
        let labels = read(&FORMAT, &[("wallets.csv", &wallets)]).unwrap();
        let both = format!("{bitcoin} / {shared}");
        let expected = [
            (bitcoin, "BCH"),
            (bitcoin, "BCH"),
            (shared, "LTC"),
            (bitcoin, "BCH"),
            (shared, "LTC"),
            (bitcoin, "evm"),
            (both.as_str(), "evm"),
        ];
        assert_eq!(addresses(&labels), expected);
    }

    #[test]
    fn wallets_belong_to_the_order_above_them() {
        let labels = read(&FORMAT, &[("wallets.csv", HEBREW), ("releases.csv", RELEASES)]).unwrap();
        let both = "0xD90671cFb674F0aD27FF01B0a693db133961978e, TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx";
        let (first, second) = ("TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G", "13u8BH7G5sWkmfH7PJ9d1knJVyGS9gvX1Q");
        let dogecoin = "D8XskHfyM9eN6g9aB5zJ16oCUT9DRPpfbf";
        let expected = [(first, "USDT"), (both, "evm"), ("-", "evm"), (second, "BTC"), (dogecoin, "DOGE")];
        assert_eq!(addresses(&labels), expected);
        let rest: Vec<_> = rows(&labels).into_iter().map(|row| (row.2, row.3, row.4)).collect();
        let row = |name, since: &str, until: &str| (name, since.to_owned(), until.to_owned());
        let expected = [
            row(Some("פלוני אלמוני"), "2026-04-05", "2028-04-05"),
            row(None, "2026-04-05", "2028-04-05"),
            row(None, "2026-04-05", "2028-04-05"),
            row(None, "2021-02-03", "2023-02-03"),
            row(None, "", ""),
        ];
        assert_eq!(rest, expected);
        assert!(labels.claims.iter().all(|claim| claim.concepts == ["terrorist_financing"]));
        assert_eq!(labels.warnings.len(), 1);
        assert!(labels.warnings[0].contains("the orders 1/21"), "{:?}", labels.warnings);
    }

    #[test]
    fn the_english_table_has_orders_in_a_column_of_their_own() {
        let wallets =
            "Order ID,Full name,ID No,Passport No,D.O.B (DD/MM/YYYY),Virtual currency address / User ID,Currency
ASO 13/26
,,,,,TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G,
,,,,,TPHXAYWa2dSFx8Budif1gFHc7CEABpnYsv,TPHXAYWa2dSFx8Budif1gFHc7CEABpnYsv,
TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx
\"ASO - 5/24\",JANE DOE,2000,,37828,361738751,
,-,-,,36875,112135576,
,,ID card no.: 803846328,,,,
";
        let releases = "File Type,Last Updated,Validity of Issue
Seizure order (ASO 13/26) of the Minister of Defense,03.09.2025,01.09.2027
Annex of the Seizure Order (ASO - 13/26) - Wallet Details,04.09.2025,-
Seizure order (ASO 5/24) of the Minister of Defense,28.03.2024,Forfeiture Order (FO 18/24)
Annex of the Seizure Order - Wallet Details,1.7.2021,-
";
        let labels = read(&FORMAT, &[("wallets.csv", wallets), ("releases.csv", releases)]).unwrap();
        let row = |address, name, since: &str, until: &str| (address, name, since.to_owned(), until.to_owned());
        let found: Vec<_> = rows(&labels).into_iter().map(|row| (row.0, row.2, row.3, row.4)).collect();
        let expected = [
            row("TRbDXViurAKF6xCvGQ1Xf668x7mEW5Ae4G", None, "2025-09-03", "2027-09-01"),
            row("TPHXAYWa2dSFx8Budif1gFHc7CEABpnYsv", None, "2025-09-03", "2027-09-01"),
            row("TMAT4gCKShmGPXFseYAVdJXBKcLguF2BHx", None, "2025-09-03", "2027-09-01"),
            row("361738751", Some("JANE DOE"), "2024-03-28", ""),
            row("112135576", None, "2024-03-28", ""),
        ];
        assert_eq!(found, expected);
        assert!(labels.warnings.is_empty(), "{:?}", labels.warnings);
    }
}
