//! The addresses of OFAC's lists, a file per ticker: `sanctioned_addresses_XBT.txt`, or the same as JSON.
//!
//! 0xB10C publishes these files, and Brave all tickers in one: `ofac-sanctioned-digital-currency-addresses.json` with
//! `{"addresses": []}`. Under which ticker an address stands says little about its chain.

use super::super::raw::RawLabels;
use super::ofac::{self, listed};
use super::official::ticker;
use super::{Format, Given};
use crate::source::json::{self, Value};
use crate::source::{Input, Probe};
use crate::{IngestError, Place};

pub(super) const FORMAT: Format = ofac::format("ofac_lists", reads, read);

fn reads(probe: &Probe) -> bool {
    // By the name alone: such a file without an address is an empty list, which is refused.
    named(probe.input()).is_some()
}

/// The form of a file, and its ticker.
enum Named {
    Lines(String),
    Json(String),
    /// All tickers, without saying which.
    Brave,
}

/// The file of Brave.
const BRAVE: &str = "ofac-sanctioned-digital-currency-addresses";

fn named(input: &Input) -> Option<Named> {
    let name = input.name();
    if name.starts_with(BRAVE) && name.to_ascii_lowercase().ends_with("json") {
        return Some(Named::Brave);
    }
    let rest = name.strip_prefix("sanctioned_addresses_")?;
    let is_ticker = |ticker: &&str| !ticker.is_empty() && ticker.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let of_ending = |ending: &str| rest.strip_suffix(ending).filter(is_ticker).map(str::to_owned);
    of_ending(".txt").map(Named::Lines).or_else(|| of_ending(".json").map(Named::Json))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        match named(input) {
            Some(Named::Lines(coin)) => read_lines(input, &coin, &mut labels)?,
            Some(Named::Json(coin)) => read_json(input, Some(&coin), &mut labels)?,
            Some(Named::Brave) => read_json(input, None, &mut labels)?,
            None => return Err(input.damaged(None, "its name is not sanctioned_addresses_XBT.txt or the like")),
        }
    }
    Ok(labels)
}

fn read_lines(input: &Input, coin: &str, labels: &mut RawLabels) -> Result<(), IngestError> {
    let mut lines = input.lines()?;
    while let Some((number, line)) = lines.next_line()? {
        let place = Place::Line(number);
        let line = std::str::from_utf8(line).map_err(|_| input.damaged(Some(place), "it is no text in UTF-8"))?;
        if !line.trim().is_empty() {
            labels.claims.push(listed(place, line.trim(), ticker(Some(coin)), None));
        }
    }
    Ok(())
}

fn read_json(input: &Input, coin: Option<&str>, labels: &mut RawLabels) -> Result<(), IngestError> {
    let content = input.read_document()?;
    let text = std::str::from_utf8(&content).map_err(|_| input.damaged(None, "it is no text in UTF-8"))?;
    let document = json::parse(text.trim_start_matches('\u{feff}'), input.bounds())
        .map_err(|error| input.damaged(u64::try_from(error.at).ok().map(Place::Byte), format!("it is not {error}")))?;
    let list = document.get("addresses").unwrap_or(&document);
    let Value::List(items) = list else { return Err(input.damaged(None, "it is no list of addresses")) };
    for (number, item) in (1..).zip(items) {
        let place = Place::Row(number);
        let address = item.text().ok_or_else(|| input.damaged(Some(place), "it is no text"))?;
        labels.claims.push(listed(place, address, ticker(coin), None));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read};
    use super::*;

    #[test]
    fn files_of_several_tickers_are_one_import() {
        let files = [
            (
                "sanctioned_addresses_XBT.txt",
                "1zoXyXSQFozQWnriqBQQcrLZaApP9LKhP\r\n\r\nTJoy9rCeqzFvnCGDcE6RaLwVPGuG2JBWMF \r\n",
            ),
            ("sanctioned_addresses_ETH.json", "[\n \"0x86200C2DE13d46aFF78B1eb1C46d27F9f29311B7\"\n]"),
            ("sanctioned_addresses_DASH.txt", "Xp2YaqpCUpvNL4SdaiXkCLKHKddV5jjLyb"),
        ];
        let labels = read(&FORMAT, &files).unwrap();
        let expected = [
            ("1zoXyXSQFozQWnriqBQQcrLZaApP9LKhP", "XBT"),
            ("TJoy9rCeqzFvnCGDcE6RaLwVPGuG2JBWMF", "XBT"),
            ("0x86200C2DE13d46aFF78B1eb1C46d27F9f29311B7", "ETH"),
            ("Xp2YaqpCUpvNL4SdaiXkCLKHKddV5jjLyb", "DASH"),
        ];
        assert_eq!(addresses(&labels), expected);
        assert_eq!(labels.claims[1].place, Some(Place::Line(3)));
    }

    #[test]
    fn the_list_of_brave_names_no_tickers() {
        let list =
            r#"{"addresses": ["0x86200C2DE13d46aFF78B1eb1C46d27F9f29311B7", "1zoXyXSQFozQWnriqBQQcrLZaApP9LKhP"]}"#;
        let labels = read(&FORMAT, &[("ofac-sanctioned-digital-currency-addresses.json", list)]).unwrap();
        let expected =
            [("0x86200C2DE13d46aFF78B1eb1C46d27F9f29311B7", "evm"), ("1zoXyXSQFozQWnriqBQQcrLZaApP9LKhP", "evm")];
        assert_eq!(addresses(&labels), expected);
    }

    #[test]
    fn an_empty_list_states_nothing_and_a_damaged_one_is_an_error() {
        assert!(read(&FORMAT, &[("sanctioned_addresses_ETH.txt", "\n")]).unwrap().claims.is_empty());
        assert!(read(&FORMAT, &[("sanctioned_addresses_ETH.txt", "")]).unwrap().claims.is_empty());
        for content in ["[\"0x86200C2DE13d46aFF78B1eb1C46d27F9f29311B7\"", "{\"a\": 1}", "[null]"] {
            assert!(read(&FORMAT, &[("sanctioned_addresses_ETH.json", content)]).is_err(), "{content}");
        }
    }
}
