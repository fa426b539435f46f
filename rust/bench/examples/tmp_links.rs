use headwater_ledger::bitcoin::TransactionView;
use headwater_ledger::bitcoin::coinjoin::{Surroundings, coinjoin};
use headwater_ledger::clusters::link;
use headwater_ledger::read::*;
use headwater_ledger::{Store, Cancel};
use headwater_types::{Chain, Family};
use std::ops::ControlFlow;
fn main() {
    let store = Store::open(std::path::Path::new(&std::env::args().nth(1).unwrap())).unwrap();
    let ledger = store.current().unwrap();
    let c = ledger.coverage()[&Chain::BITCOIN].clone();
    let ranges = c.ranges[&CoverageTable::Transactions].clone();
    for (first, last) in ranges { for block in first..=last {
        let mut index = 0;
        while let Some(t) = ledger.transaction_at(Chain::BITCOIN, block, index).unwrap() {
            index += 1;
            let tx = ledger.transaction(t).unwrap();
            let Some(utxo) = &tx.facts.utxo else { continue };
            let view = TransactionView::new(utxo, block, tx.head.time);
            let n = view.input_addresses().len();
            let found = coinjoin(&view, Surroundings::default());
            println!("{} {} {:?} payers={} in={} unknown={} out={} {:?}", block, tx.head.hash.display(Family::Utxo), link(&view), n, view.inputs().len(), view.unknown_inputs(), view.outputs().len(), found);
        }
    }}
    let _ = (Cancel::new(), ControlFlow::<()>::Continue(()));
}
