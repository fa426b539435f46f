//! A mixer: pools of one denomination each; who deposits gets a note, and a relayer pays the note out to a new address.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use super::Actor;
use crate::abi;
use crate::book::{Call, Effect};
use crate::clock::{HOUR, START};
use crate::identity::digest;
use crate::random::Stream;
use crate::truth::{Behaviour, Evidence, MixerLink, Role};
use crate::world::mixer::{Note, Pool};
use crate::world::queue::QueuedWork;
use crate::world::{Coin, Flow, World};

const OWNER: &str = "mixer-whirlpit";
/// Share of a note that the relayer keeps, in thousandths.
const RELAYER_FEE_PER_MILLE: u128 = 4;

/// A note of at most this much is coins for fees, raw: half a coin.
const GAS_NOTE: u128 = 5 * 10_u128.pow(17);

/// Opens the pools.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    for (chain, tenths) in
        [(Chain::ETHEREUM, 1_u128), (Chain::ETHEREUM, 10), (Chain::ETHEREUM, 100), (Chain::BSC, 10), (Chain::BSC, 100)]
    {
        let family = chain.family();
        let contract = world.account(family, &format!("{OWNER}/{chain}/{tenths}"), Role::MixerPool, OWNER);
        world.add_contract(chain, contract, Role::MixerPool, OWNER);
        world.mixer.pools.push(Pool { chain, contract, denomination: tenths * 10_u128.pow(17) });
    }
    let relayer = world.account(Chain::ETHEREUM.family(), &format!("{OWNER}/relayer"), Role::MixerRelayer, OWNER);
    for chain in [Chain::ETHEREUM, Chain::BSC] {
        world.book(chain).allocate(relayer, Amount::from_u128(20 * 10_u128.pow(18)));
    }
    vec![Box::new(Relayer { relayer, stream: Stream::new(world.seed, OWNER) })]
}

struct Relayer {
    relayer: Address,
    stream: Stream,
}

impl Actor for Relayer {
    fn first_wake(&self) -> i64 {
        START + 2 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        while let Some(note) = world.mixer.notes.pop(now) {
            self.pay(world, now, note);
        }
        Some(now + self.stream.secs(HOUR / 2, HOUR))
    }
}

impl Relayer {
    /// Both ends used a mixer; a new address whose first coins are a small note lives on them.
    fn known_by(world: &mut World, note: &Note, (new, withdrawal): (bool, TxHash), now: i64) {
        let Pool { chain, denomination, .. } = note.pool;
        let usd_cents = world.cents(chain, Coin::Native, denomination, now);
        let by = |hash| Evidence { count: 1, counterparties: 1, usd_cents, first: hash, last: hash };
        world.plant(chain, note.depositor, Behaviour::MixerInteraction, by(note.deposit));
        world.plant(chain, note.recipient, Behaviour::MixerInteraction, by(withdrawal));
        if new && denomination <= GAS_NOTE {
            world.plant(chain, note.recipient, Behaviour::GasFundedByMixer, by(withdrawal));
        }
    }

    fn pay(&self, world: &mut World, now: i64, due: QueuedWork<Note>) {
        let note = &due.work;
        let Pool { chain, contract, denomination } = note.pool;
        let fee = denomination * RELAYER_FEE_PER_MILLE / 1_000;
        let nullifier = digest(world.seed, "mixer nullifier", note.deposit.as_bytes());
        let words = [nullifier, abi::account(&note.recipient), abi::account(&self.relayer)];
        let input = abi::call("withdraw(bytes,bytes32,bytes32,address,address,uint256,uint256)", &words);
        let mut call = Call::contract(self.relayer, contract, 330_000, input);
        call.effects = vec![
            Effect::Internal(contract, note.recipient, Amount::from_u128(denomination - fee)),
            Effect::Internal(contract, self.relayer, Amount::from_u128(fee)),
            Effect::Log {
                address: contract,
                topics: vec![abi::topic("Withdrawal(address,bytes32,address,uint256)"), abi::account(&self.relayer)],
                data: [abi::account(&note.recipient), nullifier, abi::amount(Amount::from_u128(fee))].concat(),
            },
        ];
        let new = world.book(chain).is_new(&note.recipient);
        let Ok(receipt) = world.book(chain).send(now, call) else {
            world.mixer.notes.put_off(now, due);
            return;
        };
        Self::known_by(world, note, (new, receipt.hash), now);
        if let Some(case) = &note.case {
            let flow = Flow::new(contract, note.recipient, Asset::Native, denomination - fee);
            world.step(case, "mix", chain, receipt.hash, flow);
        }
        world.truth.mixer_links.push(MixerLink {
            chain,
            pool: contract,
            deposit: note.deposit,
            depositor: note.depositor,
            withdrawal: receipt.hash,
            recipient: note.recipient,
        });
    }
}
