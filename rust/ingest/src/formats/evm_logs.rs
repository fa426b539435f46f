//! Movements of tokens from event logs of EVM contracts.

use headwater_ledger::facts::{LogFacts, Movement, MovementFact};
use headwater_ledger::read::Ordinal;
use headwater_types::{Address, Amount, Asset, Chain, Family};

/// `Transfer(address,address,uint256)` of ERC-20 and ERC-721.
const TRANSFER: [u8; 32] = topic(b"ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// `TransferSingle(address,address,address,uint256,uint256)` of ERC-1155.
const TRANSFER_SINGLE: [u8; 32] = topic(b"c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");
/// `TransferBatch(address,address,address,uint256[],uint256[])` of ERC-1155.
pub(super) const TRANSFER_BATCH: [u8; 32] = topic(b"4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb");
/// `Deposit(address,uint256)` of wrapped native coins.
const DEPOSIT: [u8; 32] = topic(b"e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c");
/// `Withdrawal(address,uint256)` of wrapped native coins.
const WITHDRAWAL: [u8; 32] = topic(b"7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65");

/// `DestroyedBlackFunds(address,uint256)`: all that a frozen account has is gone.
const DESTROYED: [u8; 32] = topic(b"61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6");
/// `Issue(uint256)`: the owner of the contract has more.
const ISSUE: [u8; 32] = topic(b"cb8241adb0c3fdb35b70c24ce35c5eb0c17af7431c99f827d44a445ca624176a");
/// `Redeem(uint256)`: the owner of the contract has less.
const REDEEM: [u8; 32] = topic(b"702d5967f45f6513a38ffc42d6ba9bf230bd40e8f53b16363c7eb4fd2deb9a44");

/// A contract on a chain. The events of the same name that other contracts emit mean other things.
type Emitter = (Chain, Address);

/// The wrapped native coin of a chain, whose contract mints and burns without a `Transfer`.
const WRAPPED: &[Emitter] = &[
    (Chain::BSC, Address::Evm(account(b"bb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c"))),
    (Chain::ETHEREUM, Address::Evm(account(b"c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"))),
    (Chain::TRON, Address::Tron(account(b"891cdb91d149f23b1a45d9c5ca78a88d0cb44c18"))),
];
const USDT_ETHEREUM: Emitter = (Chain::ETHEREUM, Address::Evm(account(b"dac17f958d2ee523a2206206994597c13d831ec7")));
const USDT_TRON: Emitter = (Chain::TRON, Address::Tron(account(b"a614f803b6fd780986a42c78ec9c7f77e6ded13c")));
/// Tokens that destroy funds without a `Transfer`.
const DESTROYERS: &[Emitter] = &[USDT_ETHEREUM, USDT_TRON];
/// Tokens that issue and redeem without a `Transfer`. That of TRON emits one beside each such event.
const ISSUERS: &[Emitter] = &[USDT_ETHEREUM];

/// The movement that a log stands for. TRON's contracts log as those of EVM chains do, addresses without their prefix.
///
/// `Transfer` with three topics is ERC-20, with four ERC-721. Contracts older than the standards put the parties into
/// the data instead of topics; as everywhere in the field those are read as ERC-20. Wrapping and unwrapping the native
/// coin moves from and to the zero address, as a mint and a burn; so does what Tether issues, redeems and destroys. The
/// owner who issues and redeems is not in the log: that party is left open for the ledger, which knows it where the
/// transaction calls the token itself.
pub(crate) fn movement(chain: Chain, log: &LogFacts) -> Option<Movement> {
    let words: Vec<[u8; 32]> = log.topics.iter().skip(1).copied().chain(log.data.chunks_exact(32).map(array)).collect();
    let first = log.topics.first()?;
    let account = |bytes: [u8; 20]| match chain.family() {
        Family::Tron => Address::Tron(bytes),
        Family::Evm | Family::Utxo => Address::Evm(bytes),
    };
    let party = |word: &[u8; 32]| Some(account(array(&word[12..])));
    let amount = |word: &[u8; 32]| Amount::from_be_bytes(*word);
    let zero = Some(account([0; 20]));
    let is_of = |emitters: &[Emitter]| emitters.contains(&(chain, log.address));
    let (kind, from, to, amount) = match (*first, words.as_slice(), log.topics.len()) {
        (TRANSFER, [from, to, id, ..], 4) => (MovementFact::NonFungible, party(from), party(to), amount(id)),
        (TRANSFER, [from, to, value], _) | (TRANSFER, [from, to, value, ..], 3) => {
            (MovementFact::Token, party(from), party(to), amount(value))
        }
        (TRANSFER_SINGLE, [_, from, to, _, value, ..], 4) => {
            (MovementFact::NonFungible, party(from), party(to), amount(value))
        }
        // Several ids in one log: no single amount describes them, and none is counted.
        (TRANSFER_BATCH, [_, from, to, ..], 4) => (MovementFact::NonFungible, party(from), party(to), Amount::ZERO),
        (DEPOSIT, [owner, value], _) if is_of(WRAPPED) => (MovementFact::Token, zero, party(owner), amount(value)),
        (WITHDRAWAL, [owner, value], _) if is_of(WRAPPED) => (MovementFact::Token, party(owner), zero, amount(value)),
        (DESTROYED, [owner, value], _) if is_of(DESTROYERS) => (MovementFact::Token, party(owner), zero, amount(value)),
        (ISSUE, [value], _) if is_of(ISSUERS) => (MovementFact::Token, zero, None, amount(value)),
        (REDEEM, [value], _) if is_of(ISSUERS) => (MovementFact::Token, None, zero, amount(value)),
        _ => return None,
    };
    Some(Movement { kind, ordinal: Ordinal::Indexed(log.index), from, to, asset: Asset::Token(log.address), amount })
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the slice was cut to this length")
}

const fn topic(hex: &[u8; 64]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < 32 {
        bytes[at] = digit(hex[2 * at]) << 4 | digit(hex[2 * at + 1]);
        at += 1;
    }
    bytes
}

const fn account(hex: &[u8; 40]) -> [u8; 20] {
    let mut bytes = [0; 20];
    let mut at = 0;
    while at < 20 {
        bytes[at] = digit(hex[2 * at]) << 4 | digit(hex[2 * at + 1]);
        at += 1;
    }
    bytes
}

const fn digit(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        _ => character - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(last: u8) -> [u8; 32] {
        let mut word = [0; 32];
        word[31] = last;
        word
    }

    fn log(address: &str, topics: Vec<[u8; 32]>, data: &[[u8; 32]]) -> LogFacts {
        let address = Address::parse(Chain::ETHEREUM, address).unwrap();
        LogFacts { index: 7, address, topics, data: data.concat() }
    }

    fn party(last: u8) -> Option<Address> {
        Some(word(last)).map(|word| Address::Evm(array(&word[12..])))
    }

    const WETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
    const OTHER: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";

    #[test]
    fn three_topics_are_a_fungible_transfer_and_four_are_not() {
        let fungible = movement(Chain::ETHEREUM, &log(OTHER, vec![TRANSFER, word(1), word(2)], &[word(3)])).unwrap();
        assert_eq!(
            (fungible.kind, fungible.ordinal, fungible.from, fungible.to, fungible.amount),
            (MovementFact::Token, Ordinal::Indexed(7), party(1), party(2), Amount::from(3))
        );
        let single = movement(Chain::ETHEREUM, &log(OTHER, vec![TRANSFER, word(1), word(2), word(3)], &[])).unwrap();
        assert_eq!((single.kind, single.amount), (MovementFact::NonFungible, Amount::from(3)));
        let early = movement(Chain::ETHEREUM, &log(OTHER, vec![TRANSFER], &[word(1), word(2), word(3)])).unwrap();
        assert_eq!((early.kind, early.from, early.amount), (MovementFact::Token, party(1), Amount::from(3)));
        assert_eq!(movement(Chain::ETHEREUM, &log(OTHER, vec![TRANSFER, word(1), word(2)], &[])), None);
        assert_eq!(movement(Chain::ETHEREUM, &log(OTHER, vec![], &[word(1)])), None);
    }

    #[test]
    fn the_parties_are_accounts_of_the_chain() {
        let contract = Address::parse(Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
        let mut from = word(1);
        // Some contracts leave the prefix of the address before its 20 bytes.
        from[11] = 0x41;
        let log =
            LogFacts { index: 7, address: contract, topics: vec![TRANSFER, from, word(2)], data: word(3).to_vec() };
        let moved = movement(Chain::TRON, &log).unwrap();
        let account = |last| Some(Address::Tron(array(&word(last)[12..])));
        assert_eq!((moved.asset, moved.from, moved.to), (Asset::Token(contract), account(1), account(2)));
    }

    #[test]
    fn multi_tokens_are_kept_out_of_amounts() {
        let topics = |first| vec![first, word(9), word(1), word(2)];
        let single = movement(Chain::ETHEREUM, &log(OTHER, topics(TRANSFER_SINGLE), &[word(5), word(6)])).unwrap();
        assert_eq!((single.kind, single.from, single.to), (MovementFact::NonFungible, party(1), party(2)));
        let batch = movement(Chain::ETHEREUM, &log(OTHER, topics(TRANSFER_BATCH), &[word(5); 6])).unwrap();
        assert_eq!((batch.kind, batch.amount), (MovementFact::NonFungible, Amount::ZERO));
    }

    #[test]
    fn only_the_wrapped_coin_itself_mints_by_deposit() {
        let minted = movement(Chain::ETHEREUM, &log(WETH, vec![DEPOSIT, word(1)], &[word(4)])).unwrap();
        assert!(minted.from.unwrap().is_zero() && minted.to == party(1) && minted.amount == Amount::from(4));
        let burnt = movement(Chain::ETHEREUM, &log(WETH, vec![WITHDRAWAL, word(1)], &[word(4)])).unwrap();
        assert!(burnt.to.unwrap().is_zero() && burnt.from == party(1));
        assert_eq!(movement(Chain::ETHEREUM, &log(OTHER, vec![DEPOSIT, word(1)], &[word(4)])), None);
        assert_eq!(movement(Chain::BSC, &log(WETH, vec![DEPOSIT, word(1)], &[word(4)])), None);
    }

    const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";

    /// A log of a contract on TRON.
    fn tron(address: &str, topics: Vec<[u8; 32]>, data: &[[u8; 32]]) -> LogFacts {
        let address = Address::parse(Chain::TRON, address).unwrap();
        LogFacts { index: 7, address, topics, data: data.concat() }
    }

    /// Sender, receiver and amount; a party that is not known is `None`, the zero address its text.
    fn moved(chain: Chain, log: &LogFacts) -> (Option<String>, Option<String>, Amount) {
        let moved = movement(chain, log).unwrap();
        assert_eq!((moved.kind, moved.asset), (MovementFact::Token, Asset::Token(log.address)));
        let text = |party: Option<Address>| party.map(|address| address.to_string());
        (text(moved.from), text(moved.to), moved.amount)
    }

    #[test]
    fn wrapped_trx_mints_by_deposit_and_burns_by_withdrawal() {
        const WTRX: &str = "TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR";
        let owner = Some(Address::Tron(array(&word(1)[12..])).to_string());
        let zero = Some("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb".to_owned());
        let minted = moved(Chain::TRON, &tron(WTRX, vec![DEPOSIT, word(1)], &[word(4)]));
        assert_eq!(minted, (zero.clone(), owner.clone(), Amount::from(4)));
        let burnt = moved(Chain::TRON, &tron(WTRX, vec![WITHDRAWAL, word(1)], &[word(3)]));
        assert_eq!(burnt, (owner, zero, Amount::from(3)));
        let other = tron("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", vec![DEPOSIT, word(1)], &[word(4)]);
        assert_eq!(movement(Chain::TRON, &other), None);
    }

    #[test]
    fn destroyed_funds_burn_whether_indexed_or_not() {
        let zero = Some(format!("0x{}", "0".repeat(40)));
        // Ethereum's contract has the account in the data, that of TRON in a topic.
        let burnt = moved(Chain::ETHEREUM, &log(USDT, vec![DESTROYED], &[word(1), word(5)]));
        assert_eq!(burnt, (party(1).map(|address| address.to_string()), zero, Amount::from(5)));
        let on_tron = tron("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", vec![DESTROYED, word(1)], &[word(5)]);
        let burnt = movement(Chain::TRON, &on_tron).unwrap();
        assert_eq!((burnt.from, burnt.amount), (Some(Address::Tron(array(&word(1)[12..]))), Amount::from(5)));
        assert!(burnt.to.unwrap().is_zero());
        assert_eq!(movement(Chain::ETHEREUM, &log(OTHER, vec![DESTROYED], &[word(1), word(5)])), None);
    }

    #[test]
    fn issue_and_redeem_move_supply_of_an_open_owner() {
        let zero = Some(format!("0x{}", "0".repeat(40)));
        let issued = moved(Chain::ETHEREUM, &log(USDT, vec![ISSUE], &[word(5)]));
        assert_eq!(issued, (zero.clone(), None, Amount::from(5)));
        let redeemed = moved(Chain::ETHEREUM, &log(USDT, vec![REDEEM], &[word(2)]));
        assert_eq!(redeemed, (None, zero, Amount::from(2)));
        // The contract on TRON logs a transfer beside each.
        let on_tron = tron("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", vec![ISSUE], &[word(5)]);
        assert_eq!(movement(Chain::TRON, &on_tron), None);
        assert_eq!(movement(Chain::ETHEREUM, &log(OTHER, vec![ISSUE], &[word(5)])), None);
    }

    #[test]
    fn topics_are_hashes_of_their_signatures() {
        use sha3::{Digest, Keccak256};
        for (signature, topic) in [
            ("Transfer(address,address,uint256)", TRANSFER),
            ("Deposit(address,uint256)", DEPOSIT),
            ("Withdrawal(address,uint256)", WITHDRAWAL),
            ("DestroyedBlackFunds(address,uint256)", DESTROYED),
            ("Issue(uint256)", ISSUE),
            ("Redeem(uint256)", REDEEM),
        ] {
            assert_eq!(<[u8; 32]>::from(Keccak256::digest(signature)), topic, "{signature}");
        }
    }
}
