//! Clusters of the bitcoin economy beside its wallets, by pairs of addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

use anyhow::{Context, Result};
use headwater_intel::bitcoin::change_clusters::{ChangeLinks, Evidence, Merged, Party, Refusal, merge};
use headwater_ledger::Cancel;
use headwater_types::{Address, Chain};

use super::Economy;
use super::interval::Share;

/// One way to group addresses.
#[derive(Default)]
struct Layer {
    clusters: usize,
    largest: usize,
    /// Pairs of one cluster that are of one wallet.
    precision: Share,
    /// Pairs of one wallet that are in one cluster.
    recall: Share,
    /// Pairs of one cluster that are of one owner, whatever the wallet.
    owners: Share,
    /// Clusters of several owners.
    mixed: usize,
    /// Clusters whose addresses are known as several entities.
    entities: usize,
}

/// The quality of clusters.
#[derive(Default)]
pub struct Tally {
    addresses: usize,
    common_inputs: Layer,
    with_change: Layer,
    unconstrained: Layer,
    links: usize,
    refused: BTreeMap<&'static str, usize>,
}

/// The truth about an address.
struct Truth<'a> {
    wallets: HashMap<Address, &'a str>,
    owners: HashMap<&'a str, &'a str>,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy) -> Result<()> {
        let (ledger, cancel) = (&*economy.ledger, Cancel::new());
        let clusters = ledger.clusters(Chain::BITCOIN, &cancel)?.context("clusters of an economy are few, or built")?;
        let mut links = ChangeLinks::new(ledger, Chain::BITCOIN, clusters, &cancel);
        let mut evidence = Evidence::default();
        let last = ledger.coverage().get(&Chain::BITCOIN).and_then(|coverage| coverage.last_block).unwrap_or(0);
        for block in 0..=last {
            for index in 0.. {
                let Some(found) = ledger.transaction_at(Chain::BITCOIN, block, index)? else { break };
                links.judge(ledger.transaction(found)?, &mut evidence)?;
            }
        }
        let truth = Truth {
            wallets: economy.truth.clusters.iter().map(|member| (member.address, &*member.wallet)).collect(),
            owners: economy.truth.wallets.iter().map(|wallet| (&*wallet.wallet, &*wallet.owner)).collect(),
        };
        let mut parties: BTreeMap<Address, Party> = BTreeMap::new();
        for address in truth.wallets.keys() {
            parties.extend(links.party(address)?.map(|party| (*address, party)));
        }
        let mut entities: BTreeMap<Party, BTreeSet<String>> = BTreeMap::new();
        for party in parties.values() {
            if !entities.contains_key(party) {
                entities.insert(*party, links.entities(*party)?);
            }
        }
        let merged =
            merge(&evidence, |party| Ok::<_, anyhow::Error>(entities.get(&party).cloned().unwrap_or_default()))?;
        let free = Evidence { links: evidence.links.clone(), ..Evidence::default() };
        let free = merge(&free, |_| Ok::<_, anyhow::Error>(BTreeSet::new()))?;
        self.addresses += parties.len();
        self.links += evidence.links.len();
        for (_, refusal) in &merged.refused {
            let why = match refusal {
                Refusal::Entities => "known as different entities",
                Refusal::Payment => "one paid the other and kept other change",
            };
            *self.refused.entry(why).or_default() += 1;
        }
        self.common_inputs.add(&truth, &entities, &parties, &Merged::default());
        self.with_change.add(&truth, &entities, &parties, &merged);
        self.unconstrained.add(&truth, &entities, &parties, &free);
        Ok(())
    }

    pub fn print(&self) {
        println!("## Clusters\n\n{} addresses.\n", self.addresses);
        println!(
            "| layer | clusters | largest | pairs of one wallet | found | pairs of one owner | of several owners | of several entities |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        row("common inputs", &self.common_inputs);
        row("with change", &self.with_change);
        row("with change, without constraints", &self.unconstrained);
        println!("\n{} links of change at `high`. Refused:\n", self.links);
        for (why, count) in &self.refused {
            println!("- {count}: {why}.");
        }
        println!();
    }
}

fn row(name: impl Display, layer: &Layer) {
    let Layer { clusters, largest, precision, recall, owners, mixed, entities } = layer;
    println!("| {name} | {clusters} | {largest} | {precision} | {recall} | {owners} | {mixed} | {entities} |");
}

impl Layer {
    fn add(
        &mut self,
        truth: &Truth<'_>,
        entities: &BTreeMap<Party, BTreeSet<String>>,
        parties: &BTreeMap<Address, Party>,
        merged: &Merged,
    ) {
        let mut groups: BTreeMap<Party, Vec<(&Address, Party)>> = BTreeMap::new();
        for (address, party) in parties {
            let group = merged.oldest.get(party).unwrap_or(party);
            groups.entry(*group).or_default().push((address, *party));
        }
        let mut wallets: HashMap<&str, usize> = HashMap::new();
        for address in parties.keys() {
            *wallets.entry(truth.wallets[address]).or_default() += 1;
        }
        let mut found = 0;
        for group in groups.values().filter(|group| group.len() > 1) {
            self.clusters += 1;
            self.largest = self.largest.max(group.len());
            let mut of_wallets: HashMap<&str, usize> = HashMap::new();
            let mut of_owners: HashMap<&str, usize> = HashMap::new();
            for (address, _) in group {
                let wallet = truth.wallets[address];
                *of_wallets.entry(wallet).or_default() += 1;
                *of_owners.entry(truth.owners.get(wallet).copied().unwrap_or(wallet)).or_default() += 1;
            }
            let same: usize = of_wallets.values().copied().map(pairs).sum();
            found += same;
            self.precision.part += same;
            self.precision.whole += pairs(group.len());
            self.owners.part += of_owners.values().copied().map(pairs).sum::<usize>();
            self.owners.whole += pairs(group.len());
            self.mixed += usize::from(of_owners.len() > 1);
            let known: Vec<&BTreeSet<String>> = group
                .iter()
                .map(|(_, party)| party)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .filter_map(|party| entities.get(party))
                .filter(|names| !names.is_empty())
                .collect();
            let are_different = |one: &&BTreeSet<String>| known.iter().any(|other| one.is_disjoint(other));
            self.entities += usize::from(known.iter().any(are_different));
        }
        self.recall.part += found;
        self.recall.whole += wallets.values().copied().map(pairs).sum::<usize>();
    }
}

const fn pairs(count: usize) -> usize {
    count * count.saturating_sub(1) / 2
}
