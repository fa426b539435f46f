//! The lists of OFAC as plain XML: `sdn.xml`, `consolidated.xml`.

use super::super::raw::{ChainHint, RawLabels};
use super::ofac::{self, coin_of, listed};
use super::official::Dates;
use super::{Format, Given};
use crate::IngestError;
use crate::source::{Element, Probe, Step, each_element};

pub(super) const FORMAT: Format = ofac::format("ofac_xml", reads, read);

fn reads(probe: &Probe) -> bool {
    probe.xml_root().is_some_and(|root| root == "sdnList")
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        let mut entry = Entry::default();
        each_element(input, |element| {
            entry.read(element, &mut labels);
            Ok(())
        })?;
    }
    Ok(labels)
}

/// A listed party, as far as it was read.
#[derive(Default)]
struct Entry {
    first_name: String,
    last_name: String,
    /// The coin of the identification that is read, where it is one of a wallet.
    coin: Option<ChainHint>,
    /// Its number.
    number: String,
}

impl Entry {
    fn read(&mut self, element: &Element<'_>, labels: &mut RawLabels) {
        match (element.path, &element.step) {
            ("sdnList/publshInformation/Publish_Date", Step::End(text)) => {
                labels.list_date = labels.list_date.max(Dates::MonthFirst.read(text));
            }
            ("sdnList/sdnEntry", Step::Start(_)) => *self = Self::default(),
            ("sdnList/sdnEntry/firstName", Step::End(text)) => (*text).clone_into(&mut self.first_name),
            ("sdnList/sdnEntry/lastName", Step::End(text)) => (*text).clone_into(&mut self.last_name),
            ("sdnList/sdnEntry/idList/id", Step::Start(_)) => (self.coin, self.number) = (None, String::new()),
            ("sdnList/sdnEntry/idList/id/idType", Step::End(text)) => self.coin = coin_of(text),
            ("sdnList/sdnEntry/idList/id/idNumber", Step::End(text)) => (*text).clone_into(&mut self.number),
            ("sdnList/sdnEntry/idList/id", Step::End(_)) => {
                if let Some(coin) = self.coin.take() {
                    let name = format!("{} {}", self.first_name, self.last_name);
                    labels.claims.push(listed(element.place, &self.number, coin, Some(&name)));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const LIST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<s:sdnList xmlns:s="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
 <s:publshInformation><s:Publish_Date>03/04/2025</s:Publish_Date><s:Record_Count>1</s:Record_Count></s:publshInformation>
 <s:sdnEntry><s:uid>90004</s:uid><s:firstName>Jan</s:firstName><s:lastName>MUSTER &amp; CO</s:lastName>
  <s:akaList><s:aka><s:firstName>Other</s:firstName><s:lastName>NAME</s:lastName></s:aka></s:akaList>
  <s:idList>
   <s:id><s:uid>1</s:uid><s:idType>Passport</s:idType><s:idNumber>X1234567</s:idNumber></s:id>
   <s:id><s:idType>Digital Currency Address - XBT</s:idType><s:idNumber> 3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8 </s:idNumber></s:id>
   <s:id><s:idType>Digital Currency Address - ETH</s:idType><s:idNumber/></s:id>
  </s:idList></s:sdnEntry>
 <s:sdnEntry><s:lastName>SHOP</s:lastName>
  <s:idList><s:id><s:idType>Digital Currency Address - ARB</s:idType><s:idNumber>0x0E069A434560ec85B19d3d8aE7031a0D9e9046ba</s:idNumber></s:id></s:idList>
 </s:sdnEntry>
</s:sdnList>"#;

    #[test]
    fn wallets_are_identifications_of_their_party() {
        let labels = read(&FORMAT, &[("sdn.xml", LIST)]).unwrap();
        let expected = [
            ("3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8", "XBT"),
            ("", "ETH"),
            ("0x0E069A434560ec85B19d3d8aE7031a0D9e9046ba", "ARB"),
        ];
        assert_eq!(addresses(&labels), expected);
        let names: Vec<_> = rows(&labels).iter().map(|row| (row.2, row.3.clone())).collect();
        let party = (Some("Jan MUSTER & CO"), String::new());
        assert_eq!(names, [party.clone(), party, (Some("SHOP"), String::new())]);
        assert_eq!(labels.list_date.unwrap().to_string(), "2025-03-04T00:00:00Z");
    }

    #[test]
    fn a_list_that_is_cut_off_is_an_error() {
        let whole = LIST.find("</s:sdnList>").unwrap();
        let error = read(&FORMAT, &[("sdn.xml", &LIST[..whole])]).unwrap_err().to_string();
        assert!(error.contains("cut off"), "{error}");
    }
}
