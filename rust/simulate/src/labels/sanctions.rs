//! The list of sanctions in two editions. Parties are designated, not addresses: of a party most addresses are known
//! that were in use. The second edition adds what came into use since, and lacks what was delisted.
//!
//! Each address has its date, weeks or months after the crime: the day of the designation, or a later one where the party
//! took the address into use afterwards. Mixers and others that continue are listed in the middle of what they do.

use std::collections::BTreeMap;

use headwater_types::{Address, Chain, Family, Timestamp};

use super::publish::{HEADER, LabelFile, LabelFormat, LabelList};
use crate::book::Mention;
use crate::clock::{DAY, START, iso_day};
use crate::random::Stream;
use crate::truth::{AddressTruth, PublicLabel, Role};
use crate::world::World;

/// The name of the list.
const NAME: &str = "sanctions";
/// The publisher.
const GROUP: &str = "ofac";
/// The level of trust.
const LEVEL: &str = "sanctions_list";

/// Parties that are designated in every economy.
const PARTIES: [&str; 5] =
    ["scam-drainer", "scam-investment", "scam-theft-1", "scam-ransomware-1-operator", "mixer-whirlpit"];
/// The party that is delisted.
const DELISTED: &str = "mixer-whirlpit";
/// The number of other criminals in a hundred who are designated.
const DESIGNATED_PERCENT: u64 = 12;
/// Days from the first use of an address of a party to its designation: scams and thefts are over by then, their
/// laundering, mixers and poisoners may continue.
const DESIGNATED_AFTER_DAYS: [i64; 2] = [70, 150];
/// Days from the first use of an address of a designated party until the address is added.
const ADDED_AFTER_DAYS: [i64; 2] = [7, 60];
/// Innocent people who are taken for somebody else, in the demo, and delisted.
const MISTAKES: usize = 2;

/// The number of addresses in a hundred of a designated party that are known, by role.
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
    /// True if the first edition has it.
    first: bool,
    /// True if the second one has it.
    second: bool,
    /// The day from which it is listed, not behind the first edition that has it.
    since: i64,
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
        let mut known: Vec<(Mention, &str)> = Vec::new();
        let mut first_use: BTreeMap<&str, i64> = BTreeMap::new();
        for &(_, mention) in addresses {
            let Some((role, owner)) = world.who(&mention.address) else { continue };
            let Some(&(_, percent)) = KNOWN.iter().find(|known| known.0 == role) else { continue };
            let designated = PARTIES.contains(&owner) || {
                // Mixers in custody are run by nobody whose name is known.
                role != Role::MixerPool && chance(world, owner, DESIGNATED_PERCENT)
            };
            if designated && chance(world, &mention.address.to_string(), percent) {
                let first = first_use.entry(owner).or_insert(mention.since_secs());
                *first = mention.since_secs().min(*first);
                known.push((mention, owner));
            }
        }
        for (mention, owner) in known {
            let designated = first_use[owner] + delay(world, owner, DESIGNATED_AFTER_DAYS);
            let added = mention.since_secs() + delay(world, &mention.address.to_string(), ADDED_AFTER_DAYS);
            let since = if mention.since_secs() < designated { designated } else { added };
            list.add(mention, owner != DELISTED, (since, true));
        }
        list.mistakes(world, addresses);
        list
    }

    /// An address that occurs on several chains is listed once, by the first of them.
    fn add(&mut self, mention: Mention, stays: bool, (since, correct): (i64, bool)) {
        let in_use = |edition: usize| mention.since_secs() < self.dates[edition];
        let (first, second) = (in_use(0), in_use(1) && stays);
        if first || second {
            // Lists know only the day, and an edition has nothing of later days.
            let since = (since.div_euclid(DAY) * DAY + DAY).min(self.dates[usize::from(!first)]);
            let listing = self.listings.entry(mention.address).or_insert(Listing { first, second, since, correct });
            listing.first |= first;
            listing.second |= second;
            listing.since = listing.since.min(since);
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
                let delay = delay(world, &mention.address.to_string(), ADDED_AFTER_DAYS);
                self.add(mention, false, (mention.since_secs() + delay, false));
                left -= 1;
            }
        }
    }

    /// Returns what it says of an address, on any chain on which it occurs.
    pub(super) fn claim(&self, truth: &AddressTruth) -> Option<PublicLabel> {
        let listing = self.listings.get(&truth.address)?;
        Some(PublicLabel {
            chain: truth.chain,
            address: truth.address,
            code: "sanction".to_owned(),
            entity: String::new(),
            list: NAME.to_owned(),
            group: GROUP.to_owned(),
            level: LEVEL.to_owned(),
            asserted_secs: Some(listing.since.unsigned_abs()),
            valid_until_secs: (!listing.second).then(|| self.dates[1].unsigned_abs()),
            correct: listing.correct,
        })
    }

    /// Both editions, whose letters differ in case.
    pub(super) fn publish(self) -> [LabelList; 2] {
        [0, 1].map(|edition| {
            let listed = self.listings.iter().filter(|(_, listing)| [listing.first, listing.second][edition]);
            let rows = listed.map(|(address, listing)| {
                let text = if edition == 0 { address.to_checksummed() } else { address.to_string() };
                row(address.family(), &text, listing.since)
            });
            let text = std::iter::once(HEADER.to_owned()).chain(rows).collect::<String>();
            LabelList {
                name: NAME.to_owned(),
                source: GROUP.to_owned(),
                format: LabelFormat::Plain,
                level: LEVEL,
                edition: Some(Timestamp::new(self.dates[edition])),
                files: vec![LabelFile { name: format!("{NAME}.csv"), bytes: text.into_bytes() }],
            }
        })
    }
}

/// A row of the list, which names no party. An EVM address is listed for every EVM chain.
fn row(family: Family, address: &str, since: i64) -> String {
    let chain = match family {
        Family::Evm => "evm",
        Family::Tron => Chain::TRON.name(),
        Family::Utxo => Chain::BITCOIN.name(),
    };
    let day = iso_day(since);
    format!("{chain},{address},sanction,,{GROUP},,{GROUP},{LEVEL},{day},\n")
}

/// Returns whether somebody belongs to so many in a hundred: the same on every chain and in every order.
fn chance(world: &World, name: &str, percent: u64) -> bool {
    Stream::new(world.seed, &format!("list/sanctions/{name}")).below(100) < percent
}

/// The delay of a listing in seconds, of so many days: the same on every chain and in every order.
fn delay(world: &World, name: &str, [low, high]: [i64; 2]) -> i64 {
    Stream::new(world.seed, &format!("list/sanctions/{name}/delay")).secs(low * DAY, high * DAY)
}
