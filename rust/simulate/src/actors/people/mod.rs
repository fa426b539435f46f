//! People: each with a life span, hours of the day, a purse, habits, friends, and accounts on some of the chains.

mod deeds;

use std::cmp::Reverse;
use std::sync::Arc;

use headwater_types::Family;

use super::Actor;
use crate::book::{Habits, Holder};
use crate::clock::{DAY, HOUR, Rhythm, START};
use crate::random::{Stream, Weights, whole};
use crate::truth::Role;
use crate::world::people::{PEOPLE_PER_MERCHANT, Person};
use crate::world::{ACCOUNT_CHAINS, World};

/// Lets everybody be born.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.people();
    let end = world.end();
    // Exchanges are as popular as their rank: the first has many times the customers of the last.
    let exchanges = Weights::new((2..).map(|rank| 1_000_000 / rank).take(world.exchanges.len()));
    let mut streams: Vec<_> = Vec::new();
    for number in 0..count {
        let name = format!("person-{number:04}");
        let mut stream = Stream::new(world.seed, &name);
        let merchant = number % PEOPLE_PER_MERCHANT == 0;
        let (role, owner) =
            if merchant { (Role::Merchant, format!("merchant-{number:04}")) } else { (Role::Person, name) };
        let life = life_span(&mut stream, merchant, end);
        let habits = Habits::draw(&mut stream);
        let popularity = whole(stream.pareto(10.0, 1.1).min(40_000.0)) * if merchant { 12 } else { 1 };
        let person = Person {
            evm: world.account(Family::Evm, &owner, role, &owner),
            tron: world.account(Family::Tron, &owner, role, &owner),
            wallet: world.bitcoin.add_wallet(Holder::single(&owner, role), habits),
            life,
            popularity,
            exchange: exchanges.draw(&mut stream),
            name: owner.into(),
        };
        world.people.push(person);
        streams.push((number, merchant, stream));
    }
    imitate(world);
    let popularity = Weights::new(world.people.iter().map(|person| person.popularity));
    let people = streams.into_iter().filter(|(_, merchant, _)| !merchant);
    people
        .map(|(number, _, stream)| -> Box<dyn Actor> { Box::new(Life::new(world, number, &popularity, stream)) })
        .collect()
}

/// Gives the most popular shops accounts on TRON that an address looks like. Every second shop is paid at addresses of a
/// payment service, so it is the others.
fn imitate(world: &mut World) {
    let mut shops: Vec<usize> = (PEOPLE_PER_MERCHANT..world.people.len()).step_by(2 * PEOPLE_PER_MERCHANT).collect();
    shops.sort_by_key(|&shop| Reverse(world.people[shop].popularity));
    for shop in shops.into_iter().take(world.preset.rarities(1)) {
        let owner = Arc::clone(&world.people[shop].name);
        world.people[shop].tron = world.imitated_account(&owner, Role::Merchant);
    }
}

/// Many come early and stay; some stay for days only.
fn life_span(stream: &mut Stream, merchant: bool, end: i64) -> (i64, i64) {
    if merchant {
        return (START + 6 * HOUR, end);
    }
    let early = stream.chance(0.4);
    let latest = if early { 10 * DAY } else { end - START - 5 * DAY };
    let from = START + 6 * HOUR + stream.secs(0, latest);
    let days = stream.log_normal(45.0, 1.0).clamp(1.5, 400.0);
    (from, (from + i64::try_from(whole(days * 86_400.0)).expect("less than two years")).min(end))
}

struct Life {
    number: usize,
    rhythm: Rhythm,
    mean_gap_secs: f64,
    /// The weights of ethereum, bsc, tron, bitcoin.
    chains: [u64; 4],
    median_usd: f64,
    token_ratio: f64,
    likes_round: bool,
    friends: Vec<usize>,
    /// The weights of the actions, in the order of their list.
    weights: [u64; 11],
    stream: Stream,
}

impl Life {
    fn new(world: &World, number: usize, popularity: &Weights, mut stream: Stream) -> Self {
        let rhythm = Rhythm::draw(&mut stream);
        let deeds_per_day = stream.log_normal(world.preset.deeds_per_day(), 1.05).min(14.0);
        let mut chains = [0; 4];
        for (chain, ratio) in chains.iter_mut().zip([0.62, 0.40, 0.48, world.preset.bitcoin_users_ratio()]) {
            *chain = if stream.chance(ratio) { stream.between(2, 10) } else { 0 };
        }
        chains[3] = chains[3].div_ceil(2);
        if chains == [0; 4] {
            chains[stream.weighted(&[4, 2, 3, whole(world.preset.bitcoin_users_ratio() * 8.0)])] = 1;
        }
        let friend_count = 3 + usize::try_from(whole(stream.exponential(6.0))).unwrap_or(0).min(60);
        let friends = (0..friend_count).map(|_| popularity.draw(&mut stream)).filter(|&friend| friend != number);
        let friends = friends.collect();
        let mut weights = [60, 15, 10, 4, 2, 1, 1, 3, 0, 0, 0];
        // Bridges and mixers are for some only.
        weights[8] = if stream.chance(0.16) { 9 } else { 0 };
        weights[9] = if stream.chance(0.18) { 14 } else { 0 };
        // A third trades, few of them much.
        weights[10] = if stream.chance(0.33) { stream.between(4, 40) } else { 0 };
        debug_assert!(number < world.people.len());
        Self {
            number,
            rhythm,
            mean_gap_secs: 86_400.0 / deeds_per_day,
            chains,
            median_usd: stream.log_normal(110.0, 1.25).clamp(4.0, 60_000.0),
            token_ratio: stream.unit(),
            likes_round: stream.chance(0.45),
            friends,
            weights,
            stream,
        }
    }
}

impl Actor for Life {
    fn first_wake(&self) -> i64 {
        // The span is in the world; the first wake only finds out.
        START + HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let (from, until) = world.people[self.number].life;
        if now < from {
            return Some(self.rhythm.next(from, 60.0, &mut self.stream));
        }
        if now > until {
            return None;
        }
        match self.stream.weighted(&self.chains) {
            3 => self.use_bitcoin(world, now),
            place => {
                // What cannot be paid is not done; people try something else later.
                let _ = self.use_account(world, now, ACCOUNT_CHAINS[place]);
            }
        }
        Some(self.rhythm.next(now, self.mean_gap_secs, &mut self.stream))
    }
}
