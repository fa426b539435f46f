//! New tokens: a pool is opened, people buy, and the maker sells. Some makers wait, and are none of the bad ones.

use headwater_types::{Address, Amount, Chain, TxHash};

use crate::abi;
use crate::actors::Actor;
use crate::book::{Call, Effect, Insufficient};
use crate::clock::{DAY, HOUR, START};
use crate::random::Stream;
use crate::tokens::Token;
use crate::truth::{Behaviour, Evidence, Role, Verdict};
use crate::world::dex::SwapOrder;
use crate::world::{Case, Coin, Flow, World};

const NAMES: [(&str, &str); 4] = [("OTTR", "Otter Inu"), ("PLSH", "Plush"), ("BRRN", "Barren"), ("YLDX", "Yield X")];
/// Whole tokens.
const SUPPLY: u64 = 1_000_000_000;

/// Starts the makers.
pub(super) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let mut actors: Vec<Box<dyn Actor>> = Vec::new();
    for number in 0..world.preset.rarities(1) {
        for (place, verdict) in [Verdict::Planted, Verdict::Innocent].into_iter().enumerate() {
            let chain = [Chain::BSC, Chain::ETHEREUM][(place + number) % 2];
            let name = format!("launch-{number}-{place}");
            let owner = format!("deployer-{name}");
            let maker = world.account(chain.family(), &owner, Role::TokenDeployer, &owner);
            let coins = world.raw(chain, Coin::Native, 4_500_000, START);
            world.book(chain).allocate(maker, Amount::from_u128(coins));
            let mut stream = Stream::new(world.seed, &owner);
            let from = START + stream.secs(35 * DAY, 100 * DAY);
            let case = Case { name, kind: "new_token_dump" };
            let symbol = NAMES[(2 * number + place) % NAMES.len()];
            actors.push(Box::new(Launch {
                chain,
                verdict,
                case,
                owner,
                maker,
                symbol,
                token: None,
                opened: false,
                turn: 0,
                sales: Vec::new(),
                cents: 0,
                from,
                stream,
            }));
        }
    }
    actors
}

struct Launch {
    chain: Chain,
    verdict: Verdict,
    case: Case,
    owner: String,
    maker: Address,
    symbol: (&'static str, &'static str),
    token: Option<usize>,
    opened: bool,
    turn: u32,
    sales: Vec<TxHash>,
    cents: u64,
    from: i64,
    stream: Stream,
}

impl Actor for Launch {
    fn first_wake(&self) -> i64 {
        self.from
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let done = match (self.token, self.opened) {
            (None, _) => self.create(world, now),
            (Some(token), false) => self.open(world, now, token),
            (Some(token), true) => {
                self.turn += 1;
                if self.turn <= 6 {
                    self.lure(world, token);
                    Ok(())
                } else {
                    self.sell(world, now, token)
                }
            }
        };
        if done.is_err() && self.turn == 0 {
            return Some(now + 6 * HOUR);
        }
        if self.turn >= 10 {
            self.record_truth(world);
            return None;
        }
        Some(now + self.stream.secs(HOUR, 3 * HOUR))
    }
}

impl Launch {
    /// The contract mints everything to its maker.
    fn create(&mut self, world: &mut World, now: i64) -> Result<(), Insufficient> {
        let (symbol, name) = self.symbol;
        let contract = world.book(self.chain).next_contract(&self.maker);
        let token = Token {
            chain: self.chain,
            contract,
            symbol: symbol.to_owned(),
            name: name.to_owned(),
            decimals: 18,
            price: None,
            coingecko_id: None,
        };
        let amount = token.units(SUPPLY);
        let from = world.book(self.chain).zero();
        let mut call = Call::plain(self.maker, self.maker, Amount::ZERO);
        call.to = None;
        call.gas = 1_150_000;
        call.input = abi::call("constructor(string,string,uint256)", &[abi::amount(amount)]);
        call.effects.push(Effect::Token { contract, from, to: self.maker, amount });
        let receipt = world.book(self.chain).send(now, call)?;
        world.file(contract, Role::UnverifiedToken, &self.owner);
        self.token = Some(world.hand_on(token));
        let flow = Flow { from, to: self.maker, asset: headwater_types::Asset::Token(contract), amount };
        self.step(world, "setup", receipt.hash, flow);
        Ok(())
    }

    fn step(&self, world: &mut World, stage: &str, hash: TxHash, flow: Flow) {
        if self.verdict == Verdict::Planted {
            world.step(&self.case, stage, self.chain, hash, flow);
        }
    }

    /// Two thirds of the tokens and twenty thousand dollars of the wrapped coin go into a pool.
    fn open(&mut self, world: &mut World, now: i64, token: usize) -> Result<(), Insufficient> {
        let wrapped = world.wrapped(self.chain);
        let raw = world.raw(self.chain, Coin::Native, 2_000_000, now);
        world.wrap(self.chain, now, self.maker, raw)?;
        let place = world.open_pool(self.chain, 0, [token, wrapped]);
        let supply = world.whole(self.chain, Coin::Token(token), SUPPLY, 0);
        let most = world.dex.pools[place].tokens.map(|side| if side == token { supply / 3 * 2 } else { raw });
        world.add_liquidity(now, place, self.maker, most)?;
        self.opened = true;
        Ok(())
    }

    /// People buy what everybody talks about.
    fn lure(&mut self, world: &mut World, token: usize) {
        for _ in 0..6 {
            let place = self.stream.index(world.people.len());
            let user = world.people[place].account(self.chain.family());
            let raw = world.balance(self.chain, &user, Coin::Native) / 10;
            if raw > 0 {
                let coins = (Coin::Native, Coin::Token(token));
                world.order_swap(SwapOrder {
                    user,
                    chain: self.chain,
                    dex: 0,
                    coins,
                    raw,
                    slippage_bp: 1_500,
                    least: 0,
                });
            }
        }
    }

    /// Four sales of what the maker kept: nearly all of it, or of the honest one a little.
    fn sell(&mut self, world: &mut World, now: i64, token: usize) -> Result<(), Insufficient> {
        let held = world.balance(self.chain, &self.maker, Coin::Token(token));
        let left = u128::from(11 - self.turn);
        let raw = match self.verdict {
            Verdict::Planted => held / 100 * 98 / left,
            Verdict::Innocent => held / 12,
        };
        let coins = (Coin::Token(token), Coin::Native);
        let order = SwapOrder { user: self.maker, chain: self.chain, dex: 0, coins, raw, slippage_bp: 0, least: 0 };
        let swapped = world.swap(now, &order)?;
        self.cents += world.cents(self.chain, Coin::Native, swapped.got, now);
        self.sales.push(swapped.receipt.hash);
        let asset = world.asset(Coin::Token(token));
        let pair =
            world.pool_of(self.chain, 0, [token, world.wrapped(self.chain)]).map(|pool| world.dex.pools[pool].pair);
        self.step(world, "dump", swapped.receipt.hash, Flow::new(self.maker, pair.ok_or(Insufficient)?, asset, raw));
        Ok(())
    }

    fn record_truth(&self, world: &mut World) {
        let (Some(&first), Some(&last)) = (self.sales.first(), self.sales.last()) else { return };
        let evidence =
            Evidence { count: self.sales.len() as u64, counterparties: 1, usd_cents: self.cents, first, last };
        world.judge(self.chain, (self.maker, Behaviour::NewTokenDump, self.verdict), evidence);
    }
}
