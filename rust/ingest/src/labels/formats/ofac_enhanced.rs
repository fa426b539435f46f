//! The lists of OFAC as enhanced XML: `SDN_ENHANCED.XML`.

use headwater_types::Timestamp;

use super::super::raw::{ChainHint, RawClaim, RawDateBasis, RawLabels};
use super::ofac::{self, SDN_LIST, coin_of, listed};
use super::official::Dates;
use super::{Format, Given};
use crate::IngestError;
use crate::source::{Element, Probe, Step, each_element};

pub(super) const FORMAT: Format = ofac::format("ofac_enhanced", reads, read);

fn reads(probe: &Probe) -> bool {
    probe.xml_root().is_some_and(|root| root == "sanctionsData")
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        let mut entity = Entity::default();
        each_element(input, |element| {
            entity.read(element, &mut labels);
            Ok(())
        })?;
    }
    Ok(labels)
}

/// A listed party, as far as it was read.
#[derive(Default)]
struct Entity {
    /// The list of the entry that is read.
    published: Option<Timestamp>,
    /// When it was put on the list that counts.
    listed_at: Option<Timestamp>,
    name: Option<(Rank, String)>,
    reading: Name,
    translation: Translation,
    /// The coin of the feature that is read, where it is a wallet.
    coin: Option<ChainHint>,
    value: String,
    claims: Vec<RawClaim>,
}

/// The rank of a name, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// The file calls it the main one.
    Primary,
    /// The file does not say so, and it is no alias.
    Plain,
    Alias,
}

#[derive(Default)]
struct Name {
    is_primary: Option<bool>,
    is_alias: bool,
    /// Its form in the main script, or else its first.
    full: Option<(Rank, String)>,
}

#[derive(Default)]
struct Translation {
    is_primary: Option<bool>,
    full: String,
}

fn rank(is_primary: Option<bool>, is_alias: bool) -> Rank {
    match is_primary {
        Some(true) => Rank::Primary,
        Some(false) => Rank::Alias,
        None if is_alias => Rank::Alias,
        None => Rank::Plain,
    }
}

/// Keeps the better of two names, the first one of a tie.
fn keep(kept: &mut Option<(Rank, String)>, rank: Rank, name: String) {
    if !name.is_empty() && kept.as_ref().is_none_or(|(known, _)| rank < *known) {
        *kept = Some((rank, name));
    }
}

impl Entity {
    fn read(&mut self, element: &Element<'_>, labels: &mut RawLabels) {
        if let ("sanctionsData/publicationInfo/dataAsOf", Step::End(text)) = (element.path, &element.step) {
            labels.list_date = labels.list_date.max(Dates::Iso.read(text));
        }
        let Some(path) = element.path.strip_prefix("sanctionsData/entities/entity") else { return };
        match (path, &element.step) {
            ("", Step::Start(_)) => *self = Self::default(),
            ("", Step::End(_)) => self.finish(labels),
            (names, step) if names.starts_with("/names/") => self.read_name(names, step),
            ("/sanctionsLists/sanctionsList", Step::Start(attributes)) => {
                self.published = attributes.get("datePublished").and_then(|date| Dates::Iso.read(&date));
            }
            ("/sanctionsLists/sanctionsList", Step::End(SDN_LIST)) => self.listed_at = self.published,
            ("/features/feature", Step::Start(_)) => (self.coin, self.value) = (None, String::new()),
            ("/features/feature/type", Step::End(text)) => self.coin = coin_of(text),
            ("/features/feature/value", Step::End(text)) => (*text).clone_into(&mut self.value),
            ("/features/feature", Step::End(_)) => {
                if let Some(coin) = self.coin.take() {
                    self.claims.push(listed(element.place, &self.value, coin, None));
                }
            }
            _ => {}
        }
    }

    fn read_name(&mut self, path: &str, step: &Step<'_>) {
        match (path, step) {
            ("/names/name", Step::Start(_)) => self.reading = Name::default(),
            ("/names/name/isPrimary", Step::End(text)) => self.reading.is_primary = Some(*text == "true"),
            ("/names/name/aliasType", Step::End(text)) => self.reading.is_alias = !text.is_empty(),
            ("/names/name/translations/translation", Step::Start(_)) => self.translation = Translation::default(),
            ("/names/name/translations/translation/isPrimary", Step::End(text)) => {
                self.translation.is_primary = Some(*text == "true");
            }
            ("/names/name/translations/translation/formattedFullName", Step::End(text)) => {
                (*text).clone_into(&mut self.translation.full);
            }
            ("/names/name/translations/translation", Step::End(_)) => {
                let Translation { is_primary, full } = std::mem::take(&mut self.translation);
                keep(&mut self.reading.full, rank(is_primary, false), full);
            }
            ("/names/name", Step::End(_)) => {
                let Name { is_primary, is_alias, full } = std::mem::take(&mut self.reading);
                keep(&mut self.name, rank(is_primary, is_alias), full.map(|(_, name)| name).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn finish(&mut self, labels: &mut RawLabels) {
        let Self { listed_at, name, claims, .. } = std::mem::take(self);
        let entity = name.map(|(_, name)| name);
        let (asserted_at, date_basis) = (listed_at, RawDateBasis::Entity);
        let named = claims.into_iter();
        labels.claims.extend(named.map(|claim| RawClaim { entity: entity.clone(), asserted_at, date_basis, ..claim }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const LIST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<sanctionsData xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ENHANCED_XML">
 <publicationInfo><dataAsOf>2026-02-03T14:00:00Z</dataAsOf></publicationInfo>
 <entities>
  <entity id="92001">
   <features>
    <feature id="1"><type featureTypeId="344">Digital Currency Address - XBT</type><value> 3KGVKTcgFiFayiDg3FDkECXzziuSvUZrnR
    </value></feature>
    <feature id="2"><type featureTypeId="8">Birthdate</type><value>01 Jan 1980</value></feature>
    <feature id="4"><type featureTypeId="345">Digital Currency Address - ETH</type><value></value></feature>
   </features>
   <sanctionsLists><sanctionsList refId="1550" datePublished="2023-05-01">SDN List</sanctionsList><sanctionsList refId="91512" datePublished="2022-08-08">Consolidated Non-SDN List</sanctionsList></sanctionsLists>
   <names>
    <name><isPrimary>false</isPrimary><aliasType>A.K.A.</aliasType><translations><translation><isPrimary>true</isPrimary><formattedFullName>OTHER NAME</formattedFullName></translation></translations></name>
    <name><isPrimary>true</isPrimary><translations><translation><isPrimary>false</isPrimary><formattedFullName>ПРИМЕР БИРЖА</formattedFullName></translation><translation><isPrimary>true</isPrimary><formattedFullName>PRIMER BIRZHA</formattedFullName></translation></translations></name>
   </names>
  </entity>
  <entity id="92002">
   <names>
    <name><aliasType>A.K.A.</aliasType><translations><translation><formattedFullName>ALIAS</formattedFullName></translation></translations></name>
    <name><translations><translation><formattedFullName>MAIN NAME</formattedFullName></translation></translations></name>
   </names>
   <features><feature id="1"><type>Digital Currency Address - ETH</type><value>0x7C9141cf993184EB62A81575E7cd626BF4ACc275</value></feature></features>
  </entity>
 </entities>
</sanctionsData>"#;

    #[test]
    fn names_and_dates_are_the_primary_ones() {
        let labels = read(&FORMAT, &[("SDN_ENHANCED.XML", LIST)]).unwrap();
        let expected = [
            ("3KGVKTcgFiFayiDg3FDkECXzziuSvUZrnR", "XBT"),
            ("", "ETH"),
            ("0x7C9141cf993184EB62A81575E7cd626BF4ACc275", "ETH"),
        ];
        assert_eq!(addresses(&labels), expected);
        let dated: Vec<_> = rows(&labels).into_iter().map(|row| (row.2, row.3)).collect();
        let first = (Some("PRIMER BIRZHA"), "2023-05-01".to_owned());
        assert_eq!(dated, [first.clone(), first, (Some("MAIN NAME"), String::new())]);
        assert!(labels.claims.iter().all(|claim| claim.date_basis == RawDateBasis::Entity));
        assert_eq!(labels.list_date.unwrap().to_string(), "2026-02-03T14:00:00Z");
    }
}
