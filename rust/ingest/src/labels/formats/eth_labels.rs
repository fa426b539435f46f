//! Tables of `eth-labels`: a row per label of an address or a token, as CSV with names in JSON quotes, or as JSON.

use headwater_ledger::labels::Level;

use super::name_tag::{GROUP, NameTag, VOCABULARY};
use super::reading::{each_table_row, filled};
use super::{Files, Format, Given};
use crate::error::{FieldError, RowError};
use crate::labels::raw::{ChainHint, RawLabels};
use crate::source::{Bounds, Content, Probe, json};
use crate::{IngestError, Place};

/// Source: `data/csv` and `data/json` (`accounts`, `tokens`) of `dawsbot/eth-labels`, copied from Etherscan and its sister
/// sites.
pub(super) const FORMAT: Format = Format {
    name: "eth_labels",
    source: "eth-labels",
    group: GROUP,
    level: Level::TrustedProvider,
    vocabulary: VOCABULARY,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

fn reads(probe: &Probe) -> bool {
    probe.has(&["address", "chainId", "label"]) && (probe.has(&["nameTag"]) || probe.has(&["symbol", "name"]))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        match probe.content() {
            Content::Json | Content::Parquet => read_rows(probe, &mut labels)?,
            Content::Csv | Content::Tsv | Content::Empty | Content::Binary => read_table(probe, &mut labels)?,
        }
    }
    Ok(labels)
}

fn read_rows(probe: &Probe, labels: &mut RawLabels) -> Result<(), IngestError> {
    let is_token = !probe.has(&["nameTag"]);
    each_table_row(probe, &["address", "chainId", "label", "nameTag", "name"], labels, |row, labels| {
        let [address, chain, label] = [row.text("address")?, row.text("chainId")?, row.text("label")?];
        let name = row.text("nameTag")?.or(row.text("name")?);
        let tag = NameTag {
            place: row.place(),
            address: filled(address.as_deref()).unwrap_or_default(),
            chain: chain.map_or(ChainHint::None, |id| ChainHint::Chain(id.into_owned())),
            name: name.as_deref(),
            labels: filled(label.as_deref()).into_iter().collect(),
            asserted_at: None,
            is_token,
        };
        tag.add(labels);
        Ok(())
    })
}

fn read_table(probe: &Probe, labels: &mut RawLabels) -> Result<(), IngestError> {
    let input = probe.input();
    let mut lines = input.lines()?;
    let mut header: Vec<String> = Vec::new();
    let is_token = !probe.has(&["nameTag"]);
    while let Some((number, line)) = lines.next_line()? {
        let place = Place::Line(number);
        let line = std::str::from_utf8(line).map_err(|_| input.damaged(Some(place), "it is not valid UTF-8"))?;
        if line.trim().is_empty() {
            continue;
        }
        let row = fields(line, input.bounds());
        if header.is_empty() {
            header = row;
            continue;
        }
        if row.len() < header.len() {
            let expected = format!("{} fields, as the header has", header.len());
            let field = FieldError::new("row", Some(line), expected);
            return Err(IngestError::Row(Box::new(RowError { file: input.path().to_owned(), place, field })));
        }
        let field = |name: &str| {
            let column = header.iter().position(|column| column.eq_ignore_ascii_case(name));
            filled(column.and_then(|column| row.get(column)).map(String::as_str)).filter(|text| *text != "null")
        };
        let tag = NameTag {
            place,
            address: field("address").unwrap_or_default(),
            chain: field("chainId").map_or(ChainHint::None, |id| ChainHint::Chain(id.to_owned())),
            name: field("nameTag").or_else(|| field("name")),
            labels: field("label").into_iter().collect(),
            asserted_at: None,
            is_token,
        };
        tag.add(labels);
    }
    Ok(())
}

/// The fields of a line. A quoted one may escape its quotes as JSON does (`\"`) or as tables do (`""`).
fn fields(line: &str, bounds: &Bounds) -> Vec<String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let end = field_end(rest);
        let (field, after) = rest.split_at(end);
        fields.push(field_text(field.trim(), bounds));
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return fields,
        }
    }
}

/// Returns the end of the first field of a text: a comma outside of quotes.
fn field_end(text: &str) -> usize {
    let is_quoted = text.trim_start().starts_with('"');
    let (mut is_inside, mut is_escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_inside => is_escaped = true,
            '"' if is_quoted => is_inside = !is_inside,
            ',' if !is_inside => return at,
            _ => {}
        }
    }
    text.len()
}

fn field_text(field: &str, bounds: &Bounds) -> String {
    let Some(inner) = field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return field.to_owned() };
    let unescaped = || json::parse(field, bounds).ok().and_then(|value| value.text().map(str::to_owned));
    match inner.contains('\\').then(unescaped).flatten() {
        Some(text) => text,
        None => inner.replace("\"\"", "\""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn each_row_is_one_label() {
        let accounts = "address,chainId,label,nameTag\n\
            0xaede1d7e674698aa264a2d5cea657aa3f8fc9e69,1,phish-hack,Fake_Phishing1234\n\
            0xb8d48757be6fadfed6f01ed166cb76953d55e905,56,binance,Binance: Hot Wallet 6\n\
            0x23a2f62097cdd1058e43f87c7315ac3654f683a0,1,blocked,\"Blocked &amp; Listed\"\n\
            0x5aaac8c3ee7e7a8482a546564935128a7e0815a2,1,art,\"\\\"Hope\\\", by Ne...\"\n\
            0x6406de60ab4ac8bb2ba96e17ca163386b2ceda07,424242,exploit,\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("accounts.csv", accounts)])),
            [
                "0xaede1d7e674698aa264a2d5cea657aa3f8fc9e69 | on 1 | phish-hack | named Fake_Phishing1234",
                "0xb8d48757be6fadfed6f01ed166cb76953d55e905 | on 56 | hot-wallet | named Binance: Hot Wallet 6 | of Binance",
                "0x23a2f62097cdd1058e43f87c7315ac3654f683a0 | on 1 | blocked | named Blocked &amp; Listed | of Blocked &amp; Listed",
                "0x5aaac8c3ee7e7a8482a546564935128a7e0815a2 | on 1 | art | named \"Hope\", by Ne...",
                "0x6406de60ab4ac8bb2ba96e17ca163386b2ceda07 | on 424242 | exploit",
            ]
        );
    }

    #[test]
    fn rows_of_json_are_those_of_the_table() {
        let rows = [
            r#"{"address": "0xaede1d7e674698aa264a2d5cea657aa3f8fc9e69", "chainId": 1, "label": "phish-hack", "nameTag": "Fake_Phishing1234"}"#,
            r#"{"address": "0xb8d48757be6fadfed6f01ed166cb76953d55e905", "chainId": 56, "label": "binance", "nameTag": null}"#,
        ];
        let list = format!("[{}]", rows.join(", "));
        let lines = rows.join("\n");
        let pretty = list.replace(", ", ",\n  ").replace('{', "{\n  ");
        for (name, text) in [("accounts.json", &list), ("accounts.jsonl", &lines), ("accounts.json", &pretty)] {
            assert_eq!(
                all_shown(&read(&FORMAT, &[(name, text)])),
                [
                    "0xaede1d7e674698aa264a2d5cea657aa3f8fc9e69 | on 1 | phish-hack | named Fake_Phishing1234",
                    "0xb8d48757be6fadfed6f01ed166cb76953d55e905 | on 56 | binance",
                ],
                "{text}"
            );
        }
        let tokens = r#"[{"address": "0xb722cd2bfaa4f62fd43854b1db3342ad120c184c", "chainId": 1, "label": "art", "name": "Hope", "symbol": "HOPE"}]"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("tokens.json", tokens)])),
            ["0xb722cd2bfaa4f62fd43854b1db3342ad120c184c | on 1 | token-contract | named Hope"]
        );
    }

    #[test]
    fn tokens_are_token_contracts() {
        let tokens = "address,chainId,label,name,symbol,website,image\n\
            \"0xb722cd2bfaa4f62fd43854b1db3342ad120c184c\",1,\"art\",\"\\\"Hope\\\" by Ne...\",\"HOPE\",\"https://x.example/\",null\n\
            \"0xab1ef6c3abe4eb86348103dccf945a3f68cd7ef7\",1,\"phish-hack\",\"\",\"A \"\"B\"\"\",\"\",null\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("tokens.csv", tokens)])),
            [
                "0xb722cd2bfaa4f62fd43854b1db3342ad120c184c | on 1 | token-contract | named \"Hope\" by Ne...",
                "0xab1ef6c3abe4eb86348103dccf945a3f68cd7ef7 | on 1 | phish-hack+token-contract",
            ]
        );
    }

    #[test]
    fn short_rows_are_an_error_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let table = "address,chainId,label,nameTag\n0x1,1\n";
        let probes = super::super::reading::testing::probes(folder.path(), &[("accounts.csv", table)]);
        let error = (FORMAT.read)(&probes, &Given::default()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("4 fields"), "{error}");
    }

    #[test]
    fn fields_end_at_commas_outside_of_quotes() {
        let read = |line: &str| fields(line, &Bounds::default());
        assert_eq!(read("a,,\"b,c\","), ["a", "", "b,c", ""]);
        assert_eq!(read(r#""say ""x""",5" screen,"\u00e9""#), ["say \"x\"", "5\" screen", "é"]);
        assert_eq!(read("\"open, to the end"), ["\"open, to the end"]);
    }
}
