//! A bridge: a vault on each account chain; what goes into one comes out of another, less a fee, some minutes later.

use headwater_types::{Address, Amount, Chain, TxHash};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect, Insufficient, Receipt};
use crate::clock::{HOUR, START};
use crate::identity::digest;
use crate::random::Stream;
use crate::truth::{BridgeLeg, BridgeTransfer, Role};
use crate::world::{ACCOUNT_CHAINS, Case, Coin, Flow, World};

/// Name of the bridge.
pub(crate) const NAME: &str = "causeway";
const OWNER: &str = "bridge-causeway";
/// Fee: this share in ten-thousandths, and a fixed part in cents.
const FEE_PER_10_000: u128 = 12;
const FIXED_FEE_CENTS: u64 = 80;

/// Orders that wait.
#[derive(Default)]
pub(crate) struct Bridge {
    orders: Vec<Order>,
    next: u64,
}

struct Order {
    due: i64,
    id: u64,
    source: BridgeLeg,
    symbol: &'static str,
    to: Chain,
    recipient: Address,
    cents_fee: u64,
    case: Option<Case>,
}

/// What a user asks of the bridge.
pub(crate) struct Crossing {
    /// From where to where.
    pub(crate) chains: (Chain, Chain),
    /// The stablecoin that crosses.
    pub(crate) symbol: &'static str,
    /// The user on this side, and who receives on the other.
    pub(crate) users: (Address, Address),
    /// How much, raw on this side.
    pub(crate) raw: u128,
    /// The case it belongs to.
    pub(crate) case: Option<Case>,
}

impl World {
    /// The vault of a chain.
    pub(crate) fn vault(&mut self, chain: Chain) -> Address {
        self.account(chain.family(), &format!("{OWNER}/vault/{chain}"), Role::BridgeVault, OWNER)
    }

    /// Sends a stablecoin over the bridge: an approval and a deposit here, a payment by the relayer there.
    pub(crate) fn cross(&mut self, now: i64, crossing: Crossing) -> Result<Receipt, Insufficient> {
        let Crossing { chains: (from, to), symbol, users: (sender, recipient), raw, case } = crossing;
        let vault = self.vault(from);
        let coin = self.token(from, symbol);
        let Coin::Token(place) = coin else { return Err(Insufficient) };
        if self.balance(from, &sender, coin) < raw {
            return Err(Insufficient);
        }
        let approval = self.approve_call(sender, vault, place, Amount::from_u128(raw));
        self.book(from).send(now, approval)?;
        let id = self.bridge.next;
        let contract = self.tokens[place].contract;
        let amount = Amount::from_u128(raw);
        let words = [abi::account(&contract), abi::amount(amount), abi::account(&recipient), abi::number(chain_id(to))];
        let mut call =
            Call::contract(sender, vault, 130_000, abi::call("deposit(address,uint256,bytes32,uint256)", &words));
        call.effects = vec![
            Effect::Token { contract, from: sender, to: vault, amount },
            Effect::Log {
                address: vault,
                topics: vec![
                    abi::topic("Deposited(uint256,address,address,uint256,bytes32,uint256)"),
                    abi::number(id),
                    abi::account(&sender),
                ],
                data: words.concat(),
            },
        ];
        let receipt = self.book(from).send(now, call)?;
        self.bridge.next += 1;
        if let Some(case) = &case {
            let flow = Flow { from: sender, to: vault, asset: self.asset(coin), amount };
            self.step(case, "bridge", from, receipt.hash, flow);
        }
        let delay = 420 + i64::from(digest(self.seed, "bridge delay", &id.to_be_bytes())[0]) * 9;
        let source = self.leg(from, receipt.hash, sender, coin, raw, now);
        let order = Order { due: now + delay, id, source, symbol, to, recipient, cents_fee: FIXED_FEE_CENTS, case };
        self.bridge.orders.push(order);
        Ok(receipt)
    }

    fn leg(&self, chain: Chain, hash: TxHash, user: Address, coin: Coin, raw: u128, now: i64) -> BridgeLeg {
        let time_secs = self.block_time(chain, now).unsigned_abs();
        BridgeLeg { chain, hash, user, asset: self.asset(coin), amount: Amount::from_u128(raw), time_secs }
    }
}

/// Opens the vaults. Issuers fill them.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    for chain in ACCOUNT_CHAINS {
        let vault = world.vault(chain);
        world.add_contract(chain, vault, Role::BridgeVault, OWNER);
        let relayer = relayer(world, chain);
        let coins = if chain == Chain::TRON { 60_000 * 10_u128.pow(6) } else { 8 * 10_u128.pow(18) };
        world.book(chain).allocate(relayer, Amount::from_u128(coins));
    }
    vec![Box::new(Relayer { stream: Stream::new(world.seed, OWNER) })]
}

fn relayer(world: &mut World, chain: Chain) -> Address {
    world.account(chain.family(), &format!("{OWNER}/relayer"), Role::BridgeRelayer, OWNER)
}

struct Relayer {
    stream: Stream,
}

impl Actor for Relayer {
    fn first_wake(&self) -> i64 {
        START + 4 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        let (due, waiting) = std::mem::take(&mut world.bridge.orders).into_iter().partition(|order| order.due <= now);
        world.bridge.orders = waiting;
        for order in due {
            fulfil(world, now, order);
        }
        Some(now + self.stream.secs(60, 300))
    }
}

fn fulfil(world: &mut World, now: i64, order: Order) {
    let chain = order.to;
    let coin = world.token(chain, order.symbol);
    let (Coin::Token(here), Coin::Token(there)) = (coin, world.token(order.source.chain, order.symbol)) else { return };
    let sent = order.source.amount.to_u128().expect("the bridge carries amounts of 128 bits");
    let fee = sent * FEE_PER_10_000 / 10_000 + world.raw(order.source.chain, Coin::Token(there), order.cents_fee, now);
    let net = sent.saturating_sub(fee);
    let (from_decimals, to_decimals) = (world.tokens[there].decimals, world.tokens[here].decimals);
    let up = 10_u128.pow(u32::from(to_decimals.saturating_sub(from_decimals)));
    let down = 10_u128.pow(u32::from(from_decimals.saturating_sub(to_decimals)));
    let raw = net * up / down;
    let vault = world.vault(chain);
    let relayer = relayer(world, chain);
    let contract = world.tokens[here].contract;
    let amount = Amount::from_u128(raw);
    let words = [
        abi::number(chain_id(order.source.chain)),
        abi::number(order.id),
        abi::account(&contract),
        abi::amount(amount),
        abi::account(&order.recipient),
    ];
    let input = abi::call("fulfil(uint256,uint256,address,uint256,address)", &words);
    let mut call = Call::contract(relayer, vault, 110_000, input);
    call.effects = vec![
        Effect::Token { contract, from: vault, to: order.recipient, amount },
        Effect::Log {
            address: vault,
            topics: vec![
                abi::topic("Fulfilled(uint256,uint256,address,uint256,address)"),
                abi::number(chain_id(order.source.chain)),
                abi::number(order.id),
            ],
            data: words[2..].concat(),
        },
    ];
    let Ok(receipt) = world.book(chain).send(now, call) else {
        world.bridge.orders.push(order);
        return;
    };
    if let Some(case) = &order.case {
        let flow = Flow { from: vault, to: order.recipient, asset: world.asset(coin), amount };
        world.step(case, "bridge", chain, receipt.hash, flow);
    }
    let destination = world.leg(chain, receipt.hash, order.recipient, coin, raw, now);
    world.truth.bridge_transfers.push(BridgeTransfer {
        bridge: NAME.to_owned(),
        id: order.id,
        source: order.source,
        destination,
    });
}

/// The numbers by which bridges know chains.
fn chain_id(chain: Chain) -> u64 {
    match chain {
        Chain::ETHEREUM => 1,
        Chain::BSC => 56,
        _ => 728_126_428,
    }
}
