//! Public lists about the economy: most of what is famous, little of the rest, and some of it wrong.

mod lists;
mod publish;
mod ransomware;
mod sanctions;

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{Address, Chain};

pub use publish::{LabelFile, LabelFormat, LabelList, write_lists};

use self::lists::{Dates, LISTS, List};
use self::publish::PlainList;
use self::ransomware::RansomwareList;
use self::sanctions::Sanctions;
use crate::book::Mention;
use crate::clock::DAY;
use crate::random::{Stream, float, whole};
use crate::truth::{AddressTruth, PublicLabel, Role};
use crate::world::World;
use crate::world::freezes::Freeze;

/// The name under which freezes of issuers are filed, which no file lists.
const FREEZES: &str = "issuer-freezes";

/// The lists, asked address by address, in order of chain and address.
pub(crate) struct PublicLists {
    end: i64,
    /// The number of times more people than crimes there are than in the demo.
    crowd: u64,
    plain: Vec<(&'static List, Stream, PlainList)>,
    ransomware: RansomwareList,
    sanctions: Sanctions,
    freezes: BTreeMap<(Chain, Address), Vec<Freeze>>,
    /// The makers of tokens that carry the symbol of another.
    forgers: BTreeSet<Box<str>>,
}

impl PublicLists {
    /// The lists of an economy that is over. `addresses` are all that occur.
    pub(crate) fn new(world: &World, addresses: &[(Chain, Mention)]) -> Self {
        let plain =
            LISTS.iter().map(|list| (list, Stream::new(world.seed, &format!("list/{}", list.name)), PlainList::new()));
        let mut freezes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for freeze in &world.freezes.all {
            freezes.entry((freeze.chain, freeze.address)).or_default().push(*freeze);
        }
        let mut forgers = BTreeSet::new();
        for (_, mention) in addresses {
            if let Some((Role::SpoofedToken, owner)) = world.who(&mention.address) {
                forgers.insert(owner.into());
            }
        }
        Self {
            end: world.end(),
            crowd: world.preset.people_per_rarity(),
            plain: plain.collect(),
            ransomware: RansomwareList::new(world),
            sanctions: Sanctions::new(world, addresses),
            freezes,
            forgers,
        }
    }

    /// Returns what they claim about the next address, which occurs since a time.
    pub(crate) fn claims(&mut self, truth: &AddressTruth, since: i64, labels: &mut Vec<PublicLabel>) {
        let first = labels.len();
        let fraud = !matches!(truth.role, Role::TokenDeployer) || self.is_fraud(&truth.owner);
        for (list, stream, published) in &mut self.plain {
            for draw in list.claims(truth, (fraud, self.crowd), stream) {
                let asserted = date(list.dates, when(stream, since, self.end), self.end);
                let withdrawn = draw.withdrawn_after_days.map(|days| asserted + days * DAY);
                let withdrawn = withdrawn.filter(|&at| at <= self.end);
                let dated = list.dates != Dates::None && !(list.dates == Dates::Some && stream.chance(0.3));
                let label = PublicLabel {
                    chain: truth.chain,
                    address: truth.address,
                    code: draw.code.to_owned(),
                    entity: draw.entity,
                    list: list.name.to_owned(),
                    group: list.group_of(&truth.owner),
                    level: list.level.to_owned(),
                    asserted_secs: dated.then_some(asserted.unsigned_abs()),
                    valid_until_secs: withdrawn.filter(|_| dated).map(i64::unsigned_abs),
                    correct: draw.correct,
                };
                published.add(list, &label);
                labels.push(label);
            }
        }
        labels.extend(self.ransomware.claim(truth, since, self.end));
        labels.extend(self.sanctions.claim(truth));
        labels.extend(self.freezes.get(&(truth.chain, truth.address)).into_iter().flatten().map(frozen));
        labels[first..].sort_unstable();
    }

    /// Returns whether a maker of tokens deceives: by a symbol, or by selling what others were made to buy.
    fn is_fraud(&self, owner: &str) -> bool {
        self.forgers.contains(owner) || (owner.starts_with("deployer-launch-") && owner.ends_with("-0"))
    }

    /// The lists as they are published, in the order in which they are to be imported.
    pub(crate) fn publish(self) -> Vec<LabelList> {
        let mut lists: Vec<_> = self.plain.into_iter().map(|(list, _, published)| published.publish(list)).collect();
        lists.push(self.ransomware.publish());
        lists.extend(self.sanctions.publish());
        lists
    }
}

fn frozen(freeze: &Freeze) -> PublicLabel {
    PublicLabel {
        chain: freeze.chain,
        address: freeze.address,
        code: "issuer_frozen".to_owned(),
        entity: String::new(),
        list: FREEZES.to_owned(),
        group: freeze.group.to_owned(),
        level: "issuer_freeze".to_owned(),
        asserted_secs: Some(freeze.from_secs.unsigned_abs()),
        valid_until_secs: freeze.until_secs.map(i64::unsigned_abs),
        correct: true,
    }
}

/// Some time after an address occurs first, mostly soon.
fn when(stream: &mut Stream, since: i64, end: i64) -> i64 {
    let unit = stream.unit();
    let left = float((end - since).max(0)) * unit * unit;
    since + i64::try_from(whole(left)).unwrap_or(0)
}

/// A time as a list dates it: lists of days say the next day that begins in the economy.
const fn date(dates: Dates, secs: i64, end: i64) -> i64 {
    if matches!(dates, Dates::Seconds) {
        return secs;
    }
    let day = secs.div_euclid(DAY) * DAY;
    if day + DAY <= end { day + DAY } else { day }
}
