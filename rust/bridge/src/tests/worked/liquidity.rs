//! Pools, intents, memos and what rides on other messages.

use headwater_types::TxHash;

use super::{OTHER, TOKEN, TOKEN_THERE, USER, amount, keccak, only, table};
use crate::half::{MatchClass, Step, Token};
use crate::matching::Status;
use crate::tests::{OwnedTransaction, chain_named, dynamic, fixed, log, padded, token_transfer, word};

#[test]
fn across_deposit_of_v2_is_filled_in_parts() {
    let mut deposit = OwnedTransaction::on("ethereum", 1);
    // amount, originChainId, relayerFeePct, quoteTimestamp, originToken, recipient, message.
    let data = [word(100), word(1), word(7), word(0), padded(TOKEN), padded(USER), word(224), word(0)].concat();
    let signature = "FundsDeposited(uint256,uint256,uint256,int64,uint32,uint32,address,address,address,bytes)";
    deposit.logs =
        vec![log(0, "5c7bcd6e7de5423a257d81b442095a1a6ced35c5", signature, &[word(56), word(9), padded(OTHER)], &data)];
    let fill = |hash, filled, total| {
        let mut fill = OwnedTransaction::on("bsc", hash);
        let head = [
            word(100),
            word(total),
            word(filled),
            word(1),
            word(56),
            word(7),
            word(7),
            padded(TOKEN_THERE),
            padded(OTHER),
            padded(USER),
        ];
        let update = [padded(USER), word(160), word(7), word(0), word(0), word(0)].concat();
        let data = [head.concat(), word(12 * 32).to_vec(), word(13 * 32).to_vec(), word(0).to_vec(), update].concat();
        let signature = "FilledRelay(uint256,uint256,uint256,uint256,uint256,uint256,int64,int64,uint32,address,address,address,address,bytes,(address,bytes,int64,bool,int256))";
        fill.logs = vec![log(
            0,
            "4e8e101924ede233c13e2d8622dc8aed2872d505",
            signature,
            &[word(1), word(9), padded(OTHER)],
            &data,
        )];
        fill
    };
    let table = table([fill(3, 60, 100).legs(), deposit.legs(), fill(2, 40, 40).legs()]);
    let transfer = only(&table);
    assert_eq!(transfer.source.unwrap().key().as_str(), "1:9");
    assert_eq!((transfer.destinations.len(), transfer.received_amount().unwrap().to_u128()), (2, Some(100)));
    assert_eq!((transfer.status(), transfer.class()), (Status::Completed, MatchClass::UniqueTuple));
}

#[test]
fn across_event_of_an_unknown_contract_is_not_a_leg() {
    let mut deposit = OwnedTransaction::on("ethereum", 1);
    let data = [word(100), word(1), word(7), word(0), padded(TOKEN), padded(USER), word(224), word(0)].concat();
    let signature = "FundsDeposited(uint256,uint256,uint256,int64,uint32,uint32,address,address,address,bytes)";
    let topics = [word(56), word(9), padded(OTHER)];
    deposit.logs = vec![log(0, "00000000000000000000000000000000000000aa", signature, &topics, &data)];
    assert!(deposit.legs().is_empty());
    // The pool of ethereum is nothing on bsc.
    deposit.logs[0].contract = fixed("5c7bcd6e7de5423a257d81b442095a1a6ced35c5");
    assert_eq!(deposit.legs().len(), 1);
    deposit.chain = chain_named("bsc");
    assert!(deposit.legs().is_empty());
}

#[test]
fn celer_refund_makes_a_transfer_refunded() {
    let pool = "5427fefa711eff984124bfbb1ab6fbf5e3da1820";
    let mut send = OwnedTransaction::on("ethereum", 1);
    let words = [word(7), padded(USER), padded(USER), padded(TOKEN), word(50), word(56), word(1), word(5)];
    send.logs =
        vec![log(0, pool, "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)", &[], &words.concat())];
    let mut refund = OwnedTransaction::on("ethereum", 2);
    let words = [word(99), word(1), padded(USER), padded(TOKEN), word(50), word(7)];
    refund.logs =
        vec![log(0, pool, "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)", &[], &words.concat())];
    let mut liquidity = refund.clone();
    liquidity.hash = [3; 32];
    liquidity.logs[0].data[5 * 32..].fill(0);
    assert!(liquidity.legs().is_empty(), "a withdrawal of liquidity refers to nothing");
    let table = table([refund.legs(), send.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), transfer.refunds.len()), (Status::Refunded, 1));
    assert_eq!(transfer.source.unwrap().other_chain, Some(chain_named("bsc")));
}

#[test]
fn multichain_transfers_of_one_transaction_differ_by_receiver() {
    let out = "LogAnySwapOut(address,address,address,uint256,uint256,uint256)";
    let mut source = OwnedTransaction::on("ethereum", 1);
    let swap = |index, to, value| {
        let data = [word(value), word(1), word(56)].concat();
        log(index, "ba8da9dcf11b50b03fd5284f164ef5cdef910705", out, &[padded(TOKEN), padded(OTHER), padded(to)], &data)
    };
    source.logs = vec![token_transfer(0, TOKEN_THERE, OTHER, TOKEN, 10), swap(1, USER, 10), swap(2, OTHER, 10)];
    let receive = |hash, to| {
        let mut receive = OwnedTransaction::on("bsc", hash);
        let data = [word(9), word(1), word(56)].concat();
        let topics = [[1; 32], padded(TOKEN_THERE), padded(to)];
        let signature = "LogAnySwapIn(bytes32,address,address,uint256,uint256,uint256)";
        receive.logs = vec![log(0, "e1d592c3322f1f714ca11f05b6bc0efef1907859", signature, &topics, &data)];
        receive.legs()
    };
    let legs = source.legs();
    assert_eq!(
        legs[0].token,
        Some(Token::contract(headwater_types::Address::Evm(TOKEN_THERE))),
        "what is behind the wrapper"
    );
    let table = table([receive(2, OTHER), receive(3, USER), legs]);
    let transfers = table.transfers();
    assert_eq!(transfers.len(), 2);
    for transfer in transfers {
        let (from, to) = (transfer.source.unwrap(), transfer.destinations[0]);
        assert_eq!((from.receiver.as_ref(), transfer.class()), (to.receiver.as_ref(), MatchClass::SourceHash));
        assert_eq!(to.other_transaction, Some(TxHash::new([1; 32])));
    }
}

#[test]
fn synapse_kappa_is_the_hash_of_the_source_as_text() {
    let mut source = OwnedTransaction::on("ethereum", 0xab);
    let data = [word(56), padded(TOKEN), word(100)].concat();
    source.logs = vec![log(
        0,
        "2796317b0ff8538f253012862c06787adfb8ceb6",
        "TokenDeposit(address,uint256,address,uint256)",
        &[padded(USER)],
        &data,
    )];
    let kappa = keccak(format!("0x{}", "ab".repeat(32)).as_bytes());
    let mut destination = OwnedTransaction::on("bsc", 2);
    let data = [padded(TOKEN_THERE), word(100), word(3)].concat();
    destination.logs = vec![log(
        0,
        "d123f70ae324d34a9e76b67a27bf77593ba8749f",
        "TokenWithdraw(address,address,uint256,uint256,bytes32)",
        &[padded(USER), kappa],
        &data,
    )];
    let table = table([destination.legs(), source.legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.class(), transfer.status()), (MatchClass::DerivedId, Status::Completed));
    assert_eq!(amount(transfer.destinations[0]), Some(97), "less the fee");
}

#[test]
fn hop_from_ethereum_joins_by_equal_content() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    let topics = [word(10), padded(USER), padded([0; 20])];
    let signature = "TransferSentToL2(uint256,address,uint256,uint256,uint256,address,uint256)";
    source.logs = vec![log(
        0,
        "b8901acb165ed027e32754e0ffe830802919727f",
        signature,
        &topics,
        &[word(200), word(190), word(9), word(0)].concat(),
    )];
    let receive = |amount| {
        let mut receive = OwnedTransaction::on("optimism", 2);
        let data = [word(amount), word(190), word(9), word(0)].concat();
        let signature = "TransferFromL1Completed(address,uint256,uint256,uint256,address,uint256)";
        receive.logs = vec![log(
            0,
            "83f6244bd87662118d96d9a6d44f09dfff14b30e",
            signature,
            &[padded(USER), padded([0; 20])],
            &data,
        )];
        receive.legs()
    };
    let with = |legs| table([source.legs(), legs]);
    assert_eq!(only(&with(receive(200))).status(), Status::Completed);
    assert_eq!(with(receive(201)).transfers().len(), 2);
    assert_eq!(source.leg().token, Some(Token::Symbol("ETH".into())));
}

#[test]
fn thorchain_memo_joins_deposit_payment_and_return() {
    let router = "d37bbe5744d730a1d98d8dc97c42f0ca46ad7146";
    let memo = |head: &[[u8; 32]], text: &str| {
        let mut data = head.concat();
        data.extend(word(32 * (head.len() as u128 + 1)));
        data.extend(&dynamic(text.as_bytes())[32..]);
        data
    };
    let deposit = |text: &str| {
        let mut deposit = OwnedTransaction::on("ethereum", 0xcd);
        deposit.logs = vec![log(
            0,
            router,
            "Deposit(address,address,uint256,string)",
            &[padded(OTHER), [0; 32]],
            &memo(&[word(70)], text),
        )];
        deposit
    };
    let leg = deposit("=:b:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4:0").leg();
    assert_eq!(
        (leg.other_chain, leg.token, amount(&deposit("=:e:x").leg())),
        (Some(chain_named("bitcoin")), Some(Token::Native), Some(70))
    );
    assert!(leg.receiver.unwrap().address().is_some());
    assert!(deposit("ADD:BTC.BTC:x").legs().is_empty(), "liquidity is not a transfer");
    let pay = |hash, kind: &str| {
        let mut pay = OwnedTransaction::on("bsc", hash);
        let text = format!("{kind}:{}", "CD".repeat(32));
        pay.logs = vec![log(
            0,
            "b30ec53f98ff5947ede720d32ac2da7e52a5f56b",
            "TransferOut(address,address,address,uint256,string)",
            &[padded(OTHER), padded(USER)],
            &memo(&[[0; 32], word(9)], &text),
        )];
        pay.legs()
    };
    let table = table([pay(2, "OUT"), pay(3, "OUT"), deposit("=:s:0x1111111111111111111111111111111111111111").legs()]);
    let transfer = only(&table);
    assert_eq!((transfer.status(), transfer.destinations.len()), (Status::Completed, 2), "paid in parts");
    let step = pay(4, "REFUND")[0].step;
    assert_eq!(step, Step::Refunded);
}

#[test]
fn ccip_state_other_than_success_is_a_failure() {
    let execute = |state| {
        let mut execute = OwnedTransaction::on("ethereum", 1);
        let signature = "ExecutionStateChanged(uint64,bytes32,uint8,bytes)";
        let data = [word(state), word(64), word(0)].concat();
        execute.logs = vec![log(0, "df615ef8d4c64d0ed8fd7824bbed2f6a10245ac9", signature, &[word(1), word(7)], &data)];
        execute.leg()
    };
    assert_eq!((execute(2).step, execute(3).step), (Step::Received, Step::Failed));
    assert_eq!(execute(2).other_chain, Some(chain_named("arbitrum")), "the lane is in the role of the contract");
}

#[test]
fn allbridge_takes_its_key_from_the_messenger_beside_it() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    let swapped = [padded(OTHER), padded(TOKEN), word(1_000_000), word(1_000), word(0)].concat();
    let sent = [word(1_000), padded(USER), word(2), padded(TOKEN_THERE), word(5), word(1)].concat();
    source.logs = vec![
        log(
            0,
            "7dbf07ad92ed4e26d5511b4f285508ebf174135d",
            "SwappedToVUsd(address,address,uint256,uint256,uint256)",
            &[],
            &swapped,
        ),
        log(1, "203e8785b4d4312c4152d0c42ba3fa8bd79086da", "MessageSent(bytes32)", &[word(42)], &[]),
        log(
            2,
            "609c690e8f7d68a59885c9132e812eebdaaf0c9e",
            "TokensSent(uint256,bytes32,uint256,bytes32,uint256,uint8)",
            &[],
            &sent,
        ),
    ];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.other_chain), (Some(1_000_000), Some(chain_named("bsc"))));
    assert!(leg.key().as_str().ends_with("2a"), "{}", leg.key());
}

#[test]
fn poly_lock_has_the_id_of_the_manager_beside_it() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    let mut event = [word(160), padded(OTHER), word(6), word(224), word(288)].concat();
    event.extend(&dynamic(&word(77))[32..]);
    event.extend([word(0), word(0)].concat());
    let mut lock = [padded(TOKEN), padded(USER), word(6), word(192), word(256), word(31)].concat();
    lock.extend(&dynamic(&TOKEN_THERE)[32..]);
    lock.extend(&dynamic(&USER)[32..]);
    source.logs = vec![
        log(
            0,
            "14413419452aaf089762a0c5e95ed2a13bbc488c",
            "CrossChainEvent(address,bytes,address,uint64,bytes,bytes)",
            &[padded(OTHER)],
            &event,
        ),
        log(
            1,
            "250e76987d838a75310c34bf422ea9f1ac4cc906",
            "LockEvent(address,address,uint64,bytes,bytes,uint256)",
            &[],
            &lock,
        ),
    ];
    let mut destination = OwnedTransaction::on("bsc", 2);
    let mut execute = [word(2), word(128), word(160), word(192), word(0), word(0)].concat();
    execute.extend(&dynamic(&word(77))[32..]);
    destination.logs = vec![
        log(
            0,
            "2f7ac9436ba4b548f9582af91ca1ef02cd2f1f03",
            "UnlockEvent(address,address,uint256)",
            &[],
            &[padded(TOKEN_THERE), padded(USER), word(30)].concat(),
        ),
        log(
            1,
            "1c9ca8abb5da65d94dad2e8fb3f45535480d5909",
            "VerifyHeaderAndExecuteTxEvent(uint64,bytes,bytes,bytes)",
            &[],
            &execute,
        ),
    ];
    let table = table([source.legs(), destination.legs()]);
    let transfer = only(&table);
    assert_eq!((amount(transfer.source.unwrap()), amount(transfer.destinations[0])), (Some(31), Some(30)));
}
