//! The sketch by which scenes are written.

use headwater_types::{Address, Chain};

use super::{Move, MoveAction, Scene, Sum};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::truth::{Behaviour, Role, Verdict};
use crate::world::{Case, Coin, World};

/// A scene that is being written.
pub(super) struct Sketch<'a> {
    world: &'a mut World,
    /// Its randomness.
    pub(super) stream: Stream,
    /// The chain where it plays.
    pub(super) chain: Chain,
    behaviour: Behaviour,
    verdict: Verdict,
    name: String,
    scene: Scene,
}

impl<'a> Sketch<'a> {
    /// An empty page.
    pub(super) fn new(
        world: &'a mut World,
        chain: Chain,
        behaviour: Behaviour,
        verdict: Verdict,
        number: usize,
    ) -> Self {
        let code = behaviour.code();
        let name = match verdict {
            Verdict::Planted => format!("{code}-{number}"),
            Verdict::Innocent => format!("near-{code}-{number}"),
        };
        let stream = Stream::new(world.seed, &format!("scene/{name}"));
        let case = Case { name: name.clone(), kind: code };
        let scene = Scene { chain, case, moves: Vec::new(), claims: Vec::new() };
        Self { world, stream, chain, behaviour, verdict, name, scene }
    }

    /// Moves the page to the chain that was set.
    pub(super) fn relocate(&mut self) {
        self.scene.chain = self.chain;
    }

    /// The scene, its moves in order of time.
    pub(super) fn into_scene(mut self) -> Scene {
        self.scene.moves.sort_by_key(|planned| planned.at);
        self.scene
    }

    /// A time at which the scene may begin, when it lasts this many days and must be followed by so many more.
    pub(super) fn opening(&mut self, days: i64) -> i64 {
        let first = START + 12 * DAY;
        let last = (self.world.end() - (days + 22) * DAY).max(first + DAY);
        self.stream.secs(first, last) / 60 * 60
    }

    /// Returns whether the period is long enough for a scene of so many days.
    pub(super) fn lasts(&self, days: i64) -> bool {
        self.world.preset.days() > days + 36
    }

    /// Somebody of the scene.
    pub(super) fn cast(&mut self, part: &str) -> Address {
        let role = match self.verdict {
            Verdict::Planted => Role::Launderer,
            Verdict::Innocent => Role::Business,
        };
        let owner = match self.verdict {
            Verdict::Planted => format!("launderer-{}", self.name),
            Verdict::Innocent => format!("business-{}", self.name),
        };
        self.world.account(self.chain.family(), &format!("{owner}/{part}"), role, &owner)
    }

    /// Several of the same part.
    pub(super) fn crowd(&mut self, part: &str, count: usize) -> Vec<Address> {
        (0..count).map(|number| self.cast(&format!("{part}/{number:03}"))).collect()
    }

    /// Private people who take part without knowing it, for once in a while one of their own addresses.
    pub(super) fn stranger(&mut self) -> Address {
        let place = self.stream.index(self.world.people.len());
        self.world.people[place].account(self.chain.family())
    }

    /// The stablecoin of the scene.
    pub(super) fn dollar(&self) -> Coin {
        self.world.token(self.chain, "USDT")
    }

    /// A token of the scene that goes up and down.
    pub(super) fn volatile(&self) -> Coin {
        let symbol = match self.chain {
            Chain::ETHEREUM => "LINK",
            Chain::BSC => "Cake",
            _ => "USDC",
        };
        self.world.token(self.chain, symbol)
    }

    /// A token by its symbol.
    pub(super) fn token(&self, symbol: &str) -> Coin {
        self.world.token(self.chain, symbol)
    }

    /// Moves something.
    pub(super) fn play(
        &mut self,
        at: i64,
        from: Address,
        deed: MoveAction,
        (coin, sum): (Coin, Sum),
        stage: &'static str,
    ) {
        self.scene.moves.push(Move { at, from, coin, sum, deed, stage });
    }

    /// Pays somebody of the scene.
    pub(super) fn pay(&mut self, at: i64, from: Address, to: Address, money: (Coin, Sum)) {
        self.play(at, from, MoveAction::Pay(to), money, "layer");
    }

    /// An exchange pays out to somebody of the scene; `exchange` by place.
    pub(super) fn fund(&mut self, at: i64, exchange: usize, to: Address, coin: Coin, cents: u64) {
        let exchange = exchange % self.world.exchanges.len();
        let hot = self.world.hot_wallet(exchange, self.chain.family());
        self.play(at, hot, MoveAction::Pay(to), (coin, Sum::Cents(cents)), "setup");
    }

    /// Coins for the fees of so many token transfers.
    pub(super) fn gas(&mut self, at: i64, to: Address, transfers: u64) {
        let cents = match self.chain {
            Chain::ETHEREUM => 900,
            Chain::BSC => 40,
            _ => 950,
        };
        self.fund(at, 1, to, Coin::Native, cents * transfers + cents);
    }

    /// Pays into an account at an exchange.
    pub(super) fn cash_out(&mut self, at: i64, from: Address, exchange: usize, customer: &str, money: (Coin, Sum)) {
        let customer = format!("{}/{customer}", self.name);
        self.play(at, from, MoveAction::Deposit(exchange, customer), money, "cash_out");
    }

    /// Says of somebody what the scene is about.
    pub(super) fn claim(&mut self, address: Address) {
        self.scene.claims.push((address, self.behaviour, self.verdict));
    }

    /// Says something else of somebody.
    pub(super) fn claim_as(&mut self, address: Address, behaviour: Behaviour, verdict: Verdict) {
        self.scene.claims.push((address, behaviour, verdict));
    }

    /// Money worth about so many dollars, uneven.
    pub(super) fn cents(&mut self, usd: u64) -> u64 {
        self.stream.between(usd * 80, usd * 120)
    }

    /// Some minutes, in seconds.
    pub(super) fn minutes(&mut self, low: i64, high: i64) -> i64 {
        self.stream.secs(low, high) * 60
    }

    /// Some hours, in seconds.
    pub(super) fn hours(&mut self, low: i64, high: i64) -> i64 {
        self.stream.secs(low * HOUR, high * HOUR)
    }
}
