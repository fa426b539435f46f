//! From the logs of a transaction to the legs of bridge transfers in it.
//!
//! Most events are decoded by the tables alone ([`mapped`]). A protocol whose legs need more, such as packed messages or
//! several logs at once, has a file here and a line in [`CODE`].

mod call;
mod calldata;
mod cctp;
mod celer;
mod context;
mod draft;
mod layerzero;
mod layerzero_oft;
mod layerzero_v1;
mod mapped;
mod orbiter;
mod packed;
mod thorchain;
mod wormhole;

pub use celer::{CelerTransfer, celer_transfer_id};
pub use thorchain::{Memo, MemoKind, MemoPayment, memo_leg};

use crate::half::Half;
use crate::log::Transaction;
use crate::tables::Tables;
use context::Context;
use draft::{Draft, merged};

/// Reads legs that the tables alone cannot read.
type Decoder = for<'a> fn(&Context<'a>) -> Vec<Draft>;

/// The decoders that are code. Each looks for the events, or the function, of its protocol.
const CODE: &[Decoder] = &[
    layerzero_v1::legs,
    layerzero::legs,
    layerzero_oft::legs,
    cctp::legs,
    wormhole::legs,
    thorchain::legs,
    calldata::legs,
    orbiter::legs,
];

/// The legs of bridge transfers in a transaction, in order of their logs.
///
/// An event counts if a listed contract of the bridge emitted it; where emitters cannot be listed, if it is beside an
/// event of a listed contract. What is malformed, or comes from elsewhere, is left out. A reverted transaction has none.
///
/// Time: linear in the logs, and a hash look-up per log. Memory: the legs.
///
/// ```
/// use headwater_bridge::{BridgeChain, Log, Step, Tables, Transaction, decode};
/// use headwater_types::{Amount, Timestamp, TxHash};
/// # fn word(number: u64) -> [u8; 32] { Amount::from(number).to_be_bytes() }
/// # fn array<const N: usize>(text: &str) -> [u8; N] {
/// #     std::array::from_fn(|place| u8::from_str_radix(&text[2 * place..2 * place + 2], 16).unwrap())
/// # }
/// // Celer's pool on ethereum: Relay(transferId, sender, receiver, token, amount, srcChainId, srcTransferId).
/// let data = [word(9), word(1), word(2), word(3), word(500), word(56), word(7)].concat();
/// let topics = [array("79fa08de5149d912dce8e5e8da7a7c17ccdf23dd5d3bfe196802e6eb86347c7c")];
/// let pool = array("5427fefa711eff984124bfbb1ab6fbf5e3da1820");
/// let logs = [Log { contract: pool, topics: &topics, data: &data, index: 4 }];
/// let transaction = Transaction {
///     chain: BridgeChain::from_evm_id(1),
///     block: 14_000_000,
///     time: Timestamp::new(1_642_114_795),
///     hash: TxHash::new([5; 32]),
///     succeeded: true,
///     from: None,
///     to: None,
///     value: Amount::ZERO,
///     input: &[],
///     logs: &logs,
///     transfers: &[],
/// };
/// let legs = decode(Tables::builtin(), &transaction);
/// assert_eq!((legs.len(), legs[0].step, &*legs[0].bridge), (1, Step::Received, "Celer cBridge"));
/// assert_eq!(legs[0].key().as_str(), "0x0000000000000000000000000000000000000000000000000000000000000007");
/// assert_eq!(legs[0].other_chain, BridgeChain::from_name("bsc"));
/// ```
#[must_use]
pub fn decode(tables: &Tables, transaction: &Transaction<'_>) -> Vec<Half> {
    if !transaction.succeeded {
        return Vec::new();
    }
    let is_known = calldata::is_known(transaction.input) || orbiter::is_involved(tables, transaction);
    let Some(context) = Context::new(tables, transaction, is_known) else { return Vec::new() };
    let mut drafts = mapped::legs(&context);
    for code in CODE {
        drafts.extend(code(&context));
    }
    merged(drafts)
}
