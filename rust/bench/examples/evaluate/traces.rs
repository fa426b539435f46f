//! Traces from the loot of planted cases: how much of where it went is found, and how much else.

mod cases;
mod methods;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generations;
use headwater_types::{Address, Chain, Family};
use serde_json::json;

use self::cases::{Case, Kind, cases};
use self::methods::Method;
use self::source::Source;
use super::Economy;
use super::interval::Share;

const CHAINS: [Chain; 4] = [Chain::ETHEREUM, Chain::BSC, Chain::TRON, Chain::BITCOIN];

/// The ways that are tried, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// A method by itself, on account chains.
    Method(Method),
    /// `/v1/trace` outward, with hops, counterparties and addresses, and with the haircut or without a method.
    Product { hops: u8, limit: u32, most: u32, haircut: bool },
}

const WAYS: [(Way, &str); 11] = [
    (Way::Method(Method::BreadthFirst { hops: 2 }), "breadth first, 2 hops, payers too"),
    (Way::Method(Method::Poison { hops: 2 }), "breadth first, 2 hops, outward"),
    (Way::Method(Method::Haircut), "haircut, shares from 0.001"),
    (Way::Method(Method::Ranked { most: 200 }), "tracing rank, 200 looked through"),
    (Way::Method(Method::Ranked { most: 1_000 }), "tracing rank, 1,000 looked through"),
    (Way::Method(Method::RankedForward { most: 1_000 }), "tracing rank, all mass forward, 1,000"),
    (Way::Product { hops: 2, limit: 10, most: 500, haircut: true }, "`/v1/trace`, defaults, outward"),
    (Way::Product { hops: 7, limit: 100, most: 200, haircut: true }, "`/v1/trace`, 7 hops, limit 100, 200 addresses"),
    (Way::Product { hops: 7, limit: 100, most: 1_000, haircut: true }, "the same, 1,000 addresses"),
    (Way::Product { hops: 7, limit: 100, most: 5_000, haircut: true }, "the same, 5,000 addresses (the most)"),
    (Way::Product { hops: 7, limit: 100, most: 1_000, haircut: false }, "the same, 1,000 addresses, `none`"),
];

/// The result of one case.
struct TraceResult {
    /// Hops from the start, by address.
    hops: BTreeMap<Address, u32>,
    /// Addresses on other chains.
    beyond: BTreeSet<(Chain, Address)>,
    looked_through: usize,
}

/// The score of a way over the cases of a kind.
#[derive(Default)]
struct Score {
    recall: Share,
    precision: Share,
    ends: Share,
    beyond: Share,
    /// By case: recall, share of the amount at the ends that were found, accounts, looked through, hops.
    by_case: Vec<[f64; 5]>,
}

/// Scores of all ways.
#[derive(Default)]
pub struct Tally {
    economies: usize,
    scores: BTreeMap<(Kind, bool, Way), Score>,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy) -> Result<()> {
        self.economies += 1;
        let store: Arc<dyn Generations> = Arc::clone(&economy.store) as _;
        let engine = QueryEngine::new(store);
        for chain in CHAINS {
            let is_utxo = chain.family() == Family::Utxo;
            let mut source = Source::new(&*economy.ledger, chain);
            for case in cases(economy, chain)? {
                for (way, _) in WAYS {
                    let finds = match way {
                        Way::Method(_) if is_utxo => continue,
                        Way::Method(method) => by_method(&mut source, method, &case)?,
                        Way::Product { .. } => by_product(&engine, way, &case)?,
                    };
                    self.scores.entry((case.kind, is_utxo, way)).or_default().add(&case, &finds);
                }
            }
        }
        Ok(())
    }

    pub fn print(&self) {
        println!("## Traces\n\n{} economies.\n", self.economies);
        for (is_utxo, chains) in [(false, "ethereum, bsc and tron"), (true, "bitcoin")] {
            for (kind, name) in Kind::ALL {
                let of = |way| self.scores.get(&(kind, is_utxo, way));
                let Some(any) = WAYS.iter().find_map(|(way, _)| of(*way)) else { continue };
                println!(
                    "{name} on {chains}: {} cases, {} known addresses, {} of them ends\n",
                    any.by_case.len(),
                    any.recall.whole,
                    any.ends.whole
                );
                println!(
                    "| method | recall, mean of cases | recall of addresses | precision | ends found | amount at ends found | \
                     addresses found | looked through | hops | found over bridges |\n|---|---|---|---|---|---|---|---|---|---|"
                );
                for (way, name) in WAYS {
                    let Some(score) = of(way) else { continue };
                    let [recall, amount, accounts, looked_through, hops] =
                        std::array::from_fn(|place| mean(score.by_case.iter().map(|case| case[place])));
                    println!(
                        "| {name} | {} | {} | {} | {} | {} | {:.1} | {:.1} | {:.2} | {} |",
                        shown(recall),
                        score.recall,
                        score.precision,
                        score.ends,
                        shown(amount),
                        accounts.0,
                        looked_through.0,
                        hops.0,
                        match way {
                            Way::Method(_) => "–".to_owned(),
                            Way::Product { .. } => score.beyond.to_string(),
                        }
                    );
                }
                println!();
            }
        }
    }
}

impl Score {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
    fn add(&mut self, case: &Case, finds: &TraceResult) {
        let is_found = |address: &Address| finds.hops.contains_key(address);
        let known = case.known.iter().filter(|address| is_found(address)).count();
        let beyond = case.beyond.intersection(&finds.beyond).count();
        let ends = case.ends.keys().filter(|address| is_found(address)).count();
        for (share, part, whole) in [
            (&mut self.recall, known, case.known.len()),
            (&mut self.precision, known + beyond, finds.hops.len() + finds.beyond.len()),
            (&mut self.ends, ends, case.ends.len()),
            (&mut self.beyond, beyond, case.beyond.len()),
        ] {
            share.part += part;
            share.whole += whole;
        }
        let usd: f64 = case.ends.values().sum();
        let there: f64 = case.ends.iter().filter(|(address, _)| is_found(address)).map(|(_, usd)| usd).sum();
        self.by_case.push([
            known as f64 / case.known.len() as f64,
            if usd > 0.0 { there / usd } else { f64::NAN },
            finds.hops.len() as f64,
            finds.looked_through as f64,
            f64::from(finds.hops.values().copied().max().unwrap_or(0)),
        ]);
    }
}

/// The mean, and half of its interval at 95 %. What is not a number does not count.
#[expect(clippy::cast_precision_loss, reason = "some hundreds of cases")]
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    (mean, 1.959_964 * (variance / count).sqrt())
}

fn shown((mean, half): (f64, f64)) -> String {
    format!("{mean:.3} ({:.3} to {:.3})", (mean - half).max(0.0), (mean + half).min(1.0))
}

fn by_method(source: &mut Source<'_>, method: Method, case: &Case) -> Result<TraceResult> {
    let start = source.node(case.start);
    let found = method.find(source, start)?;
    let hops = found.accounts.into_iter().map(|(node, hops)| (source.address(node), hops)).collect();
    Ok(TraceResult { hops, beyond: BTreeSet::new(), looked_through: found.expanded })
}

fn by_product(engine: &QueryEngine, way: Way, case: &Case) -> Result<TraceResult> {
    let Way::Product { hops, limit, most, haircut } = way else { unreachable!("the caller has looked") };
    let request = json!({
        "blockchain": case.chain.to_string(),
        "address": case.start.to_string(),
        "track_setting": {
            "outward_depth": hops, "inward_depth": 0, "limit": limit, "max_nodes": most,
            "method": if haircut { "haircut" } else { "none" },
        },
    });
    let report = engine.answer(endpoint("trace").context("the endpoint")?, &request, &Cancel::new())?.value();
    let nodes = report["nodes"].as_array().context("nodes")?;
    let mut finds = TraceResult { hops: BTreeMap::new(), beyond: BTreeSet::new(), looked_through: 0 };
    for node in nodes {
        let chain: Chain = node["blockchain"].as_str().context("blockchain")?.parse()?;
        if chain != case.chain {
            finds.beyond.insert((chain, Address::parse(chain, node["address"].as_str().context("address")?)?));
            continue;
        }
        finds.looked_through += usize::from(!node["counterparties"].is_null());
        let hops = node["depth"].as_u64().context("depth")?;
        if hops > 0 {
            let address = Address::parse(case.chain, node["address"].as_str().context("address")?)?;
            finds.hops.insert(address, u32::try_from(hops)?);
        }
    }
    Ok(finds)
}
