//! The entities of `OpenSanctions` in the model of `FollowTheMoney`: `entities.ftm.json`, an object per line;
//! `targets.nested.json`, where an entity contains those that belong to it; answers of the interface.
//!
//! Holders and orders may stand before or behind their wallets, so the file is read twice: wallets first, then what belongs
//! to them. Only wallets are kept in memory.

use std::collections::HashMap;

use headwater_types::Timestamp;

use super::super::raw::{RawClaim, RawLabels};
use super::official::{Dates, ticker};
use super::opensanctions::{self, DataSet, Order};
use super::{Format, Given};
use crate::source::json::Value;
use crate::source::{Content, Input, Probe, each_json_value};
use crate::{IngestError, Place};

pub(super) const FORMAT: Format = opensanctions::format("opensanctions_ftm", reads, read);

/// The schemas of wallets and of orders against a party.
pub(super) const WALLET: &str = "CryptoWallet";
pub(super) const SANCTION: &str = "Sanction";

fn reads(probe: &Probe) -> bool {
    *probe.content() == Content::Json && probe.has(&["id", "schema", "properties"])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        let mut wallets = Vec::new();
        each_entity(input, |entity, parent, place| wallets.extend(Wallet::read(entity, parent, place)))?;
        let mut found = Belongings::of(&wallets);
        if !wallets.is_empty() {
            each_entity(input, |entity, parent, _| found.read(entity, parent))?;
        }
        for wallet in &wallets {
            wallet.claim(&found, &mut labels);
        }
    }
    Ok(labels)
}

/// Gives each entity, and the one that contains it.
fn each_entity(
    input: &Input,
    mut handle: impl FnMut(&Value<'_>, Option<&Value<'_>>, Place),
) -> Result<(), IngestError> {
    each_json_value(input, |place, value| {
        let cut = |error: crate::FieldError| {
            input.damaged(Some(place), format!("the line is not {}: was it cut off?", error.expected))
        };
        visit(value.map_err(cut)?, None, place, &mut handle);
        Ok(())
    })
}

fn visit(
    entity: &Value<'_>,
    parent: Option<&Value<'_>>,
    place: Place,
    handle: &mut impl FnMut(&Value<'_>, Option<&Value<'_>>, Place),
) {
    handle(entity, parent, place);
    let properties = entity.get("properties").map_or(&[][..], Value::members);
    for inner in properties.iter().flat_map(|(_, values)| values.items()) {
        if inner.get("schema").is_some() {
            visit(inner, Some(entity), place, handle);
        }
    }
}

/// The values of a property; each has a list of them. Of an entity it is the id.
fn values<'v>(entity: &'v Value<'_>, property: &str) -> impl Iterator<Item = &'v str> {
    let list = entity.get("properties").and_then(|properties| properties.get(property));
    list.map_or(&[][..], Value::items).iter().filter_map(|value| value.text().or_else(|| id_of(value)))
}

fn id_of<'v>(entity: &'v Value<'_>) -> Option<&'v str> {
    entity.get("id").and_then(Value::text)
}

fn datasets<'v>(entity: &'v Value<'_>) -> impl Iterator<Item = &'v str> {
    entity.get("datasets").map_or(&[][..], Value::items).iter().filter_map(Value::text)
}

fn time(entity: &Value<'_>, member: &str) -> Option<Timestamp> {
    Dates::Iso.read(entity.get(member)?.text()?)
}

fn owned<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    texts.map(str::to_owned).collect()
}

/// A wallet, as its list states it.
pub(super) struct Wallet {
    pub(super) place: Place,
    pub(super) id: String,
    pub(super) keys: Vec<String>,
    pub(super) currency: Option<String>,
    pub(super) holders: Vec<String>,
    pub(super) topics: Vec<String>,
    pub(super) datasets: Vec<String>,
    pub(super) first_seen: Option<Timestamp>,
    pub(super) last_seen: Option<Timestamp>,
}

impl Wallet {
    fn read(entity: &Value<'_>, parent: Option<&Value<'_>>, place: Place) -> Option<Self> {
        if entity.get("schema")?.text()? != WALLET {
            return None;
        }
        // A party contains its wallets.
        let is_party = |parent: &&Value<'_>| parent.get("schema").and_then(Value::text) != Some(SANCTION);
        // The data sets of an entity without its own are those of the entity around it.
        let is_named = datasets(entity).next().is_some();
        let around = parent.filter(|_| !is_named);
        let parent = parent.filter(is_party).and_then(id_of);
        Some(Self {
            place,
            id: entity.get("id")?.text()?.to_owned(),
            keys: owned(values(entity, "publicKey")),
            currency: values(entity, "currency").next().map(str::to_owned),
            holders: owned(values(entity, "holder").chain(parent)),
            topics: owned(values(entity, "topics")),
            datasets: owned(datasets(around.unwrap_or(entity))),
            first_seen: time(entity, "first_seen"),
            last_seen: time(entity, "last_seen"),
        })
    }

    /// A claim per key and data set.
    pub(super) fn claim(&self, found: &Belongings, labels: &mut RawLabels) {
        let orders = found.orders.get(&self.id).map_or(&[][..], Vec::as_slice);
        let named_by_orders = orders.iter().flat_map(|order| &order.datasets);
        let mut datasets: Vec<&String> = self.datasets.iter().chain(named_by_orders).collect();
        datasets.sort();
        datasets.dedup();
        let holders = || self.holders.iter().filter_map(|holder| found.holders.get(holder));
        let entity = holders().find_map(|holder| holder.name.clone());
        // Some lists print the wallets of a party and say only of the party what it is.
        let is_stated = !self.topics.is_empty() || !orders.is_empty();
        let of_holders = holders().filter(|_| !is_stated).flat_map(|holder| &holder.topics);
        let topics: Vec<&str> = self.topics.iter().chain(of_holders).map(String::as_str).collect();
        let keys = if self.keys.is_empty() { &[String::new()][..] } else { &self.keys };
        for dataset in datasets {
            let orders: Vec<&SanctionOrder> = orders.iter().filter(|order| order.datasets.contains(dataset)).collect();
            let has_ended = !orders.is_empty() && orders.iter().all(|order| order.end.is_some());
            for key in keys {
                let claim = RawClaim {
                    place: Some(self.place),
                    address: key.clone(),
                    chain: ticker(self.currency.as_deref()),
                    entity: entity.clone(),
                    asserted_at: orders.iter().filter_map(|order| order.start).min().or(self.first_seen),
                    last_seen: self.last_seen,
                    valid_until: orders.iter().filter_map(|order| order.end).max().filter(|_| has_ended),
                    ..RawClaim::default()
                };
                let order = if orders.is_empty() { Order::None } else { Order::Stated };
                labels.claims.push(DataSet::Id(dataset).attribute(&topics, order, claim));
            }
        }
    }
}

/// An order against a wallet.
#[derive(Default)]
pub(super) struct SanctionOrder {
    pub(super) datasets: Vec<String>,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
}

/// A holder of wallets, as far as it was read.
#[derive(Default)]
pub(super) struct Holder {
    pub(super) name: Option<String>,
    pub(super) topics: Vec<String>,
}

/// Facts of the wallets from other entities.
pub(super) struct Belongings {
    pub(super) holders: HashMap<String, Holder>,
    /// The orders against each wallet.
    pub(super) orders: HashMap<String, Vec<SanctionOrder>>,
}

impl Belongings {
    pub(super) fn of(wallets: &[Wallet]) -> Self {
        Self {
            holders: wallets
                .iter()
                .flat_map(|wallet| &wallet.holders)
                .map(|id| (id.clone(), Holder::default()))
                .collect(),
            orders: wallets.iter().map(|wallet| (wallet.id.clone(), Vec::new())).collect(),
        }
    }

    fn read(&mut self, entity: &Value<'_>, parent: Option<&Value<'_>>) {
        let text = |member: &str| entity.get(member).and_then(Value::text);
        if let Some(holder) = text("id").and_then(|id| self.holders.get_mut(id)) {
            let name = values(entity, "name").next().or_else(|| text("caption")).map(str::to_owned);
            holder.name = name.or(holder.name.take());
            let topics = owned(values(entity, "topics"));
            if !topics.is_empty() {
                holder.topics = topics;
            }
        }
        if text("schema") == Some(SANCTION) {
            let dates = |property| values(entity, property).filter_map(|date| Dates::Iso.read(date));
            for wallet in values(entity, "entity").chain(parent.and_then(id_of)) {
                if let Some(orders) = self.orders.get_mut(wallet) {
                    let (start, end) = (dates("startDate").min(), dates("endDate").max());
                    orders.push(SanctionOrder { datasets: owned(datasets(entity)), start, end });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::raw::ChainHint;
    use super::super::official::testing::{read, rows};
    use super::*;

    const ENTITIES: &str = r#"{"id": "s-2", "schema": "Sanction", "datasets": ["us_ofac_sdn"], "properties": {"entity": ["w-2"], "startDate": ["2022-08-08"], "endDate": ["2025-03-21"]}}
{"id": "w-1", "schema": "CryptoWallet", "datasets": ["us_ofac_sdn"], "first_seen": "2024-05-06T00:00:00", "properties": {"publicKey": ["1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf"], "currency": ["XBT"], "holder": ["p-1"], "topics": ["sanction"]}}
{"id": "w-2", "schema": "CryptoWallet", "datasets": ["us_ofac_sdn"], "properties": {"publicKey": ["0x000e82871D35CE5F3a70e1Ece216c90eFC789E4b"]}}
{"id": "w-3", "schema": "CryptoWallet", "datasets": ["il_mod_crypto", "us_ofac_sdn"], "first_seen": "2024-05-06T00:00:00", "properties": {"publicKey": ["TK7REReUq73ASrquwC89pEctbH2wJ7Sox6"], "currency": ["USDT"], "topics": ["crime.terror", "sanction"]}}
{"id": "w-4", "schema": "CryptoWallet", "datasets": ["us_ofac_sdn"], "properties": {"currency": ["XMR"]}}

{"id": "s-3", "schema": "Sanction", "datasets": ["il_mod_crypto"], "properties": {"entity": ["w-3"], "startDate": ["2023-02-03"], "endDate": ["2024"]}}
{"id": "p-1", "schema": "Person", "datasets": ["us_ofac_sdn"], "caption": "E. B.", "properties": {"name": ["Erika Beispiel"]}}
"#;

    #[test]
    fn orders_and_holders_are_found_wherever_they_stand() {
        let labels = read(&FORMAT, &[("entities.ftm.json", ENTITIES)]).unwrap();
        let coin = |name: &str| ChainHint::Ticker(name.to_owned());
        let [xbt, usdt, xmr] = [coin("XBT"), coin("USDT"), coin("XMR")];
        let day = |text: &str| text.to_owned();
        let tron = "TK7REReUq73ASrquwC89pEctbH2wJ7Sox6";
        let evm = "0x000e82871D35CE5F3a70e1Ece216c90eFC789E4b";
        let expected = [
            ("1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf", &xbt, Some("Erika Beispiel"), day("2024-05-06"), day("")),
            (evm, &ChainHint::AnyEvm, None, day("2022-08-08"), day("2025-03-21")),
            // A year alone is no end.
            (tron, &usdt, None, day("2023-02-03"), day("")),
            (tron, &usdt, None, day("2024-05-06"), day("")),
            ("", &xmr, None, day(""), day("")),
        ];
        assert_eq!(rows(&labels), expected);
        let codes: Vec<_> = labels.claims.iter().map(|claim| claim.concepts.join(",")).collect();
        assert_eq!(codes, ["sanction", "sanction", "terrorist_financing", "sanction", ""]);
        let groups: Vec<_> = labels.claims.iter().map(|claim| claim.group.as_deref().unwrap()).collect();
        assert_eq!(groups, ["ofac", "ofac", "il_mod_crypto", "ofac", "ofac"]);
        assert_eq!(labels.claims[0].place, Some(Place::Line(2)));
    }

    #[test]
    fn a_wallet_without_topics_is_what_its_holder_is() {
        let entities = r#"{"id": "p-1", "schema": "Person", "datasets": ["fr_tresor"], "caption": "E. B.", "properties": {"topics": ["sanction"]}}
{"id": "w-1", "schema": "CryptoWallet", "datasets": ["fr_tresor"], "properties": {"publicKey": ["a"], "holder": ["p-1"]}}
{"id": "w-2", "schema": "CryptoWallet", "datasets": ["fr_tresor"], "properties": {"publicKey": ["b"], "holder": ["p-1"], "topics": ["crime.fraud"]}}
"#;
        let labels = read(&FORMAT, &[("entities.ftm.json", entities)]).unwrap();
        let found: Vec<_> =
            labels.claims.iter().map(|claim| (claim.entity.as_deref(), claim.concepts.join(","))).collect();
        assert_eq!(found, [(Some("E. B."), "sanction".to_owned()), (Some("E. B."), String::new())]);
    }

    #[test]
    fn a_line_that_is_cut_off_is_an_error() {
        let cut = ENTITIES.trim_end().strip_suffix("}}").unwrap();
        let error = read(&FORMAT, &[("entities.ftm.json", cut)]).unwrap_err().to_string();
        assert!(error.contains("line 8") && error.contains("cut off"), "{error}");
    }

    #[test]
    fn entities_may_contain_what_belongs_to_them() {
        let person = r#"{"id": "p-1", "schema": "Person", "caption": "E. B.", "datasets": ["us_ofac_sdn"], "properties": {
            "name": ["Erika Beispiel"], "topics": ["sanction"],
            "cryptoWallets": [{"id": "w-1", "schema": "CryptoWallet", "datasets": ["us_ofac_sdn"], "properties": {"publicKey": ["1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf"], "currency": ["XBT"]}}]}}"#;
        let wallet = r#"{"id": "w-2", "schema": "CryptoWallet", "datasets": ["il_mod_crypto"], "properties": {
            "publicKey": ["TK7REReUq73ASrquwC89pEctbH2wJ7Sox6"],
            "holder": [{"id": "p-2", "schema": "Organization", "datasets": ["il_mod_crypto"], "properties": {"name": ["Example Group"]}}],
            "sanctions": [{"id": "s-2", "schema": "Sanction", "datasets": ["il_mod_crypto"], "properties": {"startDate": ["2023-02-03"]}}]}}"#;
        let lines = [person, wallet].map(|entity| entity.replace('\n', "")).join("\n");
        let answer = format!(r#"{{"results": [{person}, {wallet}], "total": {{"value": 2}}}}"#);
        let array = format!("[\n  {person},\n  {wallet}\n]\n");
        let bare = array.replacen(
            r#""schema": "CryptoWallet", "datasets": ["us_ofac_sdn"],"#,
            r#""schema": "CryptoWallet","#,
            1,
        );
        let files = [("nested.json", lines), ("search.json", answer), ("array.json", array), ("bare.json", bare)];
        for (name, text) in files {
            let labels = read(&FORMAT, &[(name, &text)]).unwrap();
            let xbt = ChainHint::Ticker("XBT".to_owned());
            let bitcoin = "1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf";
            let tron = "TK7REReUq73ASrquwC89pEctbH2wJ7Sox6";
            let expected = [
                (bitcoin, &xbt, Some("Erika Beispiel"), String::new(), String::new()),
                (tron, &ChainHint::AnyEvm, Some("Example Group"), "2023-02-03".to_owned(), String::new()),
            ];
            assert_eq!(rows(&labels), expected, "{name}");
            let codes: Vec<_> = labels.claims.iter().map(|claim| claim.concepts.join(",")).collect();
            assert_eq!(codes, ["sanction", "terrorist_financing"]);
        }
    }
}
