//! Rules of matching that a single case shows.

use headwater_types::{Address, Amount, Timestamp, TxHash};

use super::chain_named;
use crate::half::{Half, LinkKey, MatchClass, Step};
use crate::matching::{Status, join};
use crate::party::Party;

fn leg(class: MatchClass, step: Step, chain: &str, secs: i64, amount: u64) -> Half {
    Half {
        family: "x".into(),
        bridge: "X".into(),
        event: "E".into(),
        step,
        class,
        keys: vec![LinkKey::new("k")],
        chain: chain_named(chain),
        block: u64::try_from(secs).unwrap(),
        time: Timestamp::new(secs),
        transaction: TxHash::new([u8::try_from(secs % 251).unwrap(); 32]),
        log_index: 0,
        other_chain: None,
        other_transaction: None,
        sender: None,
        receiver: Some(Party::Account(Address::Evm([1; 20]))),
        token: None,
        amount: Some(Amount::from(amount)),
        other_token: None,
        other_amount: None,
    }
}

#[test]
fn join_legs_of_other_chains_than_named_stay_apart() {
    let mut sent = leg(MatchClass::UniqueId, Step::Sent, "ethereum", 10, 5);
    sent.other_chain = Some(chain_named("tron"));
    let received = leg(MatchClass::UniqueId, Step::Received, "bsc", 20, 5);
    let transfers = join(&[&received, &sent]);
    assert_eq!(transfers.iter().map(crate::Transfer::status).collect::<Vec<_>>(), [Status::Sent, Status::Received]);
    sent.other_chain = Some(chain_named("bsc"));
    assert_eq!(join(&[&received, &sent])[0].status(), Status::Completed);
}

#[test]
fn join_heuristic_legs_need_time_and_amount() {
    let sent = leg(MatchClass::Heuristic, Step::Sent, "ethereum", 1_000, 1_000_000);
    let joined = |secs, amount| {
        let received = leg(MatchClass::Heuristic, Step::Received, "bsc", secs, amount);
        join(&[&sent, &received]).len() == 1
    };
    assert!(joined(1_500, 999_000));
    assert!(joined(1_500, 999_000_000_000_000_000), "12 more decimals");
    assert!(!joined(1_500, 900_000), "a tenth is not a fee");
    assert!(!joined(1_500, 1_000_001), "more than was sent");
    assert!(!joined(500, 999_000), "before it was sent");
    assert!(!joined(1_000 + 4 * 3_600, 999_000), "too late");
}

#[test]
fn join_heuristic_confidence_falls_where_others_fit() {
    let sent = leg(MatchClass::Heuristic, Step::Sent, "ethereum", 1_000, 1_000_000);
    let again = leg(MatchClass::Heuristic, Step::Sent, "ethereum", 1_100, 1_000_000);
    let received = leg(MatchClass::Heuristic, Step::Received, "bsc", 1_200, 999_000);
    assert!((join(&[&sent, &received])[0].confidence() - 0.60).abs() < 1e-9);
    let two = join(&[&sent, &again, &received]);
    assert_eq!((two.len(), two[1].destinations.len()), (2, 1), "the nearer in time");
    assert!((two[1].confidence() - 0.30).abs() < 1e-9);
}

#[test]
fn join_prefers_a_prompt_source_to_one_left_behind() {
    let old = leg(MatchClass::Content, Step::Sent, "ethereum", 1_000, 5);
    let new = leg(MatchClass::Content, Step::Sent, "ethereum", 90_000, 5);
    let received = leg(MatchClass::Content, Step::Received, "bsc", 92_000, 5);
    let transfers = join(&[&old, &new, &received]);
    assert_eq!((transfers[0].status(), transfers[1].status()), (Status::Sent, Status::Completed));
}

#[test]
fn join_refund_goes_to_the_sender_it_names() {
    let mut first = leg(MatchClass::SourceHash, Step::Sent, "ethereum", 10, 5);
    first.sender = Some(Party::Account(Address::Evm([7; 20])));
    let mut second = leg(MatchClass::SourceHash, Step::Sent, "ethereum", 10, 5);
    second.log_index = 1;
    second.sender = Some(Party::Account(Address::Evm([8; 20])));
    let mut refund = leg(MatchClass::SourceHash, Step::Refunded, "ethereum", 50, 5);
    refund.receiver = second.sender.clone();
    let transfers = join(&[&refund, &first, &second]);
    assert_eq!((transfers[0].status(), transfers[1].status()), (Status::Sent, Status::Refunded));
}

#[test]
fn join_failure_and_later_delivery_is_completed() {
    let sent = leg(MatchClass::UniqueId, Step::Sent, "ethereum", 10, 5);
    let failed = leg(MatchClass::UniqueId, Step::Failed, "bsc", 20, 5);
    let received = leg(MatchClass::UniqueId, Step::Received, "bsc", 30, 5);
    assert_eq!(join(&[&sent, &failed])[0].status(), Status::Failed);
    let both = join(&[&sent, &failed, &received]);
    assert_eq!((both.len(), both[0].status(), both[0].failures.len()), (1, Status::Completed, 1));
}
