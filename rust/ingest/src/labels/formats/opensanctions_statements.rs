//! The statements of `OpenSanctions`: `statements.csv`, a row per value of an entity.
//!
//! What belongs to a wallet may stand before or behind it, so the file is read twice. Only wallets and the ids of orders
//! are kept in memory.

use std::collections::HashMap;

use super::super::raw::RawLabels;
use super::official::{Dates, each_list_row};
use super::opensanctions;
use super::opensanctions_ftm::{Belongings, SANCTION, SanctionOrder, WALLET, Wallet};
use super::{Format, Given};
use crate::error::Fault;
use crate::source::{Content, Probe, Row, truth};
use crate::{FieldError, IngestError, Place};

/// Source: `statements.csv` in the folder of a data set, with the columns of `nomenklatura`.
pub(super) const FORMAT: Format = opensanctions::format("opensanctions_statements", reads, read);

const COLUMNS: &[&str] = &["canonical_id", "schema", "prop", "value", "dataset"];
const OTHERS: &[&str] = &["external", "first_seen", "last_seen"];

fn reads(probe: &Probe) -> bool {
    matches!(probe.content(), Content::Csv | Content::Parquet) && probe.has(COLUMNS)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let mut wallets = Wallets::default();
        each_statement(probe, &mut labels, |statement| wallets.add(&statement))?;
        let Wallets { all: wallets, orders, .. } = wallets;
        let mut found = Belongings::of(&wallets);
        let mut orders: HashMap<String, Order> = orders
            .into_iter()
            .filter(|(_, parties)| parties.iter().any(|party| found.orders.contains_key(party)))
            .map(|(id, parties)| (id, Order { parties, order: SanctionOrder::default() }))
            .collect();
        if !wallets.is_empty() {
            each_statement(probe, &mut labels, |statement| complete(&statement, &mut found, &mut orders))?;
        }
        let mut orders: Vec<(String, Order)> = orders.into_iter().collect();
        orders.sort_by(|(one, _), (other, _)| one.cmp(other));
        for Order { parties, order } in orders.into_iter().map(|(_, order)| order) {
            for party in parties {
                if let Some(of_wallet) = found.orders.get_mut(&party) {
                    of_wallet.push(SanctionOrder { datasets: order.datasets.clone(), ..order });
                }
            }
        }
        let before = labels.claims.len();
        for wallet in &wallets {
            wallet.claim(&found, &mut labels);
        }
        let own = labels.claims.get(before..).unwrap_or_default();
        if !own.is_empty() && own.iter().all(|claim| claim.concepts.is_empty()) {
            let what =
                "has wallets, and no statement that says what they are (their topics, or an order against them): \
                        take the whole statements.csv, or targets.simple.csv, targets.nested.json or entities.ftm.json"
                    .to_owned();
            return Err(IngestError::NoAddresses { path: probe.path().to_owned(), what });
        }
    }
    Ok(labels)
}

/// One value of an entity.
struct Statement<'r> {
    place: Place,
    id: &'r str,
    schema: &'r str,
    property: &'r str,
    value: &'r str,
    dataset: &'r str,
    first_seen: Option<&'r str>,
    last_seen: Option<&'r str>,
}

fn each_statement(
    probe: &Probe,
    labels: &mut RawLabels,
    mut handle: impl FnMut(Statement<'_>),
) -> Result<(), IngestError> {
    let columns = [COLUMNS, OTHERS].concat();
    each_list_row(probe, &columns, labels, |row: &Row<'_>, _| {
        let need = |column: &'static str| row.text(column).map(Option::unwrap_or_default);
        // What only another source says of a candidate is not a statement of the data set.
        if row.text("external")?.as_deref().is_some_and(is_true) {
            return Ok(());
        }
        let (id, schema) = (need("canonical_id")?, need("schema")?);
        if id.is_empty() {
            return Err(Fault::Field(FieldError::new("canonical_id", None, "the id of an entity")));
        }
        let (property, value, dataset) = (need("prop")?, need("value")?, need("dataset")?);
        let (first, last) = (row.text("first_seen")?, row.text("last_seen")?);
        handle(Statement {
            place: row.place(),
            id: &id,
            schema: &schema,
            property: &property,
            value: &value,
            dataset: &dataset,
            first_seen: first.as_deref(),
            last_seen: last.as_deref(),
        });
        Ok(())
    })
}

fn is_true(text: &str) -> bool {
    text == "t" || truth(text).unwrap_or_default()
}

/// The wallets of a file, in the order of their first statements, and the parties of each order.
#[derive(Default)]
struct Wallets {
    all: Vec<Wallet>,
    places: HashMap<String, usize>,
    orders: HashMap<String, Vec<String>>,
}

impl Wallets {
    fn add(&mut self, statement: &Statement<'_>) {
        let Statement { property, value, .. } = *statement;
        if statement.schema == SANCTION && property == "entity" {
            add_once(self.orders.entry(statement.id.to_owned()).or_default(), value);
        }
        if statement.schema != WALLET {
            return;
        }
        let place = *self.places.entry(statement.id.to_owned()).or_insert_with(|| {
            self.all.push(Wallet {
                place: statement.place,
                id: statement.id.to_owned(),
                keys: Vec::new(),
                currency: None,
                holders: Vec::new(),
                topics: Vec::new(),
                datasets: Vec::new(),
                first_seen: None,
                last_seen: None,
            });
            self.all.len() - 1
        });
        let Some(wallet) = self.all.get_mut(place) else { return };
        add_once(&mut wallet.datasets, statement.dataset);
        let (first, last) = (statement.first_seen, statement.last_seen);
        let [first, last] = [first, last].map(|date| date.and_then(|date| Dates::Iso.read(date)));
        wallet.first_seen = wallet.first_seen.into_iter().chain(first).min();
        wallet.last_seen = wallet.last_seen.max(last);
        match property {
            "publicKey" => add_once(&mut wallet.keys, value),
            "holder" => add_once(&mut wallet.holders, value),
            "topics" => add_once(&mut wallet.topics, value),
            "currency" => wallet.currency = wallet.currency.take().or_else(|| Some(value.to_owned())),
            _ => {}
        }
    }
}

/// An order, and the parties that it is against.
struct Order {
    parties: Vec<String>,
    order: SanctionOrder,
}

/// Adds what a statement says of a holder of wallets or of an order against one.
fn complete(statement: &Statement<'_>, found: &mut Belongings, orders: &mut HashMap<String, Order>) {
    let Statement { property, value, .. } = *statement;
    if let Some(holder) = found.holders.get_mut(statement.id) {
        match property {
            "name" => holder.name = holder.name.take().or_else(|| Some(value.to_owned())),
            "topics" => add_once(&mut holder.topics, value),
            _ => {}
        }
    }
    if let Some(Order { order, .. }) = orders.get_mut(statement.id) {
        add_once(&mut order.datasets, statement.dataset);
        let date = Dates::Iso.read(value);
        match property {
            "startDate" => order.start = order.start.into_iter().chain(date).min(),
            "endDate" => order.end = order.end.max(date),
            _ => {}
        }
    }
}

fn add_once(texts: &mut Vec<String>, text: &str) {
    if texts.iter().all(|known| known != text) {
        texts.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::raw::ChainHint;
    use super::super::official::testing::{read, rows};
    use super::*;

    #[test]
    fn statements_of_a_wallet_are_joined() {
        let table = "canonical_id,entity_id,prop,prop_type,schema,value,dataset,lang,original_value,external,first_seen,last_seen,id\n\
            s-1,s-1,startDate,date,Sanction,2022-08-08,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,1\n\
            w-1,w-1,publicKey,identifier,CryptoWallet,1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,2\n\
            w-1,w-1,currency,string,CryptoWallet,XBT,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,3\n\
            w-1,w-1,topics,topic,CryptoWallet,sanction,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,4\n\
            w-1,w-1,holder,entity,CryptoWallet,p-1,us_ofac_sdn,,,f,2024-05-07T00:00:00,2026-01-01T00:00:00,5\n\
            p-1,p-1,name,name,Person,Erika Beispiel,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,6\n\
            w-2,w-2,publicKey,identifier,CryptoWallet,TK7REReUq73ASrquwC89pEctbH2wJ7Sox6,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,7\n\
            w-3,w-3,publicKey,identifier,CryptoWallet,bc1qakj,us_ofac_sdn,,,t,2024-05-06T00:00:00,2026-01-01T00:00:00,8\n\
            s-1,s-1,entity,entity,Sanction,w-2,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00,9\n";
        let labels = read(&FORMAT, &[("statements.csv", table)]).unwrap();
        let xbt = ChainHint::Ticker("XBT".to_owned());
        let day = |text: &str| text.to_owned();
        let expected = [
            ("1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf", &xbt, Some("Erika Beispiel"), day("2024-05-06"), day("")),
            ("TK7REReUq73ASrquwC89pEctbH2wJ7Sox6", &ChainHint::AnyEvm, None, day("2022-08-08"), day("")),
        ];
        assert_eq!(rows(&labels), expected);
        let codes: Vec<_> = labels.claims.iter().map(|claim| claim.concepts.join(",")).collect();
        assert_eq!(codes, ["sanction", "sanction"]);
    }

    #[test]
    fn wallets_of_which_nothing_is_said_are_refused() {
        let table = "canonical_id,entity_id,schema,prop,value,dataset,lang,original_value,external,first_seen,last_seen\n\
            w-1,w-1,CryptoWallet,publicKey,1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf,us_ofac_sdn,,,f,2024-05-06,2026-01-01\n";
        let error = read(&FORMAT, &[("statements.csv", table)]).unwrap_err().to_string();
        assert!(error.contains("no statement that says what they are"), "{error}");
    }
}
