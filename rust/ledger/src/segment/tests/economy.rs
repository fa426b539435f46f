//! Random facts for tests: few addresses, hashes and blocks, so that everything meets everything.
//!
//! Choices are made by a number: each strategy of several others begins a random generator for each of them, which takes
//! longer than all that is tested with the facts.

use headwater_types::address::{UtxoAddress, UtxoPayload, WitnessProgram};
use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Network, Timestamp, TxHash};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::facts::{
    AmountOf, BlockFacts, Body, InputFacts, LogFacts, Movement, MovementFact, OutPoint, OutputFacts, TokenFacts,
    TransactionFacts, UtxoFacts,
};
use crate::primitives::{Ordinal, ScriptType, Status};
use crate::segment::SegmentInput;
pub(crate) use headwater_testkit::is_full;

pub(crate) fn address(chain: Chain, number: u8) -> Address {
    let mut bytes = [number; 20];
    bytes[0] = number.wrapping_mul(37);
    match chain {
        Chain::BITCOIN => {
            let payload = match number % 3 {
                0 => UtxoPayload::PublicKeyHash(if number == 0 { [0; 20] } else { bytes }),
                1 => UtxoPayload::ScriptHash(bytes),
                _ => UtxoPayload::Witness(
                    WitnessProgram::new(number % 2, &[&bytes[..], &bytes[..12]].concat()).expect("32 bytes"),
                ),
            };
            Address::Utxo(UtxoAddress { network: Network::Mainnet, payload })
        }
        Chain::TRON => Address::Tron(bytes),
        _ => Address::Evm(bytes),
    }
}

pub(crate) fn hash(number: u64) -> TxHash {
    let mut bytes = [0x11; 32];
    // Few different prefixes, so that hashes are told apart by their ends too.
    bytes[0] = (number % 5) as u8;
    bytes[24..].copy_from_slice(&number.to_be_bytes());
    TxHash::new(bytes)
}

fn addresses(chain: Chain) -> impl Strategy<Value = Address> + Clone {
    (0..9_u8).prop_map(move |number| address(chain, number))
}

/// Something, in so many cases of ten.
fn maybe<T: std::fmt::Debug>(tenths: u8, value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    (0..10_u8, value).prop_map(move |(luck, value)| (luck >= 10 - tenths).then_some(value))
}

fn bytes() -> impl Strategy<Value = [u8; 32]> + Clone {
    any::<[u64; 4]>().prop_map(|words| {
        let mut bytes = [0; 32];
        for (eight, word) in bytes.chunks_exact_mut(8).zip(words) {
            eight.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    })
}

fn letters(range: std::ops::RangeInclusive<u8>, most: usize) -> impl Strategy<Value = String> {
    vec(range, 0..=most).prop_map(|letters| letters.into_iter().map(char::from).collect())
}

/// Letters and spaces.
fn name() -> impl Strategy<Value = String> {
    letters(b'`'..=b'z', 9).prop_map(|name| name.replace('`', " "))
}

fn amount() -> impl Strategy<Value = Amount> + Clone {
    (0..9_u8, 0..1000_u64, bytes()).prop_map(|(form, small, bytes)| match form {
        0..4 => Amount::from(small),
        4 => Amount::ZERO,
        5 => Amount::from_u128(u128::MAX),
        6 => Amount::from_u128(u128::MAX - 1),
        7 => Amount::MAX,
        _ => Amount::from_be_bytes(bytes),
    })
}

fn movement(chain: Chain) -> impl Strategy<Value = Movement> {
    let kind = (0..10_u8).prop_map(|form| match form {
        0..3 => MovementFact::Internal,
        3..6 => MovementFact::Token,
        6..9 => MovementFact::NonFungible,
        _ => MovementFact::Opening,
    });
    let sides = (maybe(8, addresses(chain)), maybe(8, addresses(chain)));
    (kind, any::<bool>(), sides, addresses(chain), amount()).prop_map(
        |(kind, indexed, (from, to), contract, amount)| {
            Movement {
                kind,
                // The place in the list makes indexes unique below.
                ordinal: if indexed { Ordinal::Indexed(0) } else { Ordinal::Unindexed(0) },
                from,
                to,
                asset: if kind == MovementFact::Internal { Asset::Native } else { Asset::Token(contract) },
                amount,
            }
        },
    )
}

fn log(chain: Chain) -> impl Strategy<Value = LogFacts> {
    (0..1000_u64, addresses(chain), vec(bytes(), 0..4), vec(any::<u8>(), 0..40))
        .prop_map(|(index, address, topics, data)| LogFacts { index, address, topics, data })
}

fn output(chain: Chain) -> impl Strategy<Value = OutputFacts> {
    let script = (0..ScriptType::ALL.len()).prop_map(|form| ScriptType::ALL[form]);
    (maybe(9, addresses(chain)), 0..50_u64, script, maybe(1, vec(any::<u8>(), 0..9)))
        .prop_map(|(owner, amount, script, data)| OutputFacts { owner, amount, script, data })
}

fn utxo(chain: Chain) -> impl Strategy<Value = UtxoFacts> {
    let sequence = maybe(7, (u32::MAX - 3)..=u32::MAX);
    let input =
        (0..40_u64, 0..3_u32, maybe(8, output(chain)), sequence).prop_map(|(number, index, spent, sequence)| {
            InputFacts { previous: OutPoint { hash: hash(number), index }, spent, sequence }
        });
    let number = || maybe(7, any::<u32>());
    let written = (number(), number(), number());
    (any::<bool>(), vec(input, 0..5), vec(output(chain), 0..5), written).prop_map(
        |(coinbase, inputs, outputs, (version, lock_time, weight_wu))| UtxoFacts {
            coinbase,
            version,
            lock_time,
            weight_wu,
            inputs: if coinbase { Vec::new() } else { inputs },
            outputs,
        },
    )
}

fn transaction(chain: Chain) -> BoxedStrategy<TransactionFacts> {
    let place = (0..12_u64, maybe(8, 0..20_u32), any::<bool>());
    if chain == Chain::BITCOIN {
        return (place, utxo(chain)).prop_map(move |(place, utxo)| paid(placed(chain, place), utxo)).boxed();
    }
    let status = (0..25_u8).prop_map(|form| match form {
        0..16 => Some(Status::Success),
        16..20 => Some(Status::Failed),
        _ => None,
    });
    let text = || maybe(3, letters(b'a'..=b'z', 6));
    let gas = (
        maybe(7, any::<u64>()),
        maybe(7, any::<u64>()),
        maybe(7, 0..100_000_u64),
        maybe(7, amount()),
        maybe(3, amount()),
        maybe(2, amount()),
    );
    let call = (maybe(5, vec(any::<u8>(), 0..70)), maybe(5, any::<[u8; 4]>()), text(), text());
    let sides = (maybe(9, addresses(chain)), maybe(9, addresses(chain)), amount());
    let body = maybe(9, sides.prop_map(|(from, to, value)| Body { from, to, value }));
    let created = maybe(1, addresses(chain));
    let roughly = vec((0..5_u8).prop_map(|luck| luck == 4), 6);
    let details = (vec(movement(chain), 0..5), vec(log(chain), 0..3), roughly);
    (place, body, created, status, gas, call, details)
        .prop_map(move |(place, body, created, status, gas, call, details)| {
            let mut facts = placed(chain, place);
            (facts.body, facts.created, facts.status) = (body, created, status);
            (facts.nonce, facts.gas_limit, facts.gas_used) = (gas.0, gas.1, gas.2);
            (facts.gas_price, facts.effective_gas_price, facts.fee) = (gas.3, gas.4, gas.5);
            (facts.input, facts.method_id, facts.method, facts.failure_reason) = call;
            facts.movements = details.0;
            for (movement, place) in facts.movements.iter_mut().zip(0..) {
                if let Ordinal::Indexed(index) = &mut movement.ordinal {
                    *index = place;
                }
            }
            facts.logs = details.1;
            let value = facts.body.map(|_| AmountOf::Value);
            let names = facts.movements.iter().map(AmountOf::of_fact).chain([value]);
            facts.approximate =
                names.zip(details.2).filter(|(_, roughly)| *roughly).filter_map(|(name, _)| name).collect();
            facts
        })
        .boxed()
}

fn placed(chain: Chain, (block, index, timed): (u64, Option<u32>, bool)) -> TransactionFacts {
    let mut facts = TransactionFacts::new(hash(0), block);
    facts.index = index;
    facts.time = timed.then(|| time_of(chain, block));
    facts
}

fn paid(mut facts: TransactionFacts, utxo: UtxoFacts) -> TransactionFacts {
    facts.utxo = Some(utxo);
    facts
}

/// Times grow with blocks on account chains; on bitcoin they do not.
pub(crate) fn time_of(chain: Chain, block: u64) -> Timestamp {
    let jitter = if chain == Chain::BITCOIN { [0, 900, 100, 1500][(block % 4) as usize] } else { 0 };
    Timestamp::new(1_600_000_000 + 600 * block.cast_signed() + jitter)
}

/// Everything of one chain, with unique transactions.
pub(crate) fn input(chain: Chain, transactions: std::ops::Range<usize>) -> impl Strategy<Value = SegmentInput> {
    let symbol = maybe(5, letters(b'A'..=b'Z', 4));
    let token = (addresses(chain), symbol, maybe(5, name()), maybe(5, any::<u8>()));
    let blocks = vec((maybe(5, bytes()), maybe(5, bytes())), 12);
    (vec(transaction(chain), transactions), blocks, vec(addresses(chain), 0..3), vec(token, 0..4)).prop_map(
        move |(mut transactions, blocks, mut contracts, tokens)| {
            for (facts, number) in transactions.iter_mut().zip(0..) {
                facts.hash = hash(number);
            }
            contracts.sort();
            contracts.dedup();
            let mut tokens: Vec<_> = tokens
                .into_iter()
                .map(|(contract, symbol, name, decimals)| TokenFacts {
                    contract,
                    symbol,
                    name,
                    decimals,
                    is_non_fungible: false,
                })
                .collect();
            tokens.sort();
            tokens.dedup_by_key(|token| token.contract);
            if chain == Chain::BITCOIN {
                tokens.clear();
                contracts.clear();
            }
            let blocks = (0..).zip(blocks).map(|(number, (hash, parent))| BlockFacts {
                number,
                hash: hash.map(BlockHash::new),
                parent: parent.map(BlockHash::new),
                time: time_of(chain, number),
            });
            let blocks = blocks.collect();
            SegmentInput { chain, network: Network::Mainnet, blocks, transactions, contracts, tokens }
        },
    )
}
