//! Legs from call data, for destinations that emit no event or whose logs a source does not have.
//!
//! A function counts when a listed contract of its bridge is called. A log of the same transaction takes precedence.

use std::sync::LazyLock;

use super::call::Call;
use super::context::Context;
use super::draft::Draft;
use super::{celer, packed, wormhole};
use crate::abi::{Declaration, Value};
use crate::half::{MatchClass, Step, Token};
use crate::tables::{Contract, Family};

type Reader = fn(&Context<'_>, &Family, &Contract, &Call<'_>) -> Option<Draft>;

/// A function of a family's contracts.
struct Function {
    family: &'static str,
    selector: [u8; 4],
    declaration: Declaration,
    reader: Reader,
}

static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let function = |family, text, reader| {
        let declaration = Declaration::parse(text).expect("a test parses every function");
        let [first, second, third, fourth, ..] = declaration.topic0();
        Function { family, selector: [first, second, third, fourth], declaration, reader }
    };
    vec![
        function(
            "multichain",
            "anySwapInAuto(bytes32 txs, address token, address to, uint256 amount, uint256 fromChainID)",
            any_swap_in,
        ),
        function("celer", "relay(bytes request, bytes[] sigs, address[] signers, uint256[] powers)", celer::relay_leg),
        function("wormhole", "completeTransfer(bytes vaa)", redemption),
        function("wormhole", "completeTransferAndUnwrapETH(bytes vaa)", redemption),
        function("wormhole", "completeTransferWithPayload(bytes vaa)", redemption),
        function("wormhole", "completeTransferAndUnwrapETHWithPayload(bytes vaa)", redemption),
    ]
});

/// Returns whether call data is that of a function that is read.
pub(super) fn is_known(input: &[u8]) -> bool {
    let selector = input.first_chunk::<4>();
    selector.is_some_and(|selector| FUNCTIONS.iter().any(|function| function.selector == *selector))
}

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let transaction = context.transaction;
    let (Some(to), Some((selector, arguments))) = (transaction.to, transaction.input.split_first_chunk::<4>()) else {
        return Vec::new();
    };
    let called = FUNCTIONS.iter().filter(|function| function.selector == *selector);
    let leg = |function: &'static Function| {
        let family = context.family(function.family)?;
        let contract = context.tables.emitter(family, transaction.chain, &to)?;
        (function.reader)(context, family, contract, &Call { declaration: &function.declaration, arguments })
    };
    called.filter_map(leg).collect()
}

fn redemption(context: &Context<'_>, family: &Family, contract: &Contract, call: &Call<'_>) -> Option<Draft> {
    wormhole::vaa_leg(context, family, contract, call.bytes("vaa")?)
}

/// Multichain V3 to V6: the first argument is the hash of the source transaction.
fn any_swap_in(context: &Context<'_>, family: &Family, contract: &Contract, call: &Call<'_>) -> Option<Draft> {
    let (Some(Value::Word(hash)), Some(Value::Account(token)), Some(Value::Account(to))) =
        (call.value("txs"), call.value("token"), call.value("to"))
    else {
        return None;
    };
    let (Some(Value::Number(amount)), Some(Value::Number(source))) = (call.value("amount"), call.value("fromChainID"))
    else {
        return None;
    };
    let leg = context.call_leg(family, contract, Step::Received, MatchClass::SourceHash, packed::hex_text(&hash));
    Some(leg.with(|half| {
        half.other_chain = context.tables.chain_of(family, &source.to_string());
        half.other_transaction = Some(headwater_types::TxHash::new(hash));
        half.receiver = Some(context.here(to));
        half.token = Some(Token::Contract(context.here(token)));
        half.amount = Some(amount);
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_selectors_are_those_of_bridges_md() {
        let selectors: Vec<String> = FUNCTIONS.iter().map(|function| hex::encode(function.selector)).collect();
        assert_eq!(selectors, ["0175b1c4", "cdd1b25d", "c6878519", "ff200cde", "c3f511c1", "1c8475e4"]);
    }
}
