use super::super::reading::testing::{all_shown, probes, read_given};
use super::*;

const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
const B: &str = "0x0494c0950a34a7f024c18ad5dca185f4aa01d307";
const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";
const TRON: &str = "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV";

fn coded(name: &str, text: &str) -> RawLabels {
    let given = Given { code: Some("hack".to_owned()), ..Given::default() };
    read_given(&FORMAT, &[(name, text)], &given).unwrap()
}

fn shown(name: &str, text: &str) -> Vec<String> {
    all_shown(&coded(name, text))
}

fn is_read(name: &str, text: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    reads(&probes(folder.path(), &[(name, text)])[0])
}

fn error(name: &str, text: &str) -> String {
    read_given(&FORMAT, &[(name, text)], &Given::default()).unwrap_err().to_string()
}

#[test]
fn each_line_is_an_address_with_a_remark() {
    for text in [
        format!("{A}\n{BITCOIN}\n"),
        format!("\u{feff}# blocked\r\n\r\n{A}\r\n// more\r\n{BITCOIN}"),
        format!("address\n{A}\n{BITCOIN}\n"),
        format!("const blocked = [\n  \"{A}\",\n  '{BITCOIN}',\n]\n"),
        format!("{A}.\n{BITCOIN};\n"),
        format!("- `{A}`\n- `{BITCOIN}`\n"),
        format!("1. {A}\n2. {BITCOIN}\n"),
    ] {
        assert_eq!(shown("list.txt", &text), [A, BITCOIN], "{text}");
    }
    for text in [
        format!("{A} - Exploiter"),
        format!("{A},Exploiter"),
        format!("{A}\tExploiter"),
        format!("{A}: Exploiter"),
        format!("- {A} (Exploiter)"),
        format!("{A} # Exploiter"),
        format!("  \"{A}\": \"Exploiter\","),
        format!("{A} | Exploiter"),
        format!("{A} = Exploiter"),
    ] {
        assert_eq!(
            shown("list.md", &format!("{text}\n{B}\n")),
            [format!("{A} | named Exploiter"), B.to_owned()],
            "{text}"
        );
    }
    let labels = coded("list.txt", &format!("eip155:10:{A}\nhttps://bscscan.com/address/{B}\n"));
    assert_eq!(all_shown(&labels), [format!("{A} | on eip155:10"), format!("https://bscscan.com/address/{B}")]);
    assert_eq!(labels.claims[1].place, Some(Place::Line(2)));
}

#[test]
fn markdown_tables_have_columns() {
    let table =
        format!("# Example\n\n| address | name | amount |\n|---|---|---|\n| {A} | Exploiter | 5 |\n| `{B}` | | 6 |\n");
    let labels = coded("table.md", &table);
    assert_eq!(all_shown(&labels), [format!("{A} | named Exploiter"), B.to_owned()]);
    assert_eq!(labels.warnings, ["columns that were not read: amount"]);
    let table = format!(
        "| Network | Category | Wallet | Owner |\n| :-- | :-- | :-- | :-- |\n| TRON | mixer | {TRON} | Somebody |\n"
    );
    assert_eq!(shown("table.md", &table), [format!("{TRON} | on TRON | mixer | of Somebody")]);
}

#[test]
fn victims_and_sentences_are_left_out() {
    let text = format!(
        "# Report\n\nMoney went from {A} to {B}.\n\n- {A} - Exploiter\n- {B} - Victim 1\n\n## Victims\n\n- {TRON}\n\n## Others\n- {BITCOIN}\n"
    );
    let labels = coded("report.md", &text);
    assert_eq!(all_shown(&labels), [format!("{A} | named Exploiter"), BITCOIN.to_owned()]);
    assert_eq!(
        labels.warnings,
        [
            "addresses of victims or exceptions are left out: 2, the first in line 6",
            "lines that do not begin with an address are left out: 1, the first in line 3",
        ]
    );
}

#[test]
fn denied_addresses_are_left_out() {
    for remark in [
        " no",
        " 0",
        ",0",
        " false",
        " safe",
        " not scam",
        " legit",
        " removed",
        " - not malicious, exchange",
        " innocent user",
        " - white hat",
        " (scam: no)",
        " # removed from list 2024",
        " legit exchange",
        " - exchange (not the attacker)",
    ] {
        let labels = coded("a.txt", &format!("{A}{remark}\n{B} yes\n{TRON},1\n{BITCOIN} no. 5\n"));
        let last = format!("{BITCOIN} | named no. 5");
        assert_eq!(all_shown(&labels), [B, TRON, &last], "{remark}");
        assert_eq!(labels.warnings, ["addresses of victims or exceptions are left out: 1, the first in line 1"]);
    }
    for heading in [
        "### Removed from list",
        "## Refunded wallets (safe)",
        "Exchange deposit addresses (not the attacker):",
        "# Safe addresses",
        "Not scammers:",
    ] {
        assert_eq!(shown("a.md", &format!("- {B}\n\n{heading}\n- {A}\n")), [B], "{heading}");
    }
    for value in [r#""0""#, r#""no""#, "0", r#""safe""#, r#""not a scam""#, r#""benign""#, r#"["legit", "x"]"#] {
        let labels = coded("a.json", &format!(r#"{{"{A}": {value}, "{B}": 1, "{TRON}": "1"}}"#));
        assert_eq!(all_shown(&labels), [B, TRON], "{value}");
        assert_eq!(labels.warnings.len(), 1);
    }
    for key in ["not a scam", "safe", "not_scam", "legit wallets"] {
        assert_eq!(shown("a.json", &format!(r#"{{"{key}": ["{A}"], "addresses": ["{B}"]}}"#)), [B], "{key}");
    }
    assert_eq!(shown("a.json", &format!(r#"{{"0": "{A}", "1": "{B}"}}"#)), [A, B]);
    for remark in ["No KYC exchange", "removed liquidity", "balance: 0", "Safeguard"] {
        assert_eq!(shown("a.txt", &format!("{A} - {remark}\n")), [format!("{A} | named {remark}")]);
    }
}

#[test]
fn networks_beside_addresses_are_their_chains() {
    for text in [
        format!("## polygon\n- {A}\n"),
        format!("Polygon:\n{A}\n"),
        format!("# Polygon\n## Exploiters\n- {A}\n"),
        format!("{A} polygon"),
        format!("{A} # polygon"),
        format!("{A}, polygon"),
        format!("{A} (Polygon)"),
        format!("# Base\n{A} - Polygon"),
        format!("- [{A}](https://polygonscan.com/address/{A})\n"),
        format!("| Address | Network |\n|---|---|\n| {A} | polygon |\n"),
        format!("| Address | Name |\n|---|---|\n| {A} | polygon |\n"),
    ] {
        let expected = format!("{A} | on polygon");
        assert_eq!(shown("a.md", &text).join("\n").to_lowercase(), expected, "{text}");
    }
    let labels = coded("a.md", &format!("| Address | Coin |\n|---|---|\n| {BITCOIN} | Litecoin |\n"));
    assert_eq!(labels.claims[0].chain, ChainHint::Ticker("Litecoin".to_owned()));
    assert_eq!(shown("a.md", &format!("## Base\n- {A}\n## Others\n- {B} core\n"))[1], format!("{B} | named core"));
    assert_eq!(
        shown("a.md", &format!("* [{A}](https://bscscan.com/address/{A}) – Exploiter")),
        [format!("{A} | on bsc | named Exploiter")]
    );
}

#[test]
fn tables_with_columns_that_may_deny_are_refused() {
    for column in ["Scam?", "Status", "Sanctioned", "Removed on"] {
        let table = format!("| Address | {column} |\n|---|---|\n| {A} | x |\n");
        assert!(error("a.md", &table).contains("needs its table as CSV"), "{column}");
    }
}

#[test]
fn tables_below_a_title_are_refused() {
    for mark in [",", ";", "\t"] {
        let table = format!(
            "Screening 2026-11-01\n\nAddress{mark}isSanctioned\n{A}{mark}true\n{B}{mark}false\n{TRON}{mark}true\n{BITCOIN}{mark}true\n"
        );
        assert!(error("a.csv", &table).contains("the table has lines above its header in line 3"), "{table}");
    }
}

#[test]
fn pairs_of_addresses_are_not_lists() {
    for arrow in ["->", "-->", "=>", " -> ", " → ", " = ", "=", ": ", " - ", " to ", " <- "] {
        for (name, text) in [("a.txt", format!("{A}{arrow}{B}\n")), ("a.md", format!("- {A}{arrow}`{B}`\n"))] {
            assert!(!is_read(name, &text), "{text}");
        }
    }
    for text in [
        format!("{A},{B}\n"),
        format!("{A},{B}\n{B},{A}\n"),
        format!("{A}\t{B}\n{B}\t{A}\n{A}\n"),
        format!("{A},{B},{TRON}\n{B},{A},{TRON}\n"),
    ] {
        let error = error("a.txt", &text);
        assert!(error.contains("needs a header: most lines have"), "{text}: {error}");
    }
    for pairs in [format!(r#"{{"{A}": "{B}"}}"#), format!(r#"{{"{A}": ["{B}"], "{B}": "x"}}"#)] {
        assert!(!is_read("a.json", &pairs), "{pairs}");
    }
    let table = format!("| from | to |\n|---|---|\n| {A} | {B} |\n");
    assert!(!is_read("a.md", &table));
    // Lists in one line, and links to the same address.
    let text = format!("{A}, {BITCOIN}, {TRON}\n{B},https://etherscan.io/address/{B}\n");
    assert_eq!(shown("a.txt", &text), [A, BITCOIN, TRON, &format!("{B} | on ethereum")]);
    let table = format!("| wallet | link |\n|---|---|\n| {A} | https://etherscan.io/address/{A} |\n");
    assert_eq!(shown("a.md", &table), [format!("{A} | on ethereum")]);
    let text = format!(
        "{A} - https://etherscan.io/address/{A}
{B} - Exploiter (https://etherscan.io/address/{B})
"
    );
    assert_eq!(shown("a.txt", &text), [format!("{A} | on ethereum"), format!("{B} | on ethereum | named Exploiter")]);
}

#[test]
fn prose_and_tables_are_not_lists() {
    for (name, text) in [
        ("prose.txt", format!("A text about {A} that lists nothing.\n")),
        ("log.txt", format!("started\n{A} was seen\nstopped\n")),
        ("note.md", format!("# Title\n\n{A} is named here once.\n\nMore words.\n\n- an item\n")),
        ("prose.md", "# Title\n\nNo address at all.\n".to_owned()),
        ("table.csv", format!("wallet,amount\n{A},5\n")),
        ("hashes.txt", "0x16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3\n".to_owned()),
        ("page.html", format!("<html>\n{A}\n</html>")),
        ("transfers.json", format!(r#"[{{"from": "{A}", "to": "{B}", "value": "5"}}]"#)),
        ("transaction.json", format!(r#"{{"from": "{A}", "to": "{B}", "value": "5"}}"#)),
        ("names.json", r#"["a", "b"]"#.to_owned()),
        ("logs.json", format!(r#"{{"logs": [{{"address": "{A}", "topics": []}}]}}"#)),
    ] {
        assert!(!is_read(name, &text), "{text}");
    }
}

#[test]
fn json_lists_and_names_are_read() {
    assert_eq!(shown("blocked.json", &format!(r#"["{A}", "{BITCOIN}"]"#)), [A, BITCOIN]);
    assert_eq!(shown("a.json", &format!(r#"{{"addresses": ["{A}"], "updated": "2024-05-06"}}"#)), [A]);
    assert_eq!(
        shown("a.json", &format!(r#"{{"ethereum": ["{A}"], "TRON": ["{TRON}"], "56": ["{B}"]}}"#)),
        [format!("{A} | on ethereum"), format!("{TRON} | on TRON"), format!("{B} | on 56")]
    );
    assert_eq!(
        shown("a.json", &format!(r#"{{"Example Exchange": ["{A}", "{B}"], "Other": "{BITCOIN}"}}"#)),
        [
            format!("{A} | named Example Exchange"),
            format!("{B} | named Example Exchange"),
            format!("{BITCOIN} | named Other"),
        ]
    );
    assert_eq!(
        shown("a.json", &format!(r#"{{"{A}": "Binance 14", "{B}": ["x", "y"], "{BITCOIN}": null}}"#)),
        [format!("{A} | named Binance 14"), format!("{B} | named x, y"), BITCOIN.to_owned()]
    );
    assert_eq!(
        shown("a.json", &format!(r#"{{"bsc": {{"{A}": "Binance 14"}}, "eth": {{"Kraken": ["{B}"]}}}}"#)),
        [format!("{A} | on bsc | named Binance 14"), format!("{B} | on eth | named Kraken")]
    );
}

#[test]
fn json_members_name_networks_by_names_and_ids_of_the_table() {
    for (first, second) in [("2022", "2023"), ("2020", "2021"), ("1", "2"), ("10", "11"), ("1", "5"), ("2020", "1")] {
        let text = format!(r#"{{"{first}": ["{A}"], "{second}": ["{B}"]}}"#);
        assert_eq!(shown("a.json", &text), [A, B], "{text}");
    }
    for name in ["core", "mode", "flow", "gas", "Core Wallet"] {
        let text = format!(r#"{{"{name}": ["{A}"]}}"#);
        assert_eq!(shown("a.json", &text), [format!("{A} | named {name}")], "{text}");
    }
    for (first, second) in [("1", "56"), ("10", "137"), ("2020", "bsc"), ("0x1", "0x38"), ("eip155:1", "LTC")] {
        let text = format!(r#"{{"{first}": ["{A}"], "{second}": ["{B}"], "version": "2"}}"#);
        assert_eq!(shown("a.json", &text), [format!("{A} | on {first}"), format!("{B} | on {second}")], "{text}");
    }
    assert_eq!(
        shown("a.json", &format!(r#"{{"56": ["{A}"], "Example": ["{B}"]}}"#)),
        [A.to_owned(), format!("{B} | named Example")]
    );
}

#[test]
fn json_exceptions_are_left_out() {
    let labels = coded("a.json", &format!(r#"{{"blacklist": ["{A}"], "whitelist": ["{B}"]}}"#));
    assert_eq!(all_shown(&labels), [A]);
    assert_eq!(labels.warnings.len(), 1);
    let labels = coded("a.json", &format!(r#"{{"{A}": true, "{B}": false, "{TRON}": 5}}"#));
    assert_eq!(all_shown(&labels), [A, TRON]);
    assert_eq!(labels.warnings.len(), 2);
}

#[test]
fn rows_of_exceptions_are_read_by_no_format() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        format!(r#"{{"whitelist": [{{"address": "{A}", "name": "x"}}]}}"#),
        format!(r#"{{"victims": [{{"address": "{A}", "category": "phishing"}}], "updated": "2024"}}"#),
        format!("{{\n\"data\": {{\"false_positives\": [{{\"address\": \"{A}\", \"category\": \"phishing\"}}]}}\n}}"),
        format!(r#"{{"whitelist": {{"{A}": {{"name": "x", "category": "phishing"}}}}}}"#),
        format!(r#"{{"blacklist": [{{"address": "{A}"}}], "whitelist": [{{"address": "{B}", "name": "x"}}]}}"#),
    ] {
        let probe = &probes(folder.path(), &[("a.json", &text)])[0];
        let taken = super::super::FORMATS.iter().find(|format| (format.reads)(probe)).map(|format| format.name);
        assert_eq!(taken, None, "{text}");
    }
}

#[test]
fn addresses_in_deep_members_are_counted() {
    let deep = format!(
        r#"{{"x":{{"a":{{"b":{{"c":{{"d":{{"e":{{"f":["{B}", {{"{TRON}": null}}]}}}}}}}}}}}}, "addresses": ["{A}"]}}"#
    );
    let labels = coded("a.json", &deep);
    assert_eq!(all_shown(&labels), [A]);
    assert_eq!(labels.warnings, ["addresses in other places of the document are left out: 2, the first in row 1"]);
}

#[test]
fn lists_without_names_need_a_code() {
    for (name, text) in [("a.txt", format!("{A}\n")), ("a.json", format!(r#"["{A}"]"#))] {
        assert!(error(name, &text).contains("needs --code: it is a list of addresses"), "{text}");
    }
    let named = read_given(&FORMAT, &[("a.json", &format!(r#"{{"{A}": "Binance 14"}}"#))], &Given::default()).unwrap();
    assert_eq!(all_shown(&named), [format!("{A} | named Binance 14")]);
}

#[test]
fn rows_without_a_header_are_refused() {
    let error = error("a.csv", &format!("{A},2024-05-06,scam\n"));
    assert!(error.contains("needs a header: line 1 has an address and 2 more fields"), "{error}");
}
