//! Further families.

use headwater_types::{Address, TxHash};

use super::{OTHER, TOKEN, TOKEN_THERE, USER, amount, statuses};
use crate::half::{MatchClass, Step, Token};
use crate::matching::Status;
use crate::tests::{OwnedTransaction, chain_named, dynamic, fixed, log, padded, token_transfer, word};

/// The order of deBridge as data: 14 members, eight of them bytes.
fn order(give: u128, take: u128) -> Vec<u8> {
    let tail = |bytes: &[u8]| dynamic(bytes)[32..].to_vec();
    let empty = 14 * 32;
    let bytes = [USER.to_vec(), TOKEN.to_vec(), TOKEN_THERE.to_vec(), OTHER.to_vec()].map(|bytes| tail(&bytes));
    let at = |place: usize| word((empty + 32 + bytes[..place].iter().map(Vec::len).sum::<usize>()) as u128);
    let none = word(empty as u128);
    let head = [
        word(1),
        at(0),
        word(1),
        at(1),
        word(give),
        word(100_000_026),
        at(2),
        word(take),
        at(3),
        none,
        none,
        none,
        none,
        none,
    ];
    [head.concat(), word(0).to_vec(), bytes.concat()].concat()
}

#[test]
fn debridge_order_is_fulfilled_or_cancelled() {
    let (source_contract, destination_contract) =
        ("ef4fb24ad0916217251f553c0596f8edc630eb66", "e7351fd770a37282b91d153ee690b63579d6dd7f");
    let created = "CreatedOrder((uint64,bytes,uint256,bytes,uint256,uint256,bytes,uint256,bytes,bytes,bytes,bytes,bytes,bytes),bytes32,bytes,uint256,uint256,uint32,bytes)";
    let mut source = OwnedTransaction::on("ethereum", 1);
    let tuple = order(900, 800);
    let end = word(7 * 32 + tuple.len() as u128);
    let head = [word(7 * 32), word(42), end, word(0), word(0), word(0), end].concat();
    source.logs = vec![log(0, source_contract, created, &[], &[head, tuple.clone(), word(0).to_vec()].concat())];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.other_amount.unwrap().to_u128()), (Some(900), Some(800)));
    assert_eq!(leg.other_chain, Some(chain_named("tron")));
    assert_eq!(leg.receiver.as_ref().unwrap().address(), Some(&Address::Tron(OTHER)));
    assert_eq!(leg.sender.as_ref().unwrap().address(), Some(&Address::Evm(USER)));

    let fulfilled = "FulfilledOrder((uint64,bytes,uint256,bytes,uint256,uint256,bytes,uint256,bytes,bytes,bytes,bytes,bytes,bytes),bytes32,uint256,address,address)";
    let mut destination = OwnedTransaction::on("bsc", 2);
    let head = [word(5 * 32), word(42), word(799), padded(OTHER), padded(OTHER)].concat();
    destination.logs = vec![log(0, destination_contract, fulfilled, &[], &[head, tuple].concat())];
    let leg = destination.leg();
    assert_eq!((amount(&leg), leg.other_chain), (Some(799), Some(chain_named("ethereum"))));
    // The order names tron, so bsc is not where it was to be fulfilled.
    assert_eq!(statuses([source.legs(), destination.legs()]), [Status::Received, Status::Sent]);

    let mut back = OwnedTransaction::on("ethereum", 3);
    let words = [word(42), padded(USER), word(900), padded(TOKEN)].concat();
    back.logs = vec![log(0, source_contract, "ClaimedOrderCancel(bytes32,address,uint256,address)", &[], &words)];
    assert_eq!(statuses([back.legs(), source.legs()]), [Status::Refunded]);
}

#[test]
fn axelar_destination_names_transaction_and_payload() {
    let text = |text: &str| dynamic(text.as_bytes())[32..].to_vec();
    let mut source = OwnedTransaction::on("ethereum", 1);
    let strings = [text("binance"), text("0x2222222222222222222222222222222222222222"), text(""), text("axlUSDC")];
    let mut offset = 5 * 32;
    let mut head = Vec::new();
    for string in &strings {
        head.extend(word(offset));
        offset += string.len() as u128;
    }
    head.extend(word(500));
    let signature = "ContractCallWithToken(address,string,string,bytes32,bytes,string,uint256)";
    let gateway = "4f4495243837681061c4743b74b3eedf548d56a5";
    source.logs = vec![log(0, gateway, signature, &[padded(USER), word(7)], &[head, strings.concat()].concat())];
    let leg = source.leg();
    assert_eq!(
        (leg.other_chain, leg.token, leg.class),
        (Some(chain_named("bsc")), Some(Token::Symbol("axlUSDC".into())), MatchClass::SourceHash)
    );

    let mut destination = OwnedTransaction::on("bsc", 2);
    let strings = [text("Ethereum"), text("0x1111111111111111111111111111111111111111"), text("axlUSDC")];
    let mut offset = 6 * 32;
    let mut offsets = Vec::new();
    for string in &strings {
        offsets.push(word(offset));
        offset += string.len() as u128;
    }
    let head = [offsets[0], offsets[1], offsets[2], word(500), [1; 32], word(9)].concat();
    let signature =
        "ContractCallApprovedWithMint(bytes32,string,string,address,bytes32,string,uint256,bytes32,uint256)";
    let topics = [word(99), padded(OTHER), word(7)];
    destination.logs = vec![log(
        0,
        "304acf330bbe08d1e512eefaa92f6a57871fd895",
        signature,
        &topics,
        &[head, strings.concat()].concat(),
    )];
    assert_eq!(destination.leg().other_transaction, Some(TxHash::new([1; 32])));
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
}

#[test]
fn omnibridge_and_its_message_are_one_leg() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    source.logs = vec![
        log(
            0,
            "4c36d2919e407f0cc2ee3c993ccf8ac26d9ce64e",
            "UserRequestForAffirmation(bytes32,bytes)",
            &[word(5)],
            &dynamic(&[1]),
        ),
        log(
            1,
            "88ad09518695c6c3712ac10a214be5109a655671",
            "TokensBridgingInitiated(address,address,uint256,bytes32)",
            &[padded(TOKEN), padded(USER), word(5)],
            &word(70),
        ),
    ];
    let leg = source.leg();
    assert_eq!((&*leg.bridge, amount(&leg), leg.other_chain), ("Omnibridge", Some(70), Some(chain_named("gnosis"))));
    let mut destination = OwnedTransaction::on("gnosis", 2);
    let amb = "75df5af045d91108662d8080fd1fefad6aa0bb59";
    let executed = "AffirmationCompleted(address,address,bytes32,bool)";
    destination.logs = vec![log(0, amb, executed, &[padded(OTHER), padded(OTHER), word(5)], &word(1))];
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
    destination.logs[0].data = word(0).to_vec();
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Failed]);
}

#[test]
fn connext_transfer_has_one_id() {
    // originDomain .. canonicalId: 13 members, callData at place 6.
    let params = [
        [
            word(6_648_936),
            word(6_450_786),
            word(0),
            padded(OTHER),
            padded(OTHER),
            word(0),
            word(13 * 32),
            word(3),
            padded(USER),
            word(50),
            word(0),
            word(1),
            word(0),
        ]
        .concat(),
        word(0).to_vec(),
    ]
    .concat();
    let mut source = OwnedTransaction::on("ethereum", 1);
    let body = word(5 * 32 + params.len() as u128);
    let data =
        [[word(5 * 32), padded(TOKEN), word(50), padded(TOKEN), body].concat(), params, word(0).to_vec()].concat();
    let signature = "XCalled(bytes32,uint256,bytes32,(uint32,uint32,uint32,address,address,bool,bytes,uint256,address,uint256,uint256,uint256,bytes32),address,uint256,address,bytes)";
    source.logs =
        vec![log(0, "8898b472c54c31894e3b9bb83cea802a5d0e63c6", signature, &[word(7), word(1), word(2)], &data)];
    let leg = source.leg();
    assert_eq!((amount(&leg), leg.other_chain), (Some(50), Some(chain_named("bsc"))));
    assert_eq!(leg.sender.unwrap().address(), Some(&Address::Evm(USER)));
    assert_eq!(leg.receiver.unwrap().address(), Some(&Address::Evm(OTHER)));
}

#[test]
fn opstack_token_has_its_contracts_exchanged_at_the_other_end() {
    let data = |to: [u8; 20]| [&[padded(to), word(9), word(96)].concat()[..], &word(0)].concat();
    let mut source = OwnedTransaction::on("ethereum", 1);
    let initiated = "ERC20BridgeInitiated(address,address,address,address,uint256,bytes)";
    source.logs = vec![log(
        0,
        "3154cf16ccdb4c6d922629664174b904d80f2c35",
        initiated,
        &[padded(TOKEN), padded(TOKEN_THERE), padded(USER)],
        &data(OTHER),
    )];
    let mut destination = OwnedTransaction::on("base", 2);
    let finalized = "ERC20BridgeFinalized(address,address,address,address,uint256,bytes)";
    destination.logs = vec![log(
        0,
        "4200000000000000000000000000000000000010",
        finalized,
        &[padded(TOKEN_THERE), padded(TOKEN), padded(USER)],
        &data(OTHER),
    )];
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
}

#[test]
fn polygon_deposit_has_the_id_of_the_state_beside_it() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    source.logs = vec![
        log(
            0,
            "40ec5b33f54e0e8a33a975908c5ba1c14e5bbbdf",
            "LockedERC20(address,address,address,uint256)",
            &[padded(USER), padded(OTHER), padded(TOKEN)],
            &word(60),
        ),
        log(
            1,
            "28e4f3a7f651294b9564800b2d01f35189a5bfbe",
            "StateSynced(uint256,address,bytes)",
            &[word(123), padded(OTHER)],
            &dynamic(&[1]),
        ),
    ];
    let leg = source.leg();
    assert_eq!((leg.key().as_str(), amount(&leg)), ("state:123", Some(60)));
    let mut destination = OwnedTransaction::on("polygon", 2);
    destination.logs = vec![log(
        0,
        "0000000000000000000000000000000000001001",
        "StateCommitted(uint256,bool)",
        &[word(123)],
        &word(1),
    )];
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
}

#[test]
fn bitcoin_transactions_of_wrapped_bitcoin_are_named() {
    let mut mint = OwnedTransaction::on("ethereum", 1);
    let mut hash = [0; 32];
    hash[0] = 0xaa;
    hash[31] = 0xbb;
    let data = [word(90), hash, word(2)].concat();
    let requested = "OptimisticMintingRequested(address,uint256,address,uint256,bytes32,uint32)";
    mint.logs = vec![log(
        0,
        "9c070027cdc9dc8f82416b2e5314e11dfb4fe3cd",
        requested,
        &[padded(OTHER), word(5), padded(USER)],
        &data,
    )];
    let leg = mint.leg();
    hash.reverse();
    assert_eq!(
        (leg.step, leg.other_transaction, leg.other_chain),
        (Step::Received, Some(TxHash::new(hash)), Some(chain_named("bitcoin")))
    );

    let text = |text: &str| dynamic(text.as_bytes())[32..].to_vec();
    let strings = [text("3QJmV3qfvL9SuYo34YihAf3sRCW3qSinyC"), text(&hex::encode(hash))];
    let head = [word(90), word(160), word(160 + strings[0].len() as u128), word(1), word(7)].concat();
    let mut confirmed = OwnedTransaction::on("ethereum", 2);
    let signature = "MintConfirmed(uint256,address,uint256,string,string,uint256,bytes32)";
    confirmed.logs = vec![log(
        0,
        "e5a5f138005e19a3e6d0fe68b039397eeef2322b",
        signature,
        &[word(1), padded(USER)],
        &[head, strings.concat()].concat(),
    )];
    assert_eq!(confirmed.leg().other_transaction, Some(TxHash::new(hash)));
}

#[test]
fn symbiosis_legs_join_by_receiver_amount_and_time() {
    let mut source = OwnedTransaction::on("ethereum", 1);
    let data = [word(1), padded(OTHER), word(1_000_000), padded(TOKEN)].concat();
    let signature = "SynthesizeRequest(bytes32,address,uint256,address,address,uint256,address)";
    source.logs = vec![log(
        0,
        "b8f275fbf7a959f4bce59999a2ef122a099e81a8",
        signature,
        &[padded(USER), word(56), padded(USER)],
        &data,
    )];
    let mut destination = OwnedTransaction::on("bsc", 2);
    destination.time += 300;
    let data = [word(999_000), word(1_000), padded(TOKEN_THERE)].concat();
    let signature = "SynthesizeCompleted(bytes32,address,uint256,uint256,address)";
    destination.logs =
        vec![log(0, "6b1bbd301782ff636601fc594cd7bfe74871bfaa", signature, &[word(9), padded(OTHER)], &data)];
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
    destination.time += 86_400;
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Sent, Status::Received]);
}

#[test]
fn orbiter_amount_names_the_destination() {
    let maker: [u8; 20] = fixed("80c67432656d59144ceff962e8faf8926599bcf8");
    let mut source = OwnedTransaction::on("ethereum", 1);
    source.logs = vec![token_transfer(3, TOKEN, USER, maker, 1_000_009_015)];
    let leg = source.leg();
    assert_eq!((leg.step, leg.class, leg.other_chain), (Step::Sent, MatchClass::Heuristic, Some(chain_named("bsc"))));
    let mut destination = OwnedTransaction::on("bsc", 2);
    destination.time += 60;
    destination.logs = vec![token_transfer(5, TOKEN_THERE, maker, USER, 999_000_000_000_000_000_000)];
    assert_eq!(statuses([destination.legs(), source.legs()]), [Status::Completed]);
    // Without a number there is no destination, and makers pay each other.
    source.logs[0].data = word(1_000_000_000).to_vec();
    assert!(source.legs().is_empty());
    source.logs =
        vec![token_transfer(3, TOKEN, maker, fixed("e4edb277e41dc89ab076a1f049f4a3efa700bce8"), 1_000_009_015)];
    assert!(source.legs().is_empty());
}
