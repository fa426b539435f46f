//! The list of sanctions in two editions. Parties are designated, not addresses: of a party most addresses are known
//! that were in use. The second edition adds what came into use since, and lacks what was delisted.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Chain, Family, Timestamp};

use super::publish::{LabelFile, LabelFormat, LabelList};
use crate::book::Mention;
use crate::clock::{DAY, START};
use crate::random::Stream;
use crate::truth::{AddressTruth, PublicLabel, Role};
use crate::world::World;

/// The name of the list.
const NAME: &str = "sanctions";
/// Who publishes it.
const GROUP: &str = "ofac";
/// How far it is believed.
const LEVEL: &str = "sanctions_list";

/// Parties that are designated in every economy.
const PARTIES: [&str; 5] =
    ["scam-drainer", "scam-investment", "scam-theft-1", "scam-ransomware-1-operator", "mixer-whirlpit"];
/// The party that is delisted.
const DELISTED: &str = "mixer-whirlpit";
/// How many in a hundred of the other criminals are designated.
const DESIGNATED_PERCENT: u64 = 12;
/// Innocent people who are taken for somebody else, in the demo, and delisted.
const MISTAKES: usize = 2;

/// How many in a hundred addresses of a designated party are known, by role.
const KNOWN: [(Role, u64); 7] = [
    (Role::ScamContract, 100),
    (Role::ScamCollector, 100),
    (Role::ScamOperator, 80),
    (Role::ScamLayer, 25),
    (Role::MixerPool, 100),
    (Role::DarknetMarket, 10),
    (Role::DarknetVendor, 20),
];

/// A sanctioned address.
#[derive(Debug, Clone, Copy)]
struct Listing {
    /// Whether the first edition has it.
    first: bool,
    /// Whether the second one has it.
    second: bool,
    correct: bool,
}

/// The list.
pub(super) struct Sanctions {
    /// Dates of the editions.
    dates: [i64; 2],
    listings: BTreeMap<Address, Listing>,
}

impl Sanctions {
    pub(super) fn new(world: &World, addresses: &[(Chain, Mention)]) -> Self {
        let days = world.preset.days();
        let dates = [START + days * 2 / 5 * DAY, START + days * 4 / 5 * DAY];
        let mut list = Self { dates, listings: BTreeMap::new() };
        for &(_, mention) in addresses {
            let Some((role, owner)) = world.who(&mention.address) else { continue };
            let Some(&(_, percent)) = KNOWN.iter().find(|known| known.0 == role) else { continue };
            let designated = PARTIES.contains(&owner) || {
                // Mixers in custody are run by nobody whose name is known.
                role != Role::MixerPool && chance(world, owner, DESIGNATED_PERCENT)
            };
            if designated && chance(world, &mention.address.to_string(), percent) {
                list.add(mention, owner != DELISTED, true);
            }
        }
        list.mistakes(world, addresses);
        list
    }

    /// An address that occurs on several chains is listed once, by the first of them.
    fn add(&mut self, mention: Mention, stays: bool, correct: bool) {
        let in_use = |edition: usize| mention.since_secs() < self.dates[edition];
        let (first, second) = (in_use(0), in_use(1) && stays);
        if first || second {
            let listing = self.listings.entry(mention.address).or_insert(Listing { first, second, correct });
            listing.first |= first;
            listing.second |= second;
        }
    }

    fn mistakes(&mut self, world: &World, addresses: &[(Chain, Mention)]) {
        let mut stream = Stream::new(world.seed, "list/sanctions/mistakes");
        let mut left = world.preset.rarities(MISTAKES);
        for _ in 0..1_000 * left {
            if left == 0 {
                break;
            }
            let (_, mention) = addresses[stream.index(addresses.len())];
            let person = matches!(world.who(&mention.address), Some((Role::Person, _)));
            if person && mention.since_secs() < self.dates[0] {
                self.add(mention, false, false);
                left -= 1;
            }
        }
    }

    /// What it says of an address, on any chain on which it occurs.
    pub(super) fn claim(&self, truth: &AddressTruth) -> Option<PublicLabel> {
        let listing = self.listings.get(&truth.address)?;
        let asserted = self.dates[usize::from(!listing.first)];
        Some(PublicLabel {
            chain: truth.chain,
            address: truth.address,
            code: "sanction".to_owned(),
            entity: String::new(),
            list: NAME.to_owned(),
            group: GROUP.to_owned(),
            level: LEVEL.to_owned(),
            asserted_secs: Some(asserted.unsigned_abs()),
            valid_until_secs: (!listing.second).then(|| self.dates[1].unsigned_abs()),
            correct: listing.correct,
        })
    }

    /// Both editions.
    pub(super) fn publish(self) -> [LabelList; 2] {
        [0, 1].map(|edition| {
            let listed = self.listings.iter().filter(|(_, listing)| [listing.first, listing.second][edition]);
            let addresses: BTreeSet<_> = listed.map(|(address, _)| *address).collect();
            LabelList {
                name: NAME.to_owned(),
                source: GROUP.to_owned(),
                format: LabelFormat::OfacText,
                level: LEVEL,
                edition: Some(Timestamp::new(self.dates[edition])),
                files: files(&addresses, edition),
            }
        })
    }
}

/// Whether somebody belongs to so many in a hundred: the same on every chain and in every order.
fn chance(world: &World, name: &str, percent: u64) -> bool {
    Stream::new(world.seed, &format!("list/sanctions/{name}")).below(100) < percent
}

/// One file per ticker. Some addresses stand under the stablecoin too, and editions differ in the case of letters.
fn files(addresses: &BTreeSet<Address>, edition: usize) -> Vec<LabelFile> {
    let mut tickers: BTreeMap<&str, String> = BTreeMap::new();
    for (place, address) in addresses.iter().enumerate() {
        let text = if edition == 0 { address.to_checksummed() } else { address.to_string() };
        let (ticker, stable) = match address.family() {
            Family::Utxo => ("XBT", false),
            Family::Tron => ("TRX", true),
            Family::Evm => ("ETH", place.is_multiple_of(5)),
        };
        for ticker in [Some(ticker), stable.then_some("USDT")].into_iter().flatten() {
            let lines = tickers.entry(ticker).or_default();
            lines.push_str(&text);
            lines.push('\n');
        }
    }
    let file = |(ticker, lines): (&str, String)| LabelFile {
        name: format!("sanctioned_addresses_{ticker}.txt"),
        bytes: lines.into_bytes(),
    };
    tickers.into_iter().map(file).collect()
}
