//! Half-transfers a second: `cargo run --release -p headwater-bridge --example throughput`.
//!
//! Decoding: `Send` and `Relay` of Celer's pools. Matching: inserted in any order, then every transfer is looked up.

use std::time::Instant;

use headwater_bridge::{BridgeChain, Half, LegTable, Log, Status, Tables, Transaction, decode};
use headwater_types::{Amount, Timestamp, TxHash};

const TRANSFERS: u64 = 500_000;

fn word(number: u64) -> [u8; 32] {
    Amount::from(number).to_be_bytes()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    hex::decode(text).expect("hex digits").try_into().expect("as many bytes as asked for")
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]
fn now() -> Instant {
    Instant::now()
}

fn rate(what: &str, count: u64, start: Instant) {
    let secs = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = count as f64 / secs;
    println!("{what}: {count} in {secs:.2} s, {rate:.0} a second");
}

fn main() {
    let send = [array("89d8051e597ab4178a863a5190407b98abfeff406aa8db90c59af76612e58f01")];
    let relay = [array("79fa08de5149d912dce8e5e8da7a7c17ccdf23dd5d3bfe196802e6eb86347c7c")];
    let pools = [array("5427fefa711eff984124bfbb1ab6fbf5e3da1820"), array("dd90e5e87a2081dcf0391920868ebc2ffb81a1af")];
    let chains = [BridgeChain::from_evm_id(1), BridgeChain::from_evm_id(56)];
    let tables = Tables::builtin();

    let start = now();
    let mut halves: Vec<Half> = Vec::new();
    for number in 1..=TRANSFERS {
        // Destinations come in another order than sources.
        let other = 1 + number * 7_919 % TRANSFERS;
        let sent = [word(number), word(1), word(2), word(3), word(number), word(56), word(number), word(0)].concat();
        let received = [word(0), word(1), word(2), word(3), word(other), word(1), word(other)].concat();
        for (side, topics, data, id) in [(0, &send, &sent, number), (1, &relay, &received, other)] {
            let logs = [Log { contract: pools[side], topics, data, index: 0 }];
            let transaction = Transaction {
                chain: chains[side],
                block: id / 100,
                time: Timestamp::new(1_600_000_000),
                hash: TxHash::new(word(id)),
                succeeded: true,
                from: None,
                to: None,
                value: Amount::ZERO,
                input: &[],
                logs: &logs,
                transfers: &[],
            };
            halves.extend(decode(tables, &transaction));
        }
    }
    rate("decode", 2 * TRANSFERS, start);
    assert_eq!(halves.len() as u64, 2 * TRANSFERS);

    let start = now();
    let mut table = LegTable::default();
    table.extend(halves);
    rate("insert", 2 * TRANSFERS, start);

    let start = now();
    let transfers = table.transfers();
    let completed = transfers.iter().filter(|transfer| transfer.status() == Status::Completed).count();
    rate("join all", 2 * TRANSFERS, start);
    assert_eq!(completed as u64, TRANSFERS);

    let start = now();
    let removed = table.roll_back(chains[1], TRANSFERS / 200);
    rate("roll back", removed as u64, start);
}
