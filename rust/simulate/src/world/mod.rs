//! The world that the actors live in: the books, the market, who is who, the services as their customers see them, and
//! the post between actors.

pub(crate) mod bridges;
pub(crate) mod dex;
pub(crate) mod exchange;
pub(crate) mod freezes;
pub(crate) mod mixer;
pub(crate) mod payments;
pub(crate) mod people;
pub(crate) mod queue;
pub(crate) mod ransoms;
mod tumbler;
pub(crate) mod watched;

use std::collections::BTreeMap;

use headwater_ledger::market::TokenListing;
use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};

use self::bridges::Bridges;
use self::dex::Dex;
use self::exchange::Exchange;
use self::freezes::Freezes;
use self::mixer::Mixer;
use self::payments::Payments;
use self::people::Person;
use self::ransoms::RansomPayment;
use self::tumbler::Tumbler;
use self::watched::VisiblePayments;
use crate::abi;
use crate::book::{AccountBook, Call, Effect, Insufficient, Receipt, UtxoBook};
use crate::clock::{DAY, HOUR, START};
use crate::directory::Directory;
use crate::gas::{PLAIN_GAS, TOKEN_GAS};
use crate::identity::account;
use crate::market::Market;
use crate::preset::Preset;
use crate::tokens::{Token, known};
use crate::truth::{Behaviour, CaseStep, Evidence, PlantedBehaviour, Role, Truth, Verdict};

/// Somebody who wakes, acts, and says when to be woken again.
pub(crate) trait Actor {
    /// When to be woken first.
    fn first_wake(&self) -> i64;

    /// Acts now. `None` when there is nothing left to do.
    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64>;
}

/// The account chains of the economy.
pub(crate) const ACCOUNT_CHAINS: [Chain; 3] = [Chain::ETHEREUM, Chain::BSC, Chain::TRON];

/// A coin of an account chain: its own, or a token by its place in [`World::tokens`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coin {
    /// The native coin.
    Native,
    /// A token.
    Token(usize),
}

/// Everything outside the heads of the actors.
pub(crate) struct World {
    /// The seed.
    pub(crate) seed: u64,
    /// The size.
    pub(crate) preset: Preset,
    ethereum: AccountBook,
    bsc: AccountBook,
    tron: AccountBook,
    /// The UTXO chain.
    pub(crate) bitcoin: UtxoBook,
    /// Prices.
    pub(crate) market: Market,
    /// All tokens, the well-known ones first.
    pub(crate) tokens: Vec<Token>,
    /// Tokens that nobody vouches for and people hand on, by place.
    handed_on: BTreeMap<Chain, Vec<usize>>,
    /// All people.
    pub(crate) people: Vec<Person>,
    /// All exchanges.
    pub(crate) exchanges: Vec<Exchange>,
    /// The mixer.
    pub(crate) mixer: Mixer,
    /// The mixer of bitcoin.
    pub(crate) tumbler: Tumbler,
    /// The bridges.
    pub(crate) bridges: Bridges,
    /// Payments that everybody can see.
    pub(crate) watched: VisiblePayments,
    /// The pools, and the swaps that wait.
    pub(crate) dex: Dex,
    /// The payment services.
    pub(crate) payments: Payments,
    /// The accounts that issuers have frozen.
    pub(crate) freezes: Freezes,
    /// The payments of victims of extortion, in order of time.
    pub(crate) ransoms: Vec<RansomPayment>,
    /// The ground truth, as it happens: what no slice has taken yet.
    pub(crate) truth: Truth,
    /// The directory of account chains.
    pub(crate) directory: Directory,
    /// Actors that join the economy at the next wake.
    joining: Vec<Box<dyn Actor>>,
    steps: BTreeMap<String, u64>,
}

impl World {
    /// A world without people.
    pub(crate) fn new(preset: Preset, seed: u64) -> Self {
        let mut world = Self {
            seed,
            preset,
            ethereum: AccountBook::new(seed, Chain::ETHEREUM, preset),
            bsc: AccountBook::new(seed, Chain::BSC, preset),
            tron: AccountBook::new(seed, Chain::TRON, preset),
            bitcoin: UtxoBook::new(seed, preset),
            market: Market::new(seed, preset.days()),
            tokens: Vec::new(),
            handed_on: BTreeMap::new(),
            people: Vec::new(),
            exchanges: Vec::new(),
            mixer: Mixer::default(),
            tumbler: Tumbler::default(),
            bridges: Bridges::default(),
            watched: VisiblePayments::default(),
            dex: Dex::default(),
            payments: Payments::default(),
            freezes: Freezes::default(),
            ransoms: Vec::new(),
            truth: Truth::default(),
            directory: Directory::default(),
            joining: Vec::new(),
            steps: BTreeMap::new(),
        };
        for chain in ACCOUNT_CHAINS {
            let zero = world.book(chain).zero();
            world.directory.file(zero, Role::Zero, "nobody");
        }
        for token in known() {
            world.add_contract(token.chain, token.contract, Role::Token, &format!("token-{}", token.symbol));
            world.tokens.push(token);
        }
        world
    }

    /// The last second at which anybody acts.
    pub(crate) fn end(&self) -> i64 {
        START + self.preset.days() * DAY - HOUR
    }

    /// The book of an account chain.
    pub(crate) fn book(&mut self, chain: Chain) -> &mut AccountBook {
        match chain {
            Chain::ETHEREUM => &mut self.ethereum,
            Chain::BSC => &mut self.bsc,
            _ => &mut self.tron,
        }
    }

    /// Time of the block of an account chain into which a transaction goes that is sent now.
    pub(crate) fn block_time(&self, chain: Chain, now: i64) -> i64 {
        self.read(chain).block_time(now)
    }

    /// The book of an account chain, to read.
    pub(crate) fn read(&self, chain: Chain) -> &AccountBook {
        match chain {
            Chain::ETHEREUM => &self.ethereum,
            Chain::BSC => &self.bsc,
            _ => &self.tron,
        }
    }

    /// Lets somebody else join the economy, who is woken when they say.
    pub(crate) fn join(&mut self, actor: Box<dyn Actor>) {
        self.joining.push(actor);
    }

    /// Those who joined since the last call.
    pub(crate) fn take_joining(&mut self) -> Vec<Box<dyn Actor>> {
        std::mem::take(&mut self.joining)
    }

    /// An account of a name, which gets a role.
    pub(crate) fn account(&mut self, family: Family, name: &str, role: Role, owner: &str) -> Address {
        let address = account(self.seed, family, name);
        self.directory.file_new(address, role, owner);
        address
    }

    /// Files the role and owner of an address that is nobody's yet.
    pub(crate) fn file(&mut self, address: Address, role: Role, owner: &str) {
        self.directory.file(address, role, owner);
    }

    /// Role and owner of an address.
    pub(crate) fn who(&self, address: &Address) -> Option<(Role, &str)> {
        let wallet = || self.bitcoin.holder(address).map(|holder| (holder.role, &*holder.owner));
        self.directory.look_up(address).or_else(wallet)
    }

    /// The token registry: only tokens that are what they say.
    pub(crate) fn listings(&self) -> Vec<TokenListing> {
        self.tokens.iter().filter_map(Token::listing).collect()
    }

    /// Makes a contract known.
    pub(crate) fn add_contract(&mut self, chain: Chain, contract: Address, role: Role, owner: &str) {
        self.directory.file(contract, role, owner);
        self.book(chain).add_contract(contract);
    }

    /// Adds a token that people may hand on.
    pub(crate) fn hand_on(&mut self, token: Token) -> usize {
        let place = self.tokens.len();
        self.handed_on.entry(token.chain).or_default().push(place);
        self.tokens.push(token);
        place
    }

    /// Returns what an address has of the tokens of a chain that people hand on.
    pub(crate) fn odd_coins(&self, chain: Chain, address: &Address) -> Vec<Coin> {
        let odd = self.handed_on.get(&chain).into_iter().flatten().copied();
        let assets = odd.map(|place| (Coin::Token(place), self.tokens[place].asset()));
        self.read(chain).held(address, assets).collect()
    }

    /// The well-known tokens of a chain.
    pub(crate) fn known_coins(&self, chain: Chain) -> Vec<Coin> {
        let known = self.tokens.iter().take_while(|token| token.verified()).enumerate();
        known.filter(|(_, token)| token.chain == chain).map(|(place, _)| Coin::Token(place)).collect()
    }

    /// The well-known token of this symbol.
    pub(crate) fn token(&self, chain: Chain, symbol: &str) -> Coin {
        let fits = |token: &Token| token.chain == chain && token.symbol == symbol && token.verified();
        Coin::Token(self.tokens.iter().position(fits).expect("actors name tokens of the table"))
    }

    /// The asset of a coin.
    pub(crate) fn asset(&self, coin: Coin) -> Asset {
        match coin {
            Coin::Native => Asset::Native,
            Coin::Token(place) => self.tokens[place].asset(),
        }
    }

    fn valuation(&self, chain: Chain, coin: Coin) -> Option<(&'static str, u8)> {
        match coin {
            Coin::Native => Some((chain.native_symbol(), chain.native_decimals())),
            Coin::Token(place) => Some((self.tokens[place].price?, self.tokens[place].decimals)),
        }
    }

    /// Raw units worth this many cents; of what has no price, as many whole units.
    pub(crate) fn raw(&self, chain: Chain, coin: Coin, cents: u64, now: i64) -> u128 {
        match (self.valuation(chain, coin), coin) {
            (Some((symbol, decimals)), _) => self.market.raw(symbol, decimals, cents, now),
            (None, Coin::Token(place)) => u128::from(cents) * 10_u128.pow(u32::from(self.tokens[place].decimals)),
            (None, Coin::Native) => 0,
        }
    }

    /// Cents that raw units are worth; nothing for what has no price.
    pub(crate) fn cents(&self, chain: Chain, coin: Coin, raw: u128, now: i64) -> u64 {
        self.valuation(chain, coin).map_or(0, |(symbol, decimals)| self.market.cents(symbol, decimals, raw, now))
    }

    /// Returns what an address has; more than 128 bits count as the most that fits.
    pub(crate) fn balance(&self, chain: Chain, address: &Address, coin: Coin) -> u128 {
        self.read(chain).balance(address, self.asset(coin)).to_u128().unwrap_or(u128::MAX)
    }

    /// Cents that an address has of a coin.
    pub(crate) fn worth(&self, chain: Chain, address: &Address, coin: Coin, now: i64) -> u64 {
        let raw = self.balance(chain, address, coin);
        self.cents(chain, coin, raw, now)
    }

    /// The call that transfers a coin.
    pub(crate) fn transfer_call(&self, from: Address, to: Address, coin: Coin, raw: u128) -> Call {
        let amount = Amount::from_u128(raw);
        let Asset::Token(contract) = self.asset(coin) else { return Call::plain(from, to, amount) };
        let input = abi::call("transfer(address,uint256)", &[abi::account(&to), abi::amount(amount)]);
        let mut call = Call::contract(from, contract, TOKEN_GAS, input);
        call.effects.push(Effect::Token { contract, from, to, amount });
        call
    }

    /// Transfers a coin.
    pub(crate) fn transfer(
        &mut self,
        chain: Chain,
        now: i64,
        (from, to): (Address, Address),
        coin: Coin,
        raw: u128,
    ) -> Result<Receipt, Insufficient> {
        let call = self.transfer_call(from, to, coin, raw);
        self.book(chain).send(now, call)
    }

    /// Transfers all of a coin, of the native one less the fee. Gives what was moved.
    pub(crate) fn transfer_all(
        &mut self,
        chain: Chain,
        now: i64,
        (from, to): (Address, Address),
        coin: Coin,
    ) -> Result<(Receipt, u128), Insufficient> {
        let gas = if coin == Coin::Native { PLAIN_GAS } else { TOKEN_GAS };
        let quote = self.book(chain).quote(now, gas);
        let held = self.balance(chain, &from, coin);
        let raw = if coin == Coin::Native { held.checked_sub(quote.fee).ok_or(Insufficient)? } else { held };
        if raw == 0 {
            return Err(Insufficient);
        }
        let call = self.transfer_call(from, to, coin, raw);
        Ok((self.book(chain).send_quoted(now, call, quote)?, raw))
    }

    /// The call by which an owner allows a spender to take a token.
    pub(crate) fn approve_call(&self, owner: Address, spender: Address, token: usize, amount: Amount) -> Call {
        let contract = self.tokens[token].contract;
        let words = [abi::account(&spender), abi::amount(amount)];
        let mut call = Call::contract(owner, contract, TOKEN_GAS, abi::call("approve(address,uint256)", &words));
        let topics =
            vec![abi::topic("Approval(address,address,uint256)"), abi::account(&owner), abi::account(&spender)];
        call.effects.push(Effect::Log { address: contract, topics, data: abi::amount(amount).to_vec() });
        call
    }

    /// Writes down a step of a case.
    pub(crate) fn step(&mut self, case: &Case, stage: &str, chain: Chain, hash: TxHash, flow: Flow) {
        // Issuers hear of money that has moved on; only the slow crimes are known while they last.
        match stage {
            "loot" if case.kind == "pig_butchering" => self.accuse(chain, flow.to),
            "collect" | "layer" | "cash_out" => self.accuse(chain, flow.from),
            _ => {}
        }
        let next = self.steps.entry(case.name.clone()).or_insert(0);
        self.truth.cases.push(CaseStep {
            case: case.name.clone(),
            kind: case.kind.to_owned(),
            step: *next,
            stage: stage.to_owned(),
            chain,
            hash,
            from: flow.from,
            to: flow.to,
            asset: flow.asset,
            amount: flow.amount,
        });
        *next += 1;
    }

    /// Writes down that an address behaved so, and by what it can be known.
    pub(crate) fn plant(&mut self, chain: Chain, address: Address, behaviour: Behaviour, evidence: Evidence) {
        self.judge(chain, (address, behaviour, Verdict::Planted), evidence);
    }

    /// Writes down that an address behaved so, or only nearly.
    pub(crate) fn judge(
        &mut self,
        chain: Chain,
        (address, behaviour, verdict): (Address, Behaviour, Verdict),
        evidence: Evidence,
    ) {
        if verdict == Verdict::Planted {
            self.accuse(chain, address);
        }
        self.truth.behaviours.push(PlantedBehaviour { chain, address, behaviour, verdict, evidence });
    }

    /// Whole units of a coin and millionths of one, raw.
    pub(crate) fn whole(&self, chain: Chain, coin: Coin, whole: u64, millionths: u32) -> u128 {
        let decimals = match coin {
            Coin::Native => chain.native_decimals(),
            Coin::Token(place) => self.tokens[place].decimals,
        };
        let unit = 10_u128.pow(u32::from(decimals));
        u128::from(whole) * unit + u128::from(millionths) * unit / 1_000_000
    }
}

/// A case that steps belong to.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: String,
    /// Its kind.
    pub(crate) kind: &'static str,
}

/// Money that moves in a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    /// The address that lost it.
    pub(crate) from: Address,
    /// The address that got it.
    pub(crate) to: Address,
    /// The asset.
    pub(crate) asset: Asset,
    /// The amount.
    pub(crate) amount: Amount,
}

impl Flow {
    /// A flow.
    pub(crate) fn new(from: Address, to: Address, asset: Asset, raw: u128) -> Self {
        Self { from, to, asset, amount: Amount::from_u128(raw) }
    }
}
