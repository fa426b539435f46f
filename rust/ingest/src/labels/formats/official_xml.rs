//! Lists of sanctions as XML in which wallets are in running text: those of the European Union, the United Kingdom and the
//! United Nations.
//!
//! Namespaces are ignored: they change between editions.

use headwater_ledger::labels::{Code, Level};
use headwater_types::Timestamp;

use super::super::raw::{RawClaim, RawDateBasis, RawLabels, Vocabulary};
use super::official::{Dates, Parties, Rank, claim, first_date};
use super::running_text::addresses_in;
use super::{Files, Format, Given};
use crate::source::{Element, Input, Probe, Step, each_element};
use crate::{IngestError, Place};

/// The consolidated list of the European Union: `xmlFullSanctionsList_1_1.xml`.
pub(super) const EU: Format =
    format("eu_xml", "eu", |probe| is_root(probe, &["export"]), |probes, _| read(probes, &EU_LIST));
/// `UK-Sanctions-List.xml`, and `ConList.xml`, which ended in January 2026.
pub(super) const UK: Format = format(
    "uk_xml",
    "uk",
    |probe| is_root(probe, &["Designations", "ArrayOfFinancialSanctionsTarget"]),
    |probes, _| read(probes, &UK_LIST),
);
/// The consolidated list of the Security Council of the United Nations: `consolidated.xml`.
pub(super) const UN: Format = format("un_xml", "un", |probe| is_root(probe, &["CONSOLIDATED_LIST"]), read_un);

const fn format(
    name: &'static str,
    source: &'static str,
    reads: fn(&Probe) -> bool,
    read: fn(&[Probe], &Given) -> Result<RawLabels, IngestError>,
) -> Format {
    Format {
        name,
        source,
        group: source,
        level: Level::SanctionsList,
        vocabulary: Vocabulary::OWN,
        chain: None,
        refuses_empty: true,
        files: Files::Together,
        reads,
        read,
    }
}

fn is_root(probe: &Probe, names: &[&str]) -> bool {
    let root = probe.xml_root();
    // The first element of an EU file below its root distinguishes it from other exports.
    let is_list =
        || names != ["export"] || contains(probe.head(), "sanctionEntity") || contains(probe.head(), "fsd/export");
    root.is_some_and(|root| names.contains(&root.as_str())) && is_list()
}

fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

/// Names of the elements and attributes of a list. An element is known by the end of its path, an attribute is
/// `element@attribute`.
struct Names {
    /// A party.
    party: &'static [&'static str],
    /// The number of a party, where parties are repeated for each of their names.
    number: &'static [&'static str],
    /// The element around the parts of a name; the party itself where it has one name.
    name: &'static [&'static str],
    /// The parts of a name, in their order.
    parts: &'static [&'static str],
    /// The type of a name.
    name_type: &'static [&'static str],
    /// Running text.
    texts: &'static [&'static str],
    /// The dates of a listing, the better one first.
    dates: &'static [&'static str],
    /// The date of the list.
    list_date: &'static [&'static str],
}

const EU_LIST: Names = Names {
    party: &["sanctionEntity"],
    number: &["sanctionEntity@logicalId"],
    name: &["nameAlias"],
    parts: &["nameAlias@wholeName"],
    name_type: &[],
    texts: &["remark"],
    dates: &["sanctionEntity@designationDate", "regulation@publicationDate", "regulation@entryIntoForceDate"],
    list_date: &["export@generationDate"],
};

const UK_LIST: Names = Names {
    party: &["Designation", "FinancialSanctionsTarget"],
    number: &["UniqueID", "GroupID"],
    name: &["Name", "FinancialSanctionsTarget"],
    parts: &["Name1", "Name2", "Name3", "Name4", "Name5", "Name6"],
    name_type: &["NameType", "AliasType"],
    texts: &["OtherInformation", "UKStatementofReasons"],
    dates: &["DateDesignated", "DateListed"],
    list_date: &["DateGenerated"],
};

const UN_LIST: Names = Names {
    party: &["INDIVIDUAL", "ENTITY"],
    number: &["DATAID"],
    name: &["INDIVIDUAL", "ENTITY"],
    parts: &["FIRST_NAME", "SECOND_NAME", "THIRD_NAME", "FOURTH_NAME"],
    name_type: &[],
    texts: &["COMMENTS1", "NOTE"],
    dates: &["LISTED_ON"],
    list_date: &["CONSOLIDATED_LIST@dateGenerated"],
};

fn read_un(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let labels = read(probes, &UN_LIST)?;
    if labels.claims.is_empty() {
        let path = probes.first().map(|probe| probe.path().to_owned()).unwrap_or_default();
        let why = "is the consolidated list of the United Nations, which names no wallet in this edition: it lists persons and \
                   companies by name. No address can be checked against it; import the lists of OFAC, the EU and the \
                   United Kingdom";
        return Err(IngestError::NoAddresses { path, what: why.to_owned() });
    }
    Ok(labels)
}

fn read(probes: &[Probe], names: &Names) -> Result<RawLabels, IngestError> {
    let mut list = List { names, labels: RawLabels::default(), parties: Parties::default(), party: Party::default() };
    for probe in probes {
        list.read(probe.input())?;
        list.labels.end_file(probe.path());
    }
    list.parties.name_claims(&mut list.labels);
    Ok(list.labels)
}

/// The list, as far as it was read.
struct List<'n> {
    names: &'n Names,
    labels: RawLabels,
    parties: Parties,
    party: Party,
}

/// A party, as far as it was read: its name and dates may follow its texts.
#[derive(Default)]
struct Party {
    number: String,
    names: Vec<(Rank, String)>,
    parts: Vec<(usize, String)>,
    rank: Option<Rank>,
    texts: Vec<(Place, String)>,
    dates: Vec<(usize, String)>,
}

/// The place of an element or attribute among names, in whatever case they are.
fn place_in(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|known| known.eq_ignore_ascii_case(name))
}

impl List<'_> {
    fn read(&mut self, input: &Input) -> Result<(), IngestError> {
        each_element(input, |element| {
            let name = element.path.rsplit('/').next().unwrap_or_default();
            match &element.step {
                Step::Start(attributes) => {
                    if self.names.party.contains(&name) {
                        self.party = Party::default();
                    }
                    if self.names.name.contains(&name) {
                        (self.party.parts, self.party.rank) = (Vec::new(), None);
                    }
                    let names = self.names;
                    let known = [names.number, names.parts, names.dates, names.list_date].into_iter().flatten();
                    let of_element =
                        known.filter_map(|known| Some((*known, known.strip_prefix(name)?.strip_prefix('@')?)));
                    for (known, attribute) in of_element {
                        if let Some(value) = attributes.get(attribute) {
                            self.set(known, value.trim(), element.place);
                        }
                    }
                }
                Step::End(text) => {
                    if !text.is_empty() {
                        self.set(name, text, element.place);
                    }
                    if self.names.name.contains(&name) {
                        self.end_name();
                    }
                    if self.names.party.contains(&name) {
                        self.end_party(element);
                    }
                }
            }
            Ok(())
        })
    }

    fn set(&mut self, name: &str, value: &str, place: Place) {
        let (names, party) = (self.names, &mut self.party);
        if value.is_empty() {
            return;
        }
        if place_in(names.number, name).is_some() {
            value.clone_into(&mut party.number);
        } else if let Some(part) = place_in(names.parts, name) {
            party.parts.push((part, value.to_owned()));
        } else if place_in(names.name_type, name).is_some() {
            party.rank = Some(if value.eq_ignore_ascii_case("Primary Name") { Rank::Primary } else { Rank::Other });
        } else if place_in(names.texts, name).is_some() {
            party.texts.push((place, value.to_owned()));
        } else if let Some(rank) = place_in(names.dates, name) {
            party.dates.push((rank, value.to_owned()));
        } else if place_in(names.list_date, name).is_some() {
            self.labels.list_date = self.labels.list_date.max(day(value));
        }
    }

    fn end_name(&mut self) {
        let mut parts = std::mem::take(&mut self.party.parts);
        parts.sort_by_key(|(place, _)| *place);
        let name = parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(" ");
        self.party.names.push((self.party.rank.take().unwrap_or(Rank::Other), name));
    }

    fn end_party(&mut self, element: &Element<'_>) {
        let mut party = std::mem::take(&mut self.party);
        for (rank, name) in &party.names {
            self.parties.note_name(&party.number, *rank, name);
        }
        let found: Vec<_> = party
            .texts
            .iter()
            .flat_map(|(place, text)| addresses_in(text).into_iter().map(|found| (*place, found)))
            .collect();
        if found.is_empty() {
            return;
        }
        // Of several regulations the first one counts.
        party.dates.sort_by_key(|(rank, _)| *rank);
        let dates: Vec<String> = party.dates.iter().map(|(_, date)| without_time(date).to_owned()).collect();
        let fields: Vec<_> = dates.iter().map(|date| ("date", Some(date.as_str()))).collect();
        let asserted_at = first_date(&mut self.labels, element.place, &fields, &[Dates::Iso, Dates::DayFirst]);
        for (place, (address, coin)) in found {
            let claim = claim(Code::Sanction, place, address, coin);
            let claim = RawClaim { asserted_at, date_basis: RawDateBasis::Entity, ..claim };
            self.parties.add(&mut self.labels, &party.number, claim);
        }
    }
}

/// The day of a date with a time of day behind it.
fn without_time(text: &str) -> &str {
    text.split(['T', ' ']).next().unwrap_or_default()
}

fn day(text: &str) -> Option<Timestamp> {
    let text = without_time(text);
    Dates::Iso.read(text).or_else(|| Dates::DayFirst.read(text))
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const EVM: &str = "0x5a9B7d5d49637567D1Dbea75Fe61d6933B4Be786";
    const TRON: &str = "TPxuSe5sLqhUaRfDXe2N4rDSsiFookp8Zz";
    const SHARED: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

    /// Entity and day of each claim.
    fn parties(labels: &RawLabels) -> Vec<(Option<&str>, String)> {
        rows(labels).into_iter().map(|row| (row.2, row.3)).collect()
    }

    #[test]
    fn eu_wallets_are_in_remarks_wherever_they_are() {
        let list = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<ns2:export xmlns:ns2=\"http://eu.europa.ec/fpi/fsd/export\" generationDate=\"2026-03-04T05:06:07.123+01:00\">
 <ns2:sanctionEntity designationDetails=\"\" designationDate=\"\" logicalId=\"7\">
  <ns2:remark>Portefeuille USDT : {TRON}, Litecoin : {SHARED}</ns2:remark>
  <ns2:regulation publicationDate=\"2025-02-24\"><ns2:publicationUrl>https://example.org</ns2:publicationUrl></ns2:regulation>
  <ns2:regulation publicationDate=\"2025-05-20\"/>
  <ns2:nameAlias wholeName=\"Example Exchange\" strong=\"true\"><ns2:regulationSummary publicationDate=\"2024-01-01\"/></ns2:nameAlias>
  <ns2:nameAlias wholeName=\"Exemple\" strong=\"true\"><ns2:remark>known as Exemple</ns2:remark></ns2:nameAlias>
  <ns2:identification number=\"1\"><ns2:remark>wallet {EVM}</ns2:remark></ns2:identification>
 </ns2:sanctionEntity>
 <ns2:sanctionEntity logicalId=\"8\" designationDate=\"2024-03-02\"><ns2:nameAlias wholeName=\"Other\"/><ns2:remark>ETH: {EVM}</ns2:remark><ns2:regulation publicationDate=\"2025-01-01\"/></ns2:sanctionEntity>
 <ns2:sanctionEntity logicalId=\"9\"><ns2:nameAlias wholeName=\"Nobody\"/><ns2:remark>IMO 9123456</ns2:remark></ns2:sanctionEntity>
</ns2:export>"
        );
        let labels = read(&EU, &[("list.xml", &list)]).unwrap();
        assert_eq!(addresses(&labels), [(TRON, "USDT"), (SHARED, "LTC"), (EVM, "evm"), (EVM, "ETH")]);
        let first = (Some("Example Exchange"), "2025-02-24".to_owned());
        assert_eq!(parties(&labels), [first.clone(), first.clone(), first, (Some("Other"), "2024-03-02".to_owned())]);
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-03-04T00:00:00Z");
        assert!(labels.warnings.is_empty(), "{:?}", labels.warnings);
    }

    #[test]
    fn uk_names_have_six_parts_and_a_type() {
        let list = format!(
            "<Designations><DateGenerated>02/03/2026</DateGenerated><Designation><DateDesignated>03/04/2025</DateDesignated>\
             <UniqueID>RUS1</UniqueID><Names><Name><Name6>ALIAS</Name6><NameType>Alias</NameType></Name>\
             <Name><Name6>MUSTER</Name6><Name1>Jan</Name1><NameType>Primary Name</NameType></Name></Names>\
             <OtherInformation>Uses the following crypto addresses: {TRON}; {TRON}</OtherInformation>\
             <UKStatementofReasons>Litecoin address {SHARED} was used.</UKStatementofReasons></Designation></Designations>"
        );
        let labels = read(&UK, &[("UK-Sanctions-List.xml", &list)]).unwrap();
        assert_eq!(addresses(&labels), [(TRON, "evm"), (TRON, "evm"), (SHARED, "LTC")]);
        assert!(parties(&labels).iter().all(|party| *party == (Some("Jan MUSTER"), "2025-04-03".to_owned())));
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-03-02T00:00:00Z");
    }

    #[test]
    fn former_uk_lists_repeat_a_party_for_each_name() {
        let target = |name: &str, kind: &str, text: &str| {
            format!(
                "<FinancialSanctionsTarget><Name6>{name}</Name6><name1/><AliasType>{kind}</AliasType><OtherInformation>{text}\
                 </OtherInformation><DateListed>2024-05-06T00:00:00</DateListed><GroupID>5</GroupID></FinancialSanctionsTarget>"
            )
        };
        let text = format!("BTC: {SHARED}");
        let rows = [target("ALIAS", "AKA", &text), target("EXAMPLE", "Primary name", "")].concat();
        let list = format!("<ArrayOfFinancialSanctionsTarget>{rows}</ArrayOfFinancialSanctionsTarget>");
        let labels = read(&UK, &[("ConList.xml", &list)]).unwrap();
        assert_eq!(addresses(&labels), [(SHARED, "BTC")]);
        assert_eq!(parties(&labels), [(Some("EXAMPLE"), "2024-05-06".to_owned())]);
    }

    #[test]
    fn un_list_without_a_wallet_says_so() {
        let list = |comment: &str| {
            format!(
                "<CONSOLIDATED_LIST dateGenerated=\"2026-03-04T23:00:03.428Z\"><INDIVIDUALS><INDIVIDUAL><DATAID>1</DATAID>\
                 <FIRST_NAME>JAN</FIRST_NAME><SECOND_NAME>MUSTER</SECOND_NAME><LISTED_ON>2024-05-06</LISTED_ON>\
                 <COMMENTS1>{comment}</COMMENTS1><INDIVIDUAL_ALIAS><ALIAS_NAME>J</ALIAS_NAME></INDIVIDUAL_ALIAS>\
                 </INDIVIDUAL></INDIVIDUALS><ENTITIES/></CONSOLIDATED_LIST>"
            )
        };
        let error = read(&UN, &[("consolidated.xml", &list("Passport 1234"))]).unwrap_err().to_string();
        assert!(error.contains("names no wallet"), "{error}");
        let labels = read(&UN, &[("consolidated.xml", &list(&format!("USDT wallet {TRON}")))]).unwrap();
        assert_eq!(addresses(&labels), [(TRON, "USDT")]);
        assert_eq!(parties(&labels), [(Some("JAN MUSTER"), "2024-05-06".to_owned())]);
    }

    #[test]
    fn a_list_that_is_cut_off_is_an_error() {
        let list = format!("<export><sanctionEntity logicalId=\"1\"><remark>{EVM}</remark>");
        assert!(read(&EU, &[("list.xml", &list)]).unwrap_err().to_string().contains("cut off"));
    }
}
