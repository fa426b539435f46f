//! The lists of OFAC as text: `sdnlist.txt`, and the same by program or country.
//!
//! An entry is a paragraph of wrapped lines: the name, other names in brackets, addresses and remarks, and the programs in
//! square brackets at its end. Wallets are among the remarks, as in the CSV.

use headwater_types::Timestamp;

use super::super::raw::RawLabels;
use super::ofac::{self, WALLET, listed};
use super::official::{month, ticker};
use super::{Format, Given};
use crate::source::{Content, Probe, plain_number};
use crate::{IngestError, Place};

pub(super) const FORMAT: Format = ofac::format("ofac_text", reads, read);

/// The first line of each text that OFAC publishes.
const TITLE: &str = "OFFICE OF FOREIGN ASSETS CONTROL";
/// Lines at the beginning that may state the date of the list.
const FIRST_LINES: usize = 20;

fn reads(probe: &Probe) -> bool {
    let beginning = probe.head().get(..2_000).unwrap_or(probe.head());
    let beginning = String::from_utf8_lossy(beginning).to_uppercase();
    let has_title = beginning.trim_start_matches('\u{feff}').trim_start().starts_with(TITLE);
    let is_named = {
        let name = probe.input().name().to_lowercase();
        name.starts_with("sdnlist") && name.to_ascii_lowercase().ends_with("txt") && *probe.content() == Content::Binary
    };
    // The record of changes contains names that were removed.
    (has_title || is_named) && !is_changes(&beginning)
}

/// The description of a record of changes, and the remedy.
pub(super) const RECORD_OF_CHANGES: &str = "is OFAC's record of changes, which also names who was removed: import sdn.csv with \
    sdn_comments.csv, or sdnlist.txt";

/// Returns true if a text that begins so, in capitals, is a record of changes: what was added, and what was removed.
///
/// The list itself also speaks of changes to its entries, but not in a heading.
pub(super) fn is_changes(beginning: &str) -> bool {
    let mut is_heading = true;
    let mut has_heading = false;
    for line in beginning.lines().map(str::trim) {
        let heading = line.strip_prefix(TITLE).unwrap_or(line).trim_start();
        has_heading |= is_heading && heading.starts_with("CHANGES TO");
        is_heading = line.is_empty() || line.ends_with(TITLE);
    }
    let words: Vec<&str> = beginning.split_whitespace().collect();
    has_heading || words.join(" ").split([':', ';', '.']).any(announces_changes)
}

/// Returns true if a sentence in capitals says that what follows was removed or changed: `The following deletions have been made`.
fn announces_changes(sentence: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    has(&["FOLLOWING", "BELOW"]) && has(&["DELETI", "DELETE", "REMOV", "DELIST", "CHANGE", "AMEND"])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        let content = input.read_document()?;
        let text = String::from_utf8_lossy(&content);
        let date = text.lines().take(FIRST_LINES).find_map(written_date);
        labels.list_date = labels.list_date.max(date);
        let mut entry = Entry::default();
        for (number, line) in (1..).zip(text.lines()) {
            if entry.announces_changes() {
                let (path, what) = (input.path().to_owned(), RECORD_OF_CHANGES.to_owned());
                return Err(IngestError::NoAddresses { path, what });
            }
            if line.trim().is_empty() {
                std::mem::take(&mut entry).read(&mut labels);
                continue;
            }
            entry.add(number, line);
            if entry.is_ended() {
                std::mem::take(&mut entry).read(&mut labels);
            }
        }
        if entry.is_cut() {
            return Err(input.damaged(Some(entry.place()), "it ends inside of an entry: it was cut off"));
        }
        entry.read(&mut labels);
    }
    Ok(labels)
}

/// The first day of a text such as `July 25, 2026`.
fn written_date(line: &str) -> Option<Timestamp> {
    let [name, day, year] = line.split([' ', ',']).filter(|part| !part.is_empty()).collect::<Vec<_>>()[..] else {
        return None;
    };
    super::official::date(plain_number(year)?, month(name)?, plain_number(day)?)
}

/// The lines of an entry, joined with a blank.
#[derive(Default)]
struct Entry {
    first_line: u64,
    text: String,
}

impl Entry {
    fn add(&mut self, line: u64, text: &str) {
        if self.text.is_empty() {
            self.first_line = line;
        } else {
            self.text.push(' ');
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        self.text.push_str(&words.join(" "));
    }

    fn place(&self) -> Place {
        Place::Line(self.first_line)
    }

    /// Returns true if the programs are read, which end an entry; other parties that it is linked to may be behind them.
    fn is_ended(&self) -> bool {
        let count = |mark| self.text.matches(mark).count();
        let is_closed = || count('(') == count(')') && count('[') == count(']');
        self.text.ends_with("].") || self.text.ends_with(").") && self.text.contains(" [") && is_closed()
    }

    /// Returns true if it is no entry: the entries below it were removed or changed.
    fn announces_changes(&self) -> bool {
        let is_sentence = self.text.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("the following "));
        is_sentence && announces_changes(self.text.split(':').next().unwrap_or_default().to_uppercase().as_str())
    }

    /// Returns true if an entry with a wallet ends without its programs or a full stop.
    fn is_cut(&self) -> bool {
        self.text.contains(WALLET) && !self.text.trim_end_matches('\u{1a}').ends_with(['.', ']', ')'])
    }

    fn read(self, labels: &mut RawLabels) {
        let name = name_of(&self.text);
        for wallet in self.text.split(WALLET).skip(1) {
            let mut words = wallet.trim_start_matches([' ', '-']).split(' ');
            let coin = words.next().unwrap_or_default();
            let address = words.next().unwrap_or_default();
            let address = address.trim_end_matches(|letter: char| !letter.is_alphanumeric());
            labels.claims.push(listed(Place::Line(self.first_line), address, ticker(Some(coin)), Some(&name)));
        }
    }
}

/// The name that an entry begins with: `DOE, Jane` of a person, `EXAMPLE CO., LTD.` of anybody else. Names of companies
/// are in capitals, the address behind them is not.
fn name_of(entry: &str) -> String {
    let end = [" (", ";", " ["].iter().filter_map(|mark| entry.find(mark)).min().unwrap_or(entry.len());
    let parts: Vec<&str> = entry.get(..end).unwrap_or(entry).split(", ").collect();
    let is_person = entry.contains("(individual)");
    let is_name = |part: &&&str| !part.chars().any(char::is_lowercase);
    let count = if is_person { 2 } else { parts.iter().take_while(is_name).count().max(1) };
    parts.iter().take(count).copied().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const LIST: &str = "OFFICE OF FOREIGN ASSETS CONTROL\r
\r
SPECIALLY DESIGNATED NATIONALS & BLOCKED PERSONS\r
\r
March 4, 2026\r
\r
This publication lists names; wallets are in the remarks.\r
\r
EXAMPLE TRADING CO., LTD., Harbour Road 1, Example City, Nowhere [SDGT].\r
\r
EXAMPLE EXCHANGE (a.k.a. SAMPLE EXCHANGE); Website www.example.org; Digital\r
      Currency Address - XBT\r
      17o3tZcvo9JU29RKeBEpaqvxjCjuyyJ2CV; alt. Digital Currency Address -\r
      LTC LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp; Organization Established Date 2019 [CYBER2].\r
ROE, Richard, Example City, Nowhere; DOB 1 Jan 1980; Digital Currency Address - ETH\r
      0xD389FE6a479A836797eb0F1497CDD90Fa9e028Df (individual) [DPRK3] (Linked To: EXAMPLE\r
      GROUP).\r
";

    #[test]
    fn wallets_are_in_wrapped_paragraphs() {
        let labels = read(&FORMAT, &[("sdnlist.txt", LIST)]).unwrap();
        let expected = [
            ("17o3tZcvo9JU29RKeBEpaqvxjCjuyyJ2CV", "XBT"),
            ("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp", "LTC"),
            ("0xD389FE6a479A836797eb0F1497CDD90Fa9e028Df", "ETH"),
        ];
        assert_eq!(addresses(&labels), expected);
        let names: Vec<_> = rows(&labels).into_iter().map(|row| row.2).collect();
        assert_eq!(names, [Some("EXAMPLE EXCHANGE"), Some("EXAMPLE EXCHANGE"), Some("ROE, Richard")]);
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-03-04T00:00:00Z");
        assert_eq!(labels.claims[2].place, Some(Place::Line(15)));
    }

    #[test]
    fn linked_parties_end_an_entry_before_the_next_one() {
        let list = format!(
            "{LIST}EXAMPLE MIXER; Digital Currency Address - XBT\r\n      15XfF3if5W3CdJeNQqHQwudSpmK2Dpj69q [CYBER2] (Linked To:\r\n      OTHER (GROUP)).\r\nEXAMPLE SHOP; Digital Currency Address - XBT 1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV [CYBER2].\r\n"
        );
        let labels = read(&FORMAT, &[("sdnlist.txt", &list)]).unwrap();
        let names: Vec<_> = rows(&labels).into_iter().map(|row| row.2).collect();
        assert_eq!(names[2..], [Some("ROE, Richard"), Some("EXAMPLE MIXER"), Some("EXAMPLE SHOP")]);
    }

    #[test]
    fn a_notice_of_deletions_is_refused_wherever_it_says_so() {
        // Behind the part by which formats are distinguished.
        let blank = "\r\n".repeat(1_000);
        let notice = [LIST, &blank, "The following names have been removed from\r\nthe list:\r\n\r\n", LIST].concat();
        let error = read(&FORMAT, &[("sdnlist.txt", &notice)]).unwrap_err().to_string();
        assert!(error.contains("record of changes"), "{error}");
        let list = LIST.replace("wallets are", "users check it for other\r\nchanges to the listings, and wallets are");
        assert_eq!(read(&FORMAT, &[("sdnlist.txt", &list)]).unwrap().claims.len(), 3);
    }

    #[test]
    fn entry_names_end_before_addresses() {
        for (entry, name) in [
            ("EXAMPLE TRADING CO., LTD., Harbour Road 1, Nowhere [SDGT].", "EXAMPLE TRADING CO., LTD."),
            ("Example Mixer; Digital Currency Address - XBT 1 [X].", "Example Mixer"),
            ("DOE, Jane (a.k.a. X), Nowhere (individual) [X].", "DOE, Jane"),
            ("DOE, Jane, Nowhere; DOB 1980 (individual) [X].", "DOE, Jane"),
        ] {
            assert_eq!(name_of(entry), name);
        }
    }

    #[test]
    fn a_list_that_ends_inside_of_a_wallet_is_an_error() {
        let cut = LIST.split("836797").next().unwrap();
        let error = read(&FORMAT, &[("sdnlist.txt", cut)]).unwrap_err().to_string();
        assert!(error.contains("line 15") && error.contains("cut off"), "{error}");
    }
}
