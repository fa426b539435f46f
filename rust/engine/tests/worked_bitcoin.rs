//! Bitcoin answers, against shares published for a transaction of two payers (`methods.md` 6.1).

use serde_json::{Value, json};

use crate::town::{PAID, PAYERS, bitcoin, column, data, half_known, hash};

fn about(address: &str, more: Value) -> Value {
    let mut request = json!({"blockchain": "bitcoin", "address": address});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

#[test]
fn there_is_one_row_per_transaction_with_the_net_change() {
    let list = data(&bitcoin(), "transactions", &about(PAYERS[0], json!({})));
    assert_eq!(column(&list, "amount"), ["0.0148", "0.0148"]);
    assert_eq!(column(&list, "action"), ["send", "receive"]);
    assert_eq!(column(&list, "transfer_type"), ["utxo", "coinbase"]);
    assert_eq!(list["amount_unit"], "btc");
    let joint = &list["datas"][0];
    assert_eq!((&joint["from_address"], &joint["to_address"]), (&json!(PAYERS[0]), &Value::Null));
    assert_eq!(joint["counterparties"], json!([PAID[1], PAID[0]]), "largest share first");
    assert_eq!((&joint["inputs_count"], &joint["outputs_count"]), (&json!(2), &json!(2)));
    assert_eq!(list["datas"][1]["from_address"], Value::Null);
}

#[test]
fn shares_are_those_published() {
    let engine = bitcoin();
    for (payer, shares) in PAYERS.iter().zip([["873869", "492714"], ["1476131", "832286"]]) {
        for (paid, share) in [PAID[1], PAID[0]].iter().zip(shares) {
            let request = json!({"blockchain": "bitcoin", "target": payer, "counterparty": paid});
            let list = data(&engine, "counterparty/transfer-between", &request);
            assert_eq!(column(&list, "amount_raw"), [share]);
            assert_eq!(column(&list, "counterparty"), [paid]);
            let overview = data(&engine, "counterparty/overview", &request);
            let amount = list["datas"][0]["amount"].clone();
            assert_eq!((&overview["total_amount"], &overview["amount_unit"]), (&amount, &json!("btc")));
        }
    }
    let ranking = data(&engine, "counterparty", &about(PAYERS[0], json!({})));
    assert_eq!(column(&ranking, "address"), [PAID[1], PAID[0]]);
    assert_eq!(column(&ranking, "sent_amount"), ["0.00873869", "0.00492714"]);
    assert_eq!(column(&ranking, "symbol"), ["btc", "btc"]);
}

#[test]
fn a_wallet_knows_its_largest_first_funder_and_its_balance() {
    let wallet = data(&bitcoin(), "wallet-overview", &about(PAID[0], json!({})));
    assert_eq!(wallet["first_funder"]["address"], PAYERS[1]);
    assert_eq!((&wallet["address_type"], &wallet["received_address_count"]), (&json!("utxo"), &json!(2)));
    assert_eq!(wallet["balances"][0]["balance"], "0.01325");
    assert_eq!(wallet["total_balance_usd"], 0.1325);
}

#[test]
fn a_transaction_shows_inputs_outputs_and_who_spends_them() {
    let engine = bitcoin();
    let text = |number: u8| hash(number).display(headwater_types::Family::Utxo);
    let joint = data(&engine, "transaction", &json!({"hash": text(3)}));
    assert_eq!((&joint["amount_raw"], &joint["fee_raw"]), (&json!("3675000"), &json!("305000")));
    assert_eq!((&joint["is_coinbase"], &joint["status"]), (&json!(false), &json!("success")));
    assert_eq!(joint["inputs"][1]["address"], PAYERS[1]);
    assert_eq!((&joint["inputs"][1]["prev_tx_hash"], &joint["inputs"][1]["prev_index"]), (&json!(text(2)), &json!(0)));
    assert_eq!(joint["outputs"][0]["spent_by_tx"], Value::Null);
    assert_eq!(joint["transfers"].as_array().unwrap().len(), 4);
    let coinbase = data(&engine, "transaction", &json!({"hash": text(2)}));
    assert_eq!(
        (&coinbase["outputs"][0]["spent_by_tx"], &coinbase["outputs"][0]["spent_by_index"]),
        (&json!(text(3)), &json!(1))
    );
    // Rows of the transaction and rows of the address carry one id.
    let list = data(&engine, "transactions", &about(PAID[1], json!({})));
    assert_eq!(joint["transfers"][3]["id"], list["datas"][0]["id"]);
}

#[test]
fn nobody_is_named_as_the_sender_where_an_input_is_not_known() {
    let engine = half_known();
    let list = data(&engine, "transactions", &about(PAID[0], json!({})));
    assert_eq!(list["datas"][0]["from_address"], PAYERS[1]);
    let row = &list["datas"][1];
    assert_eq!((&row["from_address"], &row["counterparty"]), (&Value::Null, &Value::Null));
    assert_eq!(row["counterparties"], json!([PAYERS[0]]), "who is known to have paid in");
    let detail = data(&engine, "transaction", &json!({"hash": hash(2).display(headwater_types::Family::Utxo)}));
    assert_eq!((&detail["fee"], &detail["inputs"][1]["amount"]), (&Value::Null, &Value::Null));
    let ranking = data(&engine, "counterparty", &about(PAID[0], json!({})));
    assert_eq!(column(&ranking, "address"), [PAYERS[1]], "shares are not guessed");
    let wallet = data(&engine, "wallet-overview", &about(PAID[0], json!({})));
    assert_eq!(wallet["first_funder"], Value::Null, "the second who paid in is not the first");
}
