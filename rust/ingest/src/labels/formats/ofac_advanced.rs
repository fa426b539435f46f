//! The lists of OFAC as advanced XML: `sdn_advanced.xml`.
//!
//! What a feature, a list or a name is stands in tables of ids at the beginning of the file; the day of a listing stands in
//! entries at its end, which name the profile.

use std::collections::{HashMap, HashSet};

use headwater_types::Timestamp;

use super::super::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels};
use super::ofac::{self, SDN_LIST, coin_of, listed};
use super::official::date;
use super::{Format, Given};
use crate::IngestError;
use crate::source::{Element, Probe, Step, each_element, plain_number};

pub(super) const FORMAT: Format = ofac::format("ofac_advanced", reads, read);

fn reads(probe: &Probe) -> bool {
    probe.xml_root().is_some_and(|root| root == "Sanctions")
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        let mut list = List::default();
        each_element(input, |element| {
            list.read(element);
            Ok(())
        })?;
        labels.list_date = labels.list_date.max(list.issued.read());
        labels.claims.extend(list.finish());
    }
    Ok(labels)
}

/// A day in three elements.
#[derive(Default)]
struct Day {
    year: Option<u32>,
    month: Option<u32>,
    of_month: Option<u32>,
}

impl Day {
    fn set(&mut self, part: &str, text: &str) {
        match part {
            "Year" => self.year = plain_number(text),
            "Month" => self.month = plain_number(text),
            "Day" => self.of_month = plain_number(text),
            _ => {}
        }
    }

    fn read(&self) -> Option<Timestamp> {
        date(self.year?, self.month?, self.of_month?)
    }
}

/// The list, as far as it was read.
#[derive(Default)]
struct List {
    issued: Day,
    /// Coins by the id of their type of feature.
    coins: HashMap<String, ChainHint>,
    /// Ids of the list whose entries date a listing.
    dating: HashSet<String>,
    /// The id of the table row that is read.
    id: String,
    profile: Profile,
    /// Wallets and their profiles.
    claims: Vec<(String, RawClaim)>,
    /// The profile of the entry that is read, where it is one of a list that counts.
    entry: Option<String>,
    event: Day,
    /// The first day of each profile on the list.
    days: HashMap<String, Timestamp>,
}

/// A party, as far as it was read.
#[derive(Default)]
struct Profile {
    id: String,
    name: String,
    is_primary_identity: bool,
    alias: Alias,
    /// The coin of the feature that is read, where it is a wallet.
    coin: Option<ChainHint>,
    /// Wallets that were read before the name.
    claims: Vec<RawClaim>,
}

/// The kind of the name that is read: of the party or not. Of its forms in several scripts the first one is.
#[derive(Default, PartialEq, Eq)]
enum Alias {
    #[default]
    Other,
    Primary,
}

const TABLES: &str = "Sanctions/ReferenceValueSets/";
const PROFILE: &str = "Sanctions/DistinctParties/DistinctParty/Profile";
const ENTRY: &str = "Sanctions/SanctionsEntries/SanctionsEntry";

impl List {
    fn read(&mut self, element: &Element<'_>) {
        let Element { path, step, .. } = element;
        if let Some(table) = path.strip_prefix(TABLES) {
            self.read_table(table, step);
        } else if let Some(part) = path.strip_prefix(PROFILE) {
            self.read_profile(part, element);
        } else if let Some(part) = path.strip_prefix(ENTRY) {
            self.read_entry(part, step);
        } else if let (Some(part), Step::End(text)) = (path.strip_prefix("Sanctions/DateOfIssue/"), step) {
            self.issued.set(part, text);
        }
    }

    fn read_table(&mut self, path: &str, step: &Step<'_>) {
        match (path, step) {
            ("FeatureTypeValues/FeatureType" | "ListValues/List", Step::Start(attributes)) => {
                self.id = attributes.get("ID").unwrap_or_default();
            }
            ("FeatureTypeValues/FeatureType", Step::End(text)) => {
                if let Some(coin) = coin_of(text) {
                    self.coins.insert(std::mem::take(&mut self.id), coin);
                }
            }
            ("ListValues/List", Step::End(SDN_LIST)) => {
                self.dating.insert(std::mem::take(&mut self.id));
            }
            _ => {}
        }
    }

    fn read_profile(&mut self, path: &str, element: &Element<'_>) {
        let profile = &mut self.profile;
        match (path, &element.step) {
            ("", Step::Start(attributes)) => {
                *profile = Profile { id: attributes.get("ID").unwrap_or_default(), ..Profile::default() };
            }
            ("/Identity", Step::Start(attributes)) => {
                profile.is_primary_identity = attributes.get("Primary").is_none_or(|primary| primary != "false");
            }
            ("/Identity/Alias", Step::Start(attributes)) => {
                let is_primary = attributes.get("Primary").is_some_and(|primary| primary == "true");
                let is_name = is_primary && profile.is_primary_identity && profile.name.is_empty();
                profile.alias = if is_name { Alias::Primary } else { Alias::Other };
            }
            ("/Identity/Alias/DocumentedName/DocumentedNamePart/NamePartValue", Step::End(text))
                if profile.alias == Alias::Primary && !text.is_empty() =>
            {
                if !profile.name.is_empty() {
                    profile.name.push(' ');
                }
                profile.name.push_str(text);
            }
            ("/Identity/Alias/DocumentedName", Step::End(_)) if !profile.name.is_empty() => {
                profile.alias = Alias::Other;
            }
            ("/Feature", Step::Start(attributes)) => {
                profile.coin = attributes.get("FeatureTypeID").and_then(|id| self.coins.get(&id)).cloned();
            }
            ("/Feature/FeatureVersion/VersionDetail", Step::End(text)) => {
                if let Some(coin) = &profile.coin {
                    profile.claims.push(listed(element.place, text, coin.clone(), None));
                }
            }
            ("", Step::End(_)) => {
                let Profile { id, name, claims, .. } = std::mem::take(profile);
                let entity = Some(name).filter(|name| !name.is_empty());
                let named = claims.into_iter().map(|claim| (id.clone(), RawClaim { entity: entity.clone(), ..claim }));
                self.claims.extend(named);
            }
            _ => {}
        }
    }

    fn read_entry(&mut self, path: &str, step: &Step<'_>) {
        match (path, step) {
            ("", Step::Start(attributes)) => {
                let counts = attributes.get("ListID").is_some_and(|id| self.dating.contains(&id));
                self.entry = attributes.get("ProfileID").filter(|_| counts);
            }
            ("/EntryEvent", Step::Start(_)) => self.event = Day::default(),
            ("/EntryEvent/Date/Year" | "/EntryEvent/Date/Month" | "/EntryEvent/Date/Day", Step::End(text)) => {
                self.event.set(path.rsplit('/').next().unwrap_or_default(), text);
            }
            ("/EntryEvent", Step::End(_)) => {
                if let (Some(profile), Some(day)) = (&self.entry, self.event.read()) {
                    self.days.entry(profile.clone()).and_modify(|first| *first = day.min(*first)).or_insert(day);
                }
            }
            _ => {}
        }
    }

    fn finish(self) -> impl Iterator<Item = RawClaim> {
        let Self { claims, days, .. } = self;
        // The day is that of the entry of the profile: addresses that are added to it later carry it too.
        let date_basis = RawDateBasis::Entity;
        claims.into_iter().map(move |(profile, claim)| {
            let asserted_at = days.get(&profile).copied();
            RawClaim { asserted_at, date_basis, ..claim }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const LIST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<Sanctions xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ADVANCED_XML">
 <DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>2</Month><Day>3</Day></DateOfIssue>
 <ReferenceValueSets>
  <FeatureTypeValues><FeatureType ID="8">Birthdate</FeatureType><FeatureType ID="711">Digital Currency Address - XBT</FeatureType><FeatureType ID="712">Digital Currency Address - ETH</FeatureType></FeatureTypeValues>
  <ListValues><List ID="7">SDN List</List><List ID="9">Consolidated List</List></ListValues>
 </ReferenceValueSets>
 <DistinctParties>
  <DistinctParty FixedRef="95001"><Profile ID="95001">
   <Feature ID="1" FeatureTypeID="711"><FeatureVersion ID="1"><VersionDetail DetailTypeID="1432">
     17o3tZcvo9JU29RKeBEpaqvxjCjuyyJ2CV
   </VersionDetail></FeatureVersion></Feature>
   <Identity ID="1" Primary="true">
    <Alias Primary="false"><DocumentedName><DocumentedNamePart><NamePartValue>OTHER</NamePartValue></DocumentedNamePart></DocumentedName></Alias>
    <Alias Primary="true">
     <DocumentedName><DocumentedNamePart><NamePartValue>DOE</NamePartValue></DocumentedNamePart><DocumentedNamePart><NamePartValue>Example</NamePartValue></DocumentedNamePart></DocumentedName>
     <DocumentedName><DocumentedNamePart><NamePartValue>ДОЕ</NamePartValue></DocumentedNamePart></DocumentedName>
    </Alias>
   </Identity>
   <Feature ID="2" FeatureTypeID="712"><FeatureVersion ID="2"><VersionDetail DetailTypeID="1432" /></FeatureVersion><FeatureVersion ID="3"><VersionDetail DetailTypeID="1432">0xD389FE6a479A836797eb0F1497CDD90Fa9e028Df</VersionDetail></FeatureVersion></Feature>
   <Feature ID="3" FeatureTypeID="8"><FeatureVersion ID="4"><VersionDetail>1980</VersionDetail></FeatureVersion></Feature>
  </Profile></DistinctParty>
  <DistinctParty FixedRef="95002"><Profile ID="95002"><Feature ID="3" FeatureTypeID="712"><FeatureVersion ID="4"><VersionDetail>0x8f5384aA2cD5C0aD6CA05F0861AbD27763355A05</VersionDetail></FeatureVersion></Feature></Profile></DistinctParty>
 </DistinctParties>
 <SanctionsEntries>
  <SanctionsEntry ID="1" ProfileID="95001" ListID="9"><EntryEvent ID="1"><Date><Year>2020</Year><Month>1</Month><Day>1</Day></Date></EntryEvent></SanctionsEntry>
  <SanctionsEntry ID="2" ProfileID="95001" ListID="7"><EntryEvent ID="2"><Date><Year>2022</Year><Month>8</Month><Day>8</Day></Date></EntryEvent></SanctionsEntry>
 </SanctionsEntries>
</Sanctions>"#;

    #[test]
    fn ids_are_read_from_the_tables_of_the_file() {
        let labels = read(&FORMAT, &[("sdn_advanced.xml", LIST)]).unwrap();
        let expected = [
            ("17o3tZcvo9JU29RKeBEpaqvxjCjuyyJ2CV", "XBT"),
            ("", "ETH"),
            ("0xD389FE6a479A836797eb0F1497CDD90Fa9e028Df", "ETH"),
            ("0x8f5384aA2cD5C0aD6CA05F0861AbD27763355A05", "ETH"),
        ];
        assert_eq!(addresses(&labels), expected);
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-02-03T00:00:00Z");
    }

    #[test]
    fn a_listing_is_dated_by_the_entry_of_the_sdn_list() {
        let labels = read(&FORMAT, &[("sdn_advanced.xml", LIST)]).unwrap();
        let dated: Vec<_> = rows(&labels).into_iter().map(|row| (row.2, row.3)).collect();
        let first = (Some("DOE Example"), "2022-08-08".to_owned());
        assert_eq!(dated, [first.clone(), first.clone(), first, (None, String::new())]);
        assert!(labels.claims.iter().all(|claim| claim.date_basis == RawDateBasis::Entity));
    }
}
