//! Small histories from terse rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_intel::behaviour::{
    Behaviour, Detection, Fact, Findings, History, HistoryGather, OthersInLedger, OthersLimits, Rules,
};
use headwater_intel::label::Moment;
use headwater_intel::risk::Parameters;
use headwater_ledger::facts::{Batch, BlockFacts, Body, Movement, MovementFact, TokenFacts, TransactionFacts};
use headwater_ledger::labels::{Claim, Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::{Ordinal, Status};
use headwater_ledger::store::{MemoryStore, Segmentation, Split};
use headwater_ledger::{Cancel, Ledger, Snapshot};
use headwater_testkit::{claim, hash, label_import};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};

/// Midnight of a Sunday, 2020-09-13 UTC: second 0 of every case.
pub const START: i64 = 18_518 * DAY;
pub const HOUR: i64 = 3_600;
pub const DAY: i64 = 86_400;
/// The address whose history a case tells.
pub const SUBJECT: i64 = 1;
/// Mints and burns are with it.
pub const ZERO: i64 = 0;
/// A contract that is called where coins move inside a transaction.
const CALLED: i64 = 3_999;
/// Added to a number: another address with the same three first and four last characters.
pub const LOOKALIKE: i64 = 10_000;
/// Added to a number: another address with the same three first characters and three last ones, not four.
pub const ALMOST: i64 = 20_000;
/// What an ether and a TRX are worth, US dollars.
pub const PRICE: f64 = 2_000.0;
/// What [`Case::find`] says where a rule does not hold.
pub const NOTHING: &str = "nothing";

/// The numbers of transactions of a case by their hashes.
type Numbers = BTreeMap<TxHash, usize>;

/// What [`Case::find`] says where a rule could not be decided.
pub const DEFERRED: &str = "deferred";

/// One movement, of the subject if it does not say of whom.
#[derive(Debug, Clone)]
pub struct Row {
    secs: i64,
    way: &'static str,
    who: i64,
    asset: &'static str,
    amount: String,
    whose: i64,
    sender: Option<i64>,
    gas_price: Option<u64>,
}

impl Row {
    /// The same so many seconds later.
    pub fn later(self, secs: i64) -> Self {
        Self { secs: self.secs + secs, ..self }
    }

    /// The same as seen from another account.
    pub fn of(self, whose: i64) -> Self {
        Self { whose, ..self }
    }

    /// In a transaction that somebody sends: a call of a contract.
    pub fn by(self, sender: i64) -> Self {
        Self { sender: Some(sender), ..self }
    }

    /// At a price per gas.
    pub fn at_price(self, wei: u64) -> Self {
        Self { gas_price: Some(wei), ..self }
    }

    /// Second of the case.
    pub fn secs(&self) -> i64 {
        self.secs
    }
}

/// A payment between two accounts, a transaction of its own.
pub fn paid(secs: i64, from: i64, to: i64, asset: &'static str, amount: impl ToString) -> Row {
    row(secs, "out", to, asset, amount).of(from)
}

/// A movement at a second of the case: "in" or "out", with account `who`, of so many whole units of an asset. Each row
/// is a transaction of its own; "+in" and "+out" belong to that of the row before, "failed in" and "failed out" are of ether, and
/// fail.
#[expect(clippy::needless_pass_by_value, reason = "rows are written by the hundred")]
pub fn row(secs: i64, way: &'static str, who: i64, asset: &'static str, amount: impl ToString) -> Row {
    let (whose, sender, gas_price) = (SUBJECT, None, None);
    Row { secs, way, who, asset, amount: amount.to_string(), whose, sender, gas_price }
}

/// A place as an account or a second.
pub fn number(place: usize) -> i64 {
    i64::try_from(place).expect("small")
}

/// Account `number`: its first three characters are the number, its last four are the same for all.
pub fn account(chain: Chain, number: i64) -> Address {
    let mut bytes = [0xaa; 20];
    if number == ZERO {
        bytes = [0; 20];
    } else {
        let (variant, base) = (number / LOOKALIKE, number % LOOKALIKE);
        let [high, low] = u16::try_from(base << 4).expect("below 4,096").to_be_bytes();
        (bytes[0], bytes[1], bytes[2]) = (high, low, u8::try_from(variant).expect("one of three"));
        bytes[18] = if variant == ALMOST / LOOKALIKE { 0xba } else { 0xaa };
    }
    if chain == Chain::TRON { Address::Tron(bytes) } else { Address::Evm(bytes) }
}

/// Contract and decimals of an asset that cases use. No registry lists `fake`, which calls itself USDT with a Cyrillic
/// letter, nor `spam`.
fn asset(chain: Chain, name: &str) -> (Asset, u8) {
    let contract = |text| Asset::Token(Address::parse(chain, text).expect("a contract"));
    let unlisted = |byte| Asset::Token(Address::Evm([byte; 20]));
    match name {
        "eth" | "trx" => (Asset::Native, chain.native_decimals()),
        "usdt" => (contract("0xdAC17F958D2ee523a2206206994597C13D831ec7"), 6),
        "usdc" => (contract("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), 6),
        "dai" => (contract("0x6B175474E89094C44Da98b954EedeAC495271d0F"), 18),
        "weth" => (contract("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"), 18),
        "wbtc" => (contract("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"), 8),
        "fake" => (unlisted(0xef), 6),
        "spam" => (unlisted(0x5a), 6),
        other => panic!("no case uses {other}"),
    }
}

/// What one address did, and what is known besides.
#[derive(Debug, Clone)]
pub struct Case {
    chain: Chain,
    rows: Vec<Row>,
    claims: Vec<Claim>,
    head: i64,
    is_priced: bool,
    rules: Rules,
    most_transfers: usize,
    others: OthersLimits,
    creator: Option<i64>,
}

impl Case {
    /// The rows, which stand in order of time, on Ethereum. The data ends with the last of them.
    pub fn of(rows: impl IntoIterator<Item = Row>) -> Self {
        Self {
            chain: Chain::ETHEREUM,
            rows: rows.into_iter().collect(),
            claims: Vec::new(),
            head: 0,
            is_priced: true,
            rules: Parameters::standard().behaviours.clone(),
            most_transfers: 200_000,
            others: Parameters::standard().scan.others,
            creator: None,
        }
    }

    /// The rows, put in order of time.
    pub fn sorted(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut rows: Vec<Row> = rows.into_iter().collect();
        rows.sort_by_key(Row::secs);
        Self::of(rows)
    }

    /// With other limits of what is read of others.
    pub fn reading(mut self, change: impl FnOnce(&mut OthersLimits)) -> Self {
        change(&mut self.others);
        self
    }

    /// An account creates the contract of `spam` in the first transaction.
    pub fn created_by(self, creator: i64) -> Self {
        Self { creator: Some(creator), ..self }
    }

    /// On TRON.
    pub fn on_tron(self) -> Self {
        Self { chain: Chain::TRON, ..self }
    }

    /// The data ends at a second, if no row is later.
    pub fn until(self, head: i64) -> Self {
        Self { head, ..self }
    }

    /// Leaves the rows in a gap between imported prices, in which native coins have none.
    pub fn unpriced(self) -> Self {
        Self { is_priced: false, ..self }
    }

    /// Only so many of the newest movements are looked through.
    pub fn newest(self, most_transfers: usize) -> Self {
        Self { most_transfers, ..self }
    }

    /// With other limits.
    pub fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    /// A list says what an account is, at the level of a forensic report (0.50).
    pub fn known(self, who: i64, code: Code, entity: Option<&str>) -> Self {
        self.said(who, code, entity, Level::Forensic)
    }

    /// The same at a level.
    pub fn said(mut self, who: i64, code: Code, entity: Option<&str>, level: Level) -> Self {
        let claim = claim(self.chain, account(self.chain, who), code, level, "list");
        self.claims.push(Claim { entity: entity.map(Arc::from), ..claim });
        self
    }

    /// What a behaviour's rule finds, in words; the same in each way that the rows are spread over segments.
    pub fn find(&self, behaviour: Behaviour) -> String {
        let found = self.texts().into_iter().find(|(found, _)| *found == behaviour);
        found.map_or_else(|| NOTHING.to_owned(), |(_, text)| text)
    }

    /// The same for a rule that reads others, with [`DEFERRED`] where it could not be decided.
    pub fn look(&self, behaviour: Behaviour) -> String {
        let is_deferred = self.in_segments(|ledger| self.scan(ledger).deferred.contains(&behaviour));
        if is_deferred { DEFERRED.to_owned() } else { self.find(behaviour) }
    }

    /// All that the rules find, in words; the same in each way that the rows are spread over segments.
    pub fn texts(&self) -> Vec<(Behaviour, String)> {
        let batch = self.batch();
        let numbers: Numbers = batch.transactions.iter().map(|facts| facts.hash).zip(1..).collect();
        self.in_segments(|ledger| {
            let found = self.scan(ledger).found;
            found.iter().map(|(behaviour, find)| (*behaviour, self.text(ledger, &numbers, find))).collect()
        })
    }

    /// All that the rules find.
    pub fn finds(&self) -> Vec<(Behaviour, Detection)> {
        self.findings().found
    }

    /// What the rules make of the rows.
    pub fn findings(&self) -> Findings {
        self.scan(&*segmented(&self.store(), 1))
    }

    fn scan(&self, ledger: &dyn Ledger) -> Findings {
        let cancel = Cancel::new();
        let others = OthersInLedger::new(ledger, self.gather(ledger), self.others, &cancel);
        self.rules.scan(&account(self.chain, SUBJECT), &self.read(ledger), &others).unwrap()
    }

    /// The history, of one segment.
    pub fn history(&self) -> History {
        self.read(&*segmented(&self.store(), 1))
    }

    /// Runs a closure over the rows in 1, 3 and 17 segments, and gives what it returns, which is the same each time.
    pub fn in_segments<T: PartialEq + std::fmt::Debug>(&self, run: impl Fn(&dyn Ledger) -> T) -> T {
        let store = self.store();
        let answer = run(&*segmented(&store, 1));
        for segments in [3, 17] {
            assert_eq!(run(&*segmented(&store, segments)), answer, "{segments} segments");
        }
        answer
    }

    /// The history that a ledger holds.
    pub fn read(&self, ledger: &dyn Ledger) -> History {
        let head = ledger.coverage().get(&self.chain).and_then(|coverage| coverage.last_time);
        match ledger.account(self.chain, &account(self.chain, SUBJECT)).unwrap() {
            Some(subject) => self.gather(ledger).read(ledger, &subject, &Cancel::new()).unwrap(),
            None => History::until(head.map_or(0, Timestamp::secs)),
        }
    }

    fn gather<'l>(&self, ledger: &'l dyn Ledger) -> HistoryGather<'l> {
        let head = ledger.coverage().get(&self.chain).and_then(|coverage| coverage.last_time);
        let (moment, stablecoins) = (Moment::present(ledger.labels(), head), &Parameters::standard().scan.stablecoins);
        HistoryGather::new(ledger, self.chain, moment, stablecoins, self.most_transfers)
    }

    fn text(&self, ledger: &dyn Ledger, numbers: &Numbers, found: &Detection) -> String {
        let all = self.rows.iter().flat_map(|row| [row.who, row.whose].into_iter().chain(row.sender));
        let accounts: BTreeMap<Address, i64> = all.map(|who| (account(self.chain, who), who)).collect();
        let names = |list: &[Address]| list.iter().map(|address| format!("#{}", accounts[address])).collect::<Vec<_>>();
        let fact = |fact: &Fact| match fact {
            Fact::Count(count) => count.to_string(),
            Fact::Usd(usd) => usd.to_string(),
            Fact::Ratio(of) | Fact::Units(of) => decimal(*of),
            Fact::Secs(secs) => secs.to_string(),
            Fact::Word(word) => (*word).to_owned(),
            Fact::Addresses(list) => names(list).join("+"),
            Fact::Path(list) => names(list).join(">"),
            Fact::Pairs(list) => {
                list.iter().map(|(one, other)| names(&[*one, *other]).join("~")).collect::<Vec<_>>().join("+")
            }
            Fact::Numbers(list) => list.iter().map(|of| decimal(*of)).collect::<Vec<_>>().join("+"),
            Fact::EachSecs(list) => list.iter().map(i64::to_string).collect::<Vec<_>>().join("+"),
            Fact::Words(list) => list.join("+"),
            Fact::Text(text) => text.clone(),
            Fact::Features(_) => unreachable!("no rule reads features"),
            Fact::Asset(found) => {
                let is = |name: &&&str| asset(self.chain, name).0 == *found;
                ["eth", "usdt", "usdc", "dai", "weth", "wbtc", "fake", "spam"].iter().find(is).unwrap().to_string()
            }
        };
        let facts: Vec<_> = found.evidence.facts.iter().map(|(name, of)| format!("{name} {}", fact(of))).collect();
        let number = |transaction| numbers[&ledger.transaction_head(transaction).unwrap().hash].to_string();
        let transactions: Vec<_> = found.evidence.transactions.iter().map(|found| number(*found)).collect();
        format!(
            "{} x{} {}..{}{}: {} by {}",
            decimal(found.intensity),
            found.occurrences,
            found.first - START,
            found.last - START,
            found.evidence.window_secs.map_or_else(String::new, |secs| format!(" in {secs}")),
            facts.join(", "),
            transactions.join(" ")
        )
    }

    fn store(&self) -> MemoryStore {
        let mut store = MemoryStore::default();
        store.commit(self.batch(), &Cancel::new()).unwrap();
        let last = self.head.max(self.rows.last().map_or(0, |row| row.secs)) / DAY;
        let days: Vec<i64> = if self.is_priced { (0..=last).collect() } else { vec![-9, last + 9] };
        let price = |symbol: &str, day| PricePoint {
            symbol: symbol.to_owned(),
            time: Timestamp::new(START + day * DAY),
            usd: PRICE,
        };
        let points = days.into_iter().flat_map(|day| [price("eth", day), price("trx", day)]).collect();
        store.import_prices("prices", points).unwrap();
        if !self.claims.is_empty() {
            store.import_labels(label_import("list", self.claims.clone(), START)).unwrap();
        }
        store
    }

    /// One block for each second.
    fn batch(&self) -> Batch {
        let mut batch = Batch::new(self.chain);
        let mut index = 0;
        for (place, row) in self.rows.iter().enumerate() {
            let is_later = place == 0 || self.rows[place - 1].secs < row.secs;
            assert!(place == 0 || self.rows[place - 1].secs <= row.secs, "row {place} is earlier than the one before");
            if is_later {
                index = 0;
                add_block(&mut batch, row.secs);
            }
            let number = batch.blocks.len() as u64;
            if row.way.starts_with('+') {
                let facts = batch.transactions.last_mut().expect("a transaction comes first");
                facts.movements.push(self.movement(row, facts));
                continue;
            }
            let mut facts =
                TransactionFacts { index: Some(index), ..TransactionFacts::new(hash(number, index), number) };
            facts.status = Some(if row.way.starts_with("failed") { Status::Failed } else { Status::Success });
            facts.effective_gas_price = row.gas_price.map(Amount::from);
            let movement = self.movement(row, &facts);
            let sender = row.sender.map(|sender| account(self.chain, sender));
            if movement.asset == Asset::Native && sender.is_none() {
                facts.body = Some(Body { from: movement.from, to: movement.to, value: movement.amount });
            } else {
                let called = Some(*movement.asset.contract().unwrap_or(&account(self.chain, CALLED)));
                facts.body = sender.map(|sender| Body { from: Some(sender), to: called, value: Amount::ZERO });
                facts.movements.push(movement);
            }
            if let Some(creator) = self.creator.filter(|_| batch.transactions.is_empty()) {
                let from = Some(account(self.chain, creator));
                facts.body = Some(Body { from, to: None, value: Amount::ZERO });
                facts.created = asset(self.chain, "spam").0.contract().copied();
            }
            batch.transactions.push(facts);
            index += 1;
        }
        if self.rows.last().is_none_or(|last| last.secs < self.head) {
            add_block(&mut batch, self.head);
            batch.transactions.push(self.of_strangers(batch.blocks.len() as u64));
        }
        batch.tokens = [("fake", "USD\u{422}"), ("spam", "SPAM")].map(|(name, symbol)| token(name, symbol)).into();
        if self.chain == Chain::TRON {
            batch.tokens.clear();
        }
        batch
    }

    /// What others do when the data ends.
    fn of_strangers(&self, block: u64) -> TransactionFacts {
        let [from, to] = [4_000, 4_001].map(|number| Some(account(self.chain, number)));
        let (body, status) = (Some(Body { from, to, value: Amount::from(1) }), Some(Status::Success));
        TransactionFacts { index: Some(0), body, status, ..TransactionFacts::new(hash(block, 0), block) }
    }

    fn movement(&self, row: &Row, of: &TransactionFacts) -> Movement {
        let (asset, decimals) = asset(self.chain, row.asset);
        let (subject, who) = (account(self.chain, row.whose), account(self.chain, row.who));
        let (from, to) = if row.way.ends_with("out") { (subject, who) } else { (who, subject) };
        let kind = if asset == Asset::Native { MovementFact::Internal } else { MovementFact::Token };
        let before = of.movements.iter().filter(|movement| movement.kind == kind).count() as u64;
        let log = u64::from(of.index.expect("given above")) * 100 + before;
        let ordinal = Ordinal::Indexed(if kind == MovementFact::Internal { before + 1 } else { log });
        let amount = Amount::parse_decimal(&row.amount, decimals).expect("an amount");
        Movement { kind, ordinal, from: Some(from), to: Some(to), asset, amount }
    }
}

fn token(name: &str, symbol: &str) -> TokenFacts {
    TokenFacts {
        contract: *asset(Chain::ETHEREUM, name).0.contract().expect("a token"),
        symbol: Some(symbol.to_owned()),
        name: None,
        decimals: Some(6),
        is_non_fungible: false,
    }
}

fn add_block(batch: &mut Batch, secs: i64) {
    let number = batch.blocks.len() as u64 + 1;
    batch.blocks.push(BlockFacts { number, hash: None, parent: None, time: Timestamp::new(START + secs) });
}

fn segmented(store: &MemoryStore, segments: usize) -> Arc<Snapshot> {
    let way = Segmentation { segments, split: Split::Scattered, tail_blocks: 0 };
    store.in_segments(way).unwrap().snapshot()
}

/// At most six decimals, without zeros at the end.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
