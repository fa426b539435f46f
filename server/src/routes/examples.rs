//! Examples for the description: a ledger of a few movements, asked when the description is made. What the examples
//! show is what the engine answers, so they cannot go stale. Accounts, token and transactions are those of the demo economy
//! (`headwater simulate`), where the same requests find something too; a test asks them all there.

use std::sync::Arc;

use headwater_engine::example::{ALICE, BITCOIN_TRANSACTION, BOB, CROSSING, EXCHANGE, START, TRANSACTION, USDT};
use headwater_engine::{Answer, Endpoint, Error, QueryEngine};
use headwater_ledger::facts::{
    Batch, BlockFacts, Body, Claim, InputFacts, LogFacts, Movement, MovementFact, OutPoint, OutputFacts,
    TransactionFacts, UtxoFacts,
};
use headwater_ledger::labels::{self, Action, Code, DateBasis, Level, Link, Scope};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::{CoverageTable, Ordinal, ScriptType, Status};
use headwater_ledger::store::{LabelImport, MemoryStore, MissingClaims, ShrinkPolicy};
use headwater_ledger::{Cancel, LedgerError};
use headwater_state::RequestId;
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};
use serde_json::{Value, json};

use super::openapi::headers::REQUEST_ID;
use crate::gateway::{Meta, Problem};

/// Transactions between the two.
const HASHES: [&str; 4] = [
    TRANSACTION,
    "0x533414ec86faf4ad67fab251426e847d52e57a0e7d76dffaf4bdad1ee54b1436",
    "0xfdc7dd74d63a45a3e1d2cf3ed9271f39a6a5554713a61c2807d24e65a64a2a78",
    CROSSING,
];
/// A pool of Across, and the deposit that [`CROSSING`] makes there: the topics, and the words of the data, each without the zeros
/// that it begins with.
const POOL: &str = "0x5c7bcd6e7de5423a257d81b442095a1a6ced35c5";
const DEPOSIT: [&str; 4] = [
    "32ed1a409ef04c7b0227189c3a103dc5ac10e775a15b785dcc510201f7c25ad3",
    "2b6653dc",
    "1",
    "4e5c468a9834b20d792e1f8a9c11377cbaa7900a",
];
const DEPOSITED: [&str; 11] = [
    "a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
    "3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe",
    "78a3ca00",
    "7881ed40",
    "6793c8f0",
    "67940130",
    "",
    "c5ff99e5b090672c30ba2e2548b229f7e82921c6",
    "",
    "140",
    "",
];
const DEPOSITOR: &str = "0x4e5c468a9834b20d792e1f8a9c11377cbaa7900a";
/// The payer of [`BITCOIN_TRANSACTION`], the payee, and the address of the change.
const PAYER: &str = "bc1qsm2ngx8mjwh68ehprcza2uccelkar0lpnlffrj";
const SHOP: &str = "bc1qdxnccj5wrr39nydzkc0rzhhqyd6r8jtjv7sjg0";
const CHANGE: &str = "bc1qss7j4xznmevrzlkmh6kf9k0t9jst6dur3e4366";
/// The gas of a plain payment.
const GAS_OF_PAYMENT: u64 = 21_000;
/// One gwei.
const WEI_PER_GAS: u64 = 1_000_000_000;
/// An example shows so many tokens of a registry, which has hundreds.
const SHOWN_TOKENS: usize = 3;
/// Credits before the call.
const BALANCE: i64 = 1000;

/// The query engine that the examples are asked at.
pub(super) struct Examples(QueryEngine);

impl Examples {
    /// Opens it.
    pub fn new() -> Self {
        let ledger = ledger().expect("a few movements that do not contradict each other are a ledger");
        Self(ledger)
    }

    /// The body of a success.
    pub fn success(&self, endpoint: &Endpoint) -> Option<Value> {
        let answer = self.ask(endpoint, &(endpoint.example.request)()).ok()?;
        let mut data = answer.value();
        if let Some(tokens) = data.get_mut("tokens").and_then(Value::as_array_mut) {
            tokens.truncate(SHOWN_TOKENS);
        }
        let Answer { pagination, warnings, pegged, paid_items, .. } = answer;
        let cost = i64::from(endpoint.credits(paid_items));
        let meta = Meta {
            credit_cost: Some(cost),
            credit_remaining: Some(BALANCE - cost),
            pagination,
            request_id: RequestId::from(REQUEST_ID).ok(),
            warnings,
            pegged,
        };
        Some(json!({"data": data, "meta": meta}))
    }

    /// The body of a refusal: the same request with one field that cannot be met, or that is unknown.
    pub fn refusal(&self, endpoint: &Endpoint) -> Option<Value> {
        let (field, value) = endpoint.example.refused.unwrap_or(("a", "1"));
        let mut request = (endpoint.example.request)();
        request[field] = json!(value);
        self.error(endpoint, &request)
    }

    /// The body for a thing that is not there.
    pub fn missing(&self, endpoint: &Endpoint) -> Option<Value> {
        self.error(endpoint, &(endpoint.example.missing?)())
    }

    fn error(&self, endpoint: &Endpoint, request: &Value) -> Option<Value> {
        let error = self.ask(endpoint, request).err()?;
        Some(under_id(&Problem::quietly_from_engine(&error)))
    }

    fn ask(&self, endpoint: &Endpoint, request: &Value) -> Result<Answer, Error> {
        self.0.answer(endpoint, request, &Cancel::new())
    }
}

/// The body of an error over HTTP.
fn under_id(problem: &Problem) -> Value {
    let mut body = json!(problem.envelope());
    body["error"]["request_id"] = json!(REQUEST_ID);
    body
}

/// Alice pays Bob in ether and in USDT; Bob pays a part back.
fn ledger() -> Result<QueryEngine, LedgerError> {
    let [alice, bob, usdt] = [ALICE, BOB, USDT].map(account);
    let paid = |ordinal, amount: u64| Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(ordinal),
        from: Some(alice),
        to: Some(bob),
        asset: Asset::Token(usdt),
        amount: Amount::from(amount),
    };
    let ether = |tenths: u64| Amount::from(tenths * 100_000_000_000_000_000);
    let tokens = TransactionFacts { movements: vec![paid(0, 250_000_000)], ..transaction(2, alice, usdt, ether(0)) };
    let word = |digits: &str| {
        let padded = format!("{digits:0>64}");
        TxHash::parse(Chain::ETHEREUM.family(), &padded).map(|hash| *hash.as_bytes()).expect("64 hexadecimal digits")
    };
    let deposit = LogFacts {
        index: 0,
        address: account(POOL),
        topics: DEPOSIT.map(word).to_vec(),
        data: DEPOSITED.map(word).concat(),
    };
    let crossing =
        TransactionFacts { logs: vec![deposit], ..transaction(4, account(DEPOSITOR), account(POOL), ether(0)) };
    let transactions =
        vec![transaction(1, alice, bob, ether(15)), tokens, transaction(3, bob, alice, ether(5)), crossing];
    let blocks = transactions.iter().map(|one| BlockFacts {
        number: one.block,
        hash: None,
        parent: None,
        time: time_of(one.block),
    });
    let batch = Batch { blocks: blocks.collect(), transactions: transactions.clone(), ..Batch::new(Chain::ETHEREUM) };
    let listing = TokenListing {
        chain: Chain::ETHEREUM,
        contract: usdt,
        symbol: "USDT".to_owned(),
        name: "Tether USD".to_owned(),
        decimals: 6,
        verified: true,
        coingecko_id: None,
    };
    let price = |symbol: &str, usd| PricePoint { symbol: symbol.to_owned(), time: Timestamp::new(START), usd };
    let prices = vec![price("eth", 3350.25), price("usdt", 1.0)];
    let mut store = MemoryStore::default();
    store.commit(batch, &Cancel::new())?;
    store.commit(bitcoin(), &Cancel::new())?;
    store.import_tokens("registry.json", vec![listing])?;
    store.import_prices("prices.csv", prices)?;
    store.import_labels(list())?;
    Ok(QueryEngine::new(Arc::new(store)))
}

/// A list that names Bob.
fn list() -> LabelImport {
    let (name, time) = ("service-addresses", Timestamp::new(START));
    let claim = labels::Claim {
        address: account(BOB),
        scope: Scope::Chain(Chain::ETHEREUM),
        code: Some(Code::ExchangeHotWallet),
        name: None,
        entity: Some(Arc::from(EXCHANGE)),
        source: Arc::from(name),
        source_url: None,
        group: Arc::from(name),
        level: Level::ServiceApi,
        reliability: Level::ServiceApi.thousandths(),
        link: Link::Exact,
        asserted_at: Some(time),
        date_basis: Some(DateBasis::Address),
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    };
    LabelImport {
        source: name.to_owned(),
        list: name.to_owned(),
        licence: None,
        imported_at: time,
        ended_at: time,
        claims: vec![claim],
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    }
}

/// A coin is paid in part to a shop that was paid before; the rest is change, which is spent by a like transaction.
fn bitcoin() -> Batch {
    let output = |owner: &str, amount| OutputFacts {
        owner: Some(Address::parse(Chain::BITCOIN, owner).expect("the addresses below are of bitcoin")),
        amount,
        script: ScriptType::P2wpkh,
        data: None,
    };
    let mined = |outputs| UtxoFacts::new(true, Vec::new(), outputs);
    let spent = |hash: TxHash, index, outputs| {
        let input = InputFacts { sequence: Some(0xffff_fffd), ..InputFacts::new(OutPoint { hash, index }, None) };
        UtxoFacts { version: Some(2), lock_time: Some(0), ..UtxoFacts::new(false, vec![input], outputs) }
    };
    let made = |number: u8| TxHash::new([number; 32]);
    let payment =
        TxHash::parse(Chain::BITCOIN.family(), BITCOIN_TRANSACTION).expect("the id has 64 hexadecimal digits");
    let transactions = [
        (made(1), mined(vec![output(PAYER, 1_124_926), output(SHOP, 5_000)])),
        (payment, spent(made(1), 0, vec![output(SHOP, 220_000), output(CHANGE, 901_965)])),
        (made(2), spent(payment, 1, vec![output(PAYER, 900_000)])),
    ];
    let mut batch = Batch::new(Chain::BITCOIN);
    for (number, (hash, utxo)) in (1..).zip(transactions) {
        batch.blocks.push(BlockFacts { number, hash: None, parent: None, time: time_of(number) });
        let place =
            TransactionFacts { time: Some(time_of(number)), index: Some(0), ..TransactionFacts::new(hash, number) };
        batch.transactions.push(TransactionFacts { utxo: Some(utxo), status: Some(Status::Success), ..place });
    }
    batch.claims.push(Claim::Blocks { first: 1, last: 3, table: CoverageTable::Transactions });
    batch
}

fn transaction(block: u64, from: Address, to: Address, value: Amount) -> TransactionFacts {
    TransactionFacts {
        time: Some(time_of(block)),
        index: Some(0),
        body: Some(Body { from: Some(from), to: Some(to), value }),
        status: Some(Status::Success),
        gas_limit: Some(GAS_OF_PAYMENT),
        gas_used: Some(GAS_OF_PAYMENT),
        gas_price: Some(Amount::from(WEI_PER_GAS)),
        ..TransactionFacts::new(hash(block), block)
    }
}

/// A block every 12 seconds.
fn time_of(block: u64) -> Timestamp {
    Timestamp::new(START + 12 * i64::try_from(block).unwrap_or(0))
}

/// The hash of the transaction in a block, of which the first is 1.
fn hash(block: u64) -> TxHash {
    let place = usize::try_from(block).unwrap_or(usize::MAX).saturating_sub(1);
    TxHash::parse(Chain::ETHEREUM.family(), HASHES[place]).expect("the hashes above have 64 hexadecimal digits")
}

fn account(text: &str) -> Address {
    Address::parse(Chain::ETHEREUM, text).expect("the addresses above have 40 hexadecimal digits")
}
