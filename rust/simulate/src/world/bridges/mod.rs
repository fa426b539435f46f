//! Bridges with the events of real protocols: one of each way in which both legs of a transfer can be joined.
//!
//! What goes into a contract of one chain comes out of one on another, less a fee, some minutes later. A few transfers
//! are refunded on the first chain, a few never end. Contracts and events are those that are on chain; amounts, users
//! and the liquidity behind the contracts are of the economy.

pub(crate) mod across;
pub(crate) mod celer;
pub(crate) mod layerzero;
pub(crate) mod linked;
pub(crate) mod wormhole;

use std::collections::{BTreeMap, VecDeque};

use headwater_types::{Address, Amount, Chain, TxHash};

use super::queue::Queue;
use super::{Case, Coin, Flow, World};
use crate::abi;
use crate::book::{Call, Effect, Insufficient, Receipt};
use crate::identity::digest;
use crate::truth::{BridgeClass, BridgeLeg, BridgeOutcome, BridgeTransfer, Role};

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// Celer cBridge, liquidity pools.
    Celer,
    /// `LayerZero` V2, an OFT of USDT.
    LayerZero,
    /// Across, current version.
    Across,
    /// Wormhole token bridge.
    Wormhole,
    /// Multichain V6 router.
    Multichain,
    /// Synapse, classic bridge.
    Synapse,
    /// Stargate V2 by bus.
    Stargate,
    /// A maker with a plain account on both sides.
    Maker,
}

pub(crate) const PROTOCOLS: [Protocol; 8] = [
    Protocol::Across,
    Protocol::Celer,
    Protocol::LayerZero,
    Protocol::Stargate,
    Protocol::Wormhole,
    Protocol::Multichain,
    Protocol::Synapse,
    Protocol::Maker,
];

/// The contracts that hold the money of a protocol on a chain.
#[rustfmt::skip]
pub(crate) const CONTRACTS: [(Protocol, Chain, &str); 15] = [
    (Protocol::Across, Chain::ETHEREUM, "0x5c7bcd6e7de5423a257d81b442095a1a6ced35c5"),
    (Protocol::Across, Chain::BSC, "0x4e8e101924ede233c13e2d8622dc8aed2872d505"),
    (Protocol::Across, Chain::TRON, "TTbCVPfUZmPhrB9sYC8GKgGBQQEdZovkmS"),
    (Protocol::Celer, Chain::ETHEREUM, "0x5427fefa711eff984124bfbb1ab6fbf5e3da1820"),
    (Protocol::Celer, Chain::BSC, "0xdd90e5e87a2081dcf0391920868ebc2ffb81a1af"),
    (Protocol::LayerZero, Chain::ETHEREUM, "0x1f748c76de468e9d11bd340fa9d5cbadf315dfb0"),
    (Protocol::LayerZero, Chain::TRON, "TFG4wBaDQ8sHWWP1ACeSGnoNR6RRzevLPt"),
    (Protocol::Wormhole, Chain::ETHEREUM, "0x3ee18b2214aff97000d974cf647e7c347e8fa585"),
    (Protocol::Wormhole, Chain::BSC, "0xb6f6d86a8f9879a9c87f643768d9efc38c1da6e7"),
    (Protocol::Multichain, Chain::ETHEREUM, "0xba8da9dcf11b50b03fd5284f164ef5cdef910705"),
    (Protocol::Multichain, Chain::BSC, "0xe1d592c3322f1f714ca11f05b6bc0efef1907859"),
    (Protocol::Synapse, Chain::ETHEREUM, "0x2796317b0ff8538f253012862c06787adfb8ceb6"),
    (Protocol::Synapse, Chain::BSC, "0xd123f70ae324d34a9e76b67a27bf77593ba8749f"),
    (Protocol::Stargate, Chain::ETHEREUM, "0x933597a323eb81cae705c5bc29985172fd5a3973"),
    (Protocol::Stargate, Chain::BSC, "0x138eb30f73bc423c6455c53df6d89cb01d9ebc63"),
];

/// Contracts that only emit.
#[rustfmt::skip]
pub(crate) const ENDPOINTS: [(&str, Chain, &str); 7] = [
    ("endpoint", Chain::ETHEREUM, "0x1a44076050125825900e736c501f859c50fe728c"),
    ("endpoint", Chain::BSC, "0x1a44076050125825900e736c501f859c50fe728c"),
    ("endpoint", Chain::TRON, "TAy9xwjYjBBN6kutzrZJaAZJHCAejjK1V9"),
    ("messaging", Chain::ETHEREUM, "0x6d6620efa72948c5f68a3c8646d58c00d3f4a980"),
    ("messaging", Chain::BSC, "0x6e3d884c96d640526f273c61dfcf08915ebd7e2b"),
    ("core", Chain::ETHEREUM, "0x98f3c9e6e3face36baad05fe09d375ef1464288b"),
    ("core", Chain::BSC, "0x98f3c9e6e3face36baad05fe09d375ef1464288b"),
];

impl Protocol {
    /// Its name in the truth.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Celer => "celer",
            Self::LayerZero => "layerzero-oft",
            Self::Across => "across",
            Self::Wormhole => "wormhole",
            Self::Multichain => "multichain-v6",
            Self::Synapse => "synapse",
            Self::Stargate => "stargate-v2-bus",
            Self::Maker => "maker",
        }
    }

    /// Returns how its legs can be joined.
    pub(crate) const fn class(self) -> BridgeClass {
        match self {
            Self::Celer | Self::LayerZero => BridgeClass::UniqueId,
            Self::Across | Self::Wormhole => BridgeClass::UniqueTuple,
            Self::Multichain => BridgeClass::SourceHash,
            Self::Synapse => BridgeClass::DerivedId,
            Self::Stargate => BridgeClass::Content,
            Self::Maker => BridgeClass::Heuristic,
        }
    }

    pub(crate) fn owner(self) -> String {
        format!("bridge-{}", self.name())
    }

    /// Returns whether it carries a symbol from one chain to another.
    pub(crate) fn carries(self, (from, to): (Chain, Chain), symbol: &str) -> bool {
        let is_open = |chain| {
            self == Self::Maker && chain != Chain::TRON
                || CONTRACTS.iter().any(|&(protocol, here, _)| protocol == self && here == chain)
        };
        let fits = symbol == "USDT" || !matches!(self, Self::LayerZero | Self::Stargate);
        from != to && fits && is_open(from) && is_open(to)
    }
}

/// The state of the bridges.
#[derive(Default)]
pub(crate) struct Bridges {
    pub(crate) orders: Queue<Order>,
    pub(crate) counters: BTreeMap<(Protocol, Chain), u64>,
    pub(crate) transfers: u64,
    /// Transfers of the protocols of the table, by whose number protocol and outcome are drawn.
    pub(crate) crossings: u64,
    /// Riders by direction, in order of arrival.
    pub(crate) buses: BTreeMap<(Chain, Chain), VecDeque<layerzero::Passenger>>,
}

/// A transfer whose second leg waits.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) due: i64,
    pub(crate) protocol: Protocol,
    /// Its number at the protocol on its source chain.
    pub(crate) number: u64,
    /// Its number in the truth.
    pub(crate) id: u64,
    pub(crate) source: BridgeLeg,
    pub(crate) symbol: &'static str,
    pub(crate) to: Chain,
    pub(crate) recipient: Address,
    /// The amount that is to come out, raw of the other side.
    pub(crate) raw_out: u128,
    pub(crate) outcome: BridgeOutcome,
    pub(crate) case: Option<Case>,
}

/// The order of a user.
pub(crate) struct Crossing {
    /// From where to where.
    pub(crate) chains: (Chain, Chain),
    /// The stablecoin that crosses.
    pub(crate) symbol: &'static str,
    /// The user on this side, and who receives on the other.
    pub(crate) users: (Address, Address),
    /// The amount, raw on this side.
    pub(crate) raw: u128,
    /// The case it belongs to.
    pub(crate) case: Option<Case>,
    /// By which protocol; by any that carries it when none is named.
    pub(crate) via: Option<Protocol>,
}

/// The events of a leg and what to call.
pub(crate) struct Leg {
    pub(crate) target: Address,
    pub(crate) signature: &'static str,
    pub(crate) effects: Vec<Effect>,
}

impl World {
    /// Returns where a protocol keeps its money on a chain.
    pub(crate) fn vault(&mut self, protocol: Protocol, chain: Chain) -> Address {
        let found = CONTRACTS.iter().find(|&&(other, here, _)| other == protocol && here == chain);
        match found {
            Some(&(_, _, text)) => Address::parse(chain, text).expect("the contracts of the table are addresses"),
            None => self.account(
                chain.family(),
                &format!("{}/maker", protocol.owner()),
                Role::BridgeRelayer,
                &protocol.owner(),
            ),
        }
    }

    /// All that must hold coins so that transfers over the bridges of a chain can be paid out.
    pub(crate) fn bridge_purses(&mut self, chain: Chain) -> Vec<Address> {
        let mut purses: Vec<_> = CONTRACTS
            .iter()
            .filter(|&&(protocol, here, _)| here == chain && protocol != Protocol::Across)
            .map(|&(protocol, ..)| protocol)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|protocol| self.vault(protocol, chain))
            .collect();
        purses.push(self.bridge_relayer(Protocol::Across, chain));
        if chain != Chain::TRON {
            purses.push(self.vault(Protocol::Maker, chain));
        }
        purses
    }

    pub(crate) fn bridge_relayer(&mut self, protocol: Protocol, chain: Chain) -> Address {
        let owner = protocol.owner();
        self.account(chain.family(), &format!("{owner}/relayer"), Role::BridgeRelayer, &owner)
    }

    /// Sends a stablecoin over a bridge: an approval and a deposit here, a payment there some minutes later.
    pub(crate) fn cross(&mut self, now: i64, crossing: Crossing) -> Result<Receipt, Insufficient> {
        let Crossing { chains, symbol, users: (sender, recipient), raw, case, via } = crossing;
        let (from, to) = chains;
        let draw = digest(self.seed, "bridge transfer", &self.bridges.crossings.to_be_bytes());
        let able: Vec<_> = PROTOCOLS.into_iter().filter(|protocol| protocol.carries(chains, symbol)).collect();
        let protocol =
            via.or_else(|| able.get(usize::from(draw[0]) % able.len().max(1)).copied()).ok_or(Insufficient)?;
        let vault = self.vault(protocol, from);
        let coin = self.token(from, symbol);
        let (Coin::Token(place), Coin::Token(there)) = (coin, self.token(to, symbol)) else { return Err(Insufficient) };
        // Both sides of all protocols carry six digits behind the point.
        let (decimals, decimals_there) = (self.tokens[place].decimals, self.tokens[there].decimals);
        let unit = 10_u128.pow(u32::from(decimals) - 6);
        let raw = raw / unit * unit;
        let micros = raw / unit;
        let fee = micros * FEE_PER_10_000 / 10_000 + FIXED_FEE_MICROS;
        let net = micros.checked_sub(fee).filter(|&net| net > 0).ok_or(Insufficient)?;
        if self.balance(from, &sender, coin) < raw {
            return Err(Insufficient);
        }
        let number = self.bridges.counters.get(&(protocol, from)).copied().unwrap_or(0) + 1;
        let outcome = match (protocol, draw[1], case.is_some()) {
            (Protocol::Celer | Protocol::Across, 0..=11, false) => BridgeOutcome::Refunded,
            (Protocol::Wormhole | Protocol::Multichain, 0..=11, false) => BridgeOutcome::Pending,
            _ => BridgeOutcome::Completed,
        };
        let mut order = Order {
            due: now + 240 + i64::from(draw[2]) * 9,
            protocol,
            number,
            id: 0,
            source: self.leg(from, TxHash::new([0; 32]), (sender, coin, raw), now),
            symbol,
            to,
            recipient,
            raw_out: net * 10_u128.pow(u32::from(decimals_there) - 6),
            outcome,
            case,
        };
        if protocol == Protocol::Maker {
            let receipt = self.transfer(from, now, (sender, vault), coin, raw)?;
            return Ok(self.sent(order, receipt, vault));
        }
        self.approve_once(from, now, (sender, vault), place)?;
        let contract = self.tokens[place].contract;
        let token = Effect::Token { contract, from: sender, to: vault, amount: Amount::from_u128(raw) };
        let leg = match protocol {
            Protocol::Across => across::deposit(self, &order, now),
            Protocol::Celer => celer::send(self, &order),
            Protocol::LayerZero => layerzero::send(self, &order),
            Protocol::Wormhole => wormhole::publish(self, &order),
            Protocol::Multichain => linked::swap_out(self, &order),
            Protocol::Synapse => linked::deposit(self, &order),
            Protocol::Stargate => layerzero::ride(self, &order),
            Protocol::Maker => return Err(Insufficient),
        };
        let words = [
            abi::account(&contract),
            abi::amount(Amount::from_u128(raw)),
            abi::account(&recipient),
            abi::number(chain_id(to)),
        ];
        let mut call = Call::contract(sender, leg.target, 170_000, abi::call(leg.signature, &words));
        call.effects.push(token);
        call.effects.extend(leg.effects);
        let receipt = self.book(from).send(now, call)?;
        if protocol == Protocol::Stargate {
            order.outcome = BridgeOutcome::Completed;
        }
        Ok(self.sent(order, receipt, vault))
    }

    /// The number of a new transfer among those of all bridges.
    pub(crate) fn next_transfer_id(&mut self) -> u64 {
        self.bridges.transfers += 1;
        self.bridges.transfers - 1
    }

    /// Files an order whose first leg is on chain.
    fn sent(&mut self, mut order: Order, receipt: Receipt, vault: Address) -> Receipt {
        (order.id, order.source.hash) = (self.next_transfer_id(), receipt.hash);
        self.bridges.crossings += 1;
        self.bridges.counters.insert((order.protocol, order.source.chain), order.number);
        if let Some(case) = &order.case {
            let BridgeLeg { chain, user, asset, amount, .. } = order.source;
            let flow = Flow { from: user, to: vault, asset, amount };
            self.step(&case.clone(), "bridge", chain, receipt.hash, flow);
        }
        if order.outcome == BridgeOutcome::Pending {
            self.bridge_done(&order, None);
        } else if order.protocol == Protocol::Stargate {
            let direction = (order.from(), order.to);
            self.bridges.buses.entry(direction).or_default().push_back(layerzero::Passenger { order });
        } else {
            self.bridges.orders.push(order.due, order);
        }
        receipt
    }

    pub(crate) fn leg(
        &self,
        chain: Chain,
        hash: TxHash,
        (user, coin, raw): (Address, Coin, u128),
        now: i64,
    ) -> BridgeLeg {
        let time_secs = self.block_time(chain, now).unsigned_abs();
        BridgeLeg { chain, hash, user, asset: self.asset(coin), amount: Amount::from_u128(raw), time_secs }
    }

    /// Returns the truth how a transfer ended.
    pub(crate) fn bridge_done(&mut self, order: &Order, destination: Option<BridgeLeg>) {
        self.truth.bridge_transfers.push(BridgeTransfer {
            bridge: order.protocol.name().to_owned(),
            id: order.id,
            class: order.protocol.class(),
            outcome: order.outcome,
            source: order.source.clone(),
            destination,
        });
    }

    /// The contract of a symbol on a chain.
    fn contract_of(&self, chain: Chain, symbol: &str) -> Address {
        match self.token(chain, symbol) {
            Coin::Token(place) => self.tokens[place].contract,
            Coin::Native => unreachable!("bridges carry tokens"),
        }
    }
}

/// Fee: a share and a fixed part.
const FEE_PER_10_000: u128 = 8;
const FIXED_FEE_MICROS: u128 = 600_000;

impl Order {
    pub(crate) fn raw_in(&self) -> u128 {
        self.source.amount.to_u128().expect("bridges carry amounts of 128 bits")
    }

    pub(crate) fn from(&self) -> Chain {
        self.source.chain
    }

    pub(crate) fn micros_out(&self, world: &World) -> u64 {
        let Coin::Token(place) = world.token(self.to, self.symbol) else { return 0 };
        let unit = 10_u128.pow(u32::from(world.tokens[place].decimals) - 6);
        u64::try_from(self.raw_out / unit).unwrap_or(u64::MAX)
    }
}

/// The numbers by which most bridges know chains.
fn chain_id(chain: Chain) -> u64 {
    match chain {
        Chain::ETHEREUM => 1,
        Chain::BSC => 56,
        _ => 728_126_428,
    }
}

pub(crate) fn endpoint(name: &str, chain: Chain) -> Address {
    let found = ENDPOINTS.iter().find(|&&(other, here, _)| other == name && here == chain);
    Address::parse(chain, found.expect("endpoints of the table").2).expect("the contracts of the table are addresses")
}

pub(crate) fn log(address: Address, signature: &'static str, topics: &[[u8; 32]], values: &[abi::Value]) -> Effect {
    let topics = std::iter::once(abi::topic(signature)).chain(topics.iter().copied()).collect();
    Effect::Log { address, topics, data: abi::encode(values) }
}
