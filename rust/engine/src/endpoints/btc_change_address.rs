//! Which output of a Bitcoin transaction returned to the payer.

use headwater_intel::bitcoin::change::{Judgement, Level, NoChange, RULES, judge};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Premix, Protocol};
use headwater_intel::bitcoin::gather::Gathered;
use headwater_ledger::facts::OutputFacts;
use headwater_ledger::read::Transaction;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Amount, Chain, Family, TimeWindow, TxHash};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::transaction::ScriptName;
use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Alternative, Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::BITCOIN_TRANSACTION;
use crate::fields::{AddressText, CodeText, DecimalText, RawAmountText, Time, form, values};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::{Error, ErrorKind, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "btc/change-address",
    path: "/v1/btc/change-address",
    method: Method::Post,
    alternative: Some(Alternative {
        method: Method::Get,
        summary: "Bitcoin change-address detection, the id in the URL",
        description: "The same for links and browsers.",
    }),
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Bitcoin change-address detection",
    description: "Which output of a transaction returned to the payer, by rules of the field whose votes are added up: \
                  amounts, forms of scripts, new addresses, and how the outputs were spent later. Transactions that several \
                  people made together have no answer. An answer is a probability and no proof.",
    chains: ChainScope::Always(Chain::BITCOIN),
    reads: Reads::Movements,
    rows: Some("outputs"),
    first: &["index", "address", "amount", "is_change", "confidence"],
    example: Example {
        request: || json!({"txid": BITCOIN_TRANSACTION}),
        refused: Some(("txid", "12")),
        missing: Some(|| json!({"txid": "f".repeat(64)})),
    },
    calls: Calls::of::<BtcChangeAddress>(),
};

form! {
    /// The id of a Bitcoin transaction.
    TransactionId(String => str): json!({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"});
}

values! {
    /// Why no output is named.
    NoChangeReason {
        Coinbase = "coinbase", SingleOutput = "single_output", CoinJoin = "coinjoin", Batch = "batch",
        NoConsensus = "no_consensus", AllOutputsToInputs = "all_outputs_to_inputs",
    }
    /// How sure an answer is.
    ChangeLevel { Medium = "medium", High = "high" }
    /// What a joint transaction is, or `whirlpool_tx0`: one that prepares it, and is made by one.
    CoinJoinType {
        Whirlpool = "whirlpool", WasabiOne = "wasabi1", WasabiTwo = "wasabi2", JoinMarket = "joinmarket", Unknown = "unknown",
        Premix = "whirlpool_tx0",
    }
}

/// `POST /v1/btc/change-address`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct BtcChangeAddressRequest {
    /// Transaction id: 64 hex digits.
    #[schema(example = "5a628dc9e55745580242d938fb8febb0add44b71ce659a303ccf9b229f73e50c")]
    txid: TransactionId,
}

/// Checked parameters of a search for change.
#[derive(Debug)]
pub struct BtcChangeAddressParams {
    hash: TxHash,
}

/// Which output of a transaction returned to the payer.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BtcChangeAddressReport {
    /// Transaction id.
    pub txid: TransactionId,
    /// Block number.
    pub block_number: Option<u64>,
    /// Time of the block, epoch seconds.
    pub timestamp: Option<Time>,
    /// The change; null where none is named.
    pub change: Option<ChangeOutput>,
    /// Why none is named; null where one is.
    pub reason: Option<NoChangeReason>,
    /// All outputs, in their order.
    pub outputs: Vec<JudgedOutput>,
    /// The rules that vote.
    pub heuristics: Vec<FiredHeuristic>,
    /// The rules that say nothing, and why.
    pub abstained: Vec<AbstainedHeuristic>,
    /// Whether several people made the transaction together.
    pub coinjoin: CoinJoinSign,
    /// Number of inputs; 0 of a coinbase.
    pub inputs_count: u64,
    /// Number of outputs.
    pub outputs_count: u64,
}

/// The output that returned to the payer.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ChangeOutput {
    /// Position.
    pub index: u64,
    /// Its address; null for scripts without one.
    pub address: Option<AddressText>,
    /// Whole coins.
    pub amount: DecimalText,
    /// Satoshis.
    pub amount_raw: RawAmountText,
    /// How probable it is, 0.8 to 1, four decimals.
    #[schema(minimum = 0.8, maximum = 1)]
    pub confidence: f64,
    /// `high` from 0.99 on, `medium` from 0.9 on, else null.
    pub level: Option<ChangeLevel>,
}

/// One output, and what the rules say of it.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct JudgedOutput {
    /// Position.
    pub index: u64,
    /// Its address; null for scripts without one.
    pub address: Option<AddressText>,
    /// Whole coins.
    pub amount: DecimalText,
    /// Satoshis.
    pub amount_raw: RawAmountText,
    /// `p2pk`, `p2pkh`, `p2sh`, `p2wpkh`, `p2wsh`, `p2tr`, `multisig`, `op_return` or `nonstandard`.
    pub script_type: ScriptName,
    /// Whether it is the output in `change`.
    pub is_change: bool,
    /// How probable it is that the output is the change, four decimals; 0 where the transaction is not judged.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// Codes of the rules that vote for it.
    pub heuristics: Vec<CodeText>,
}

/// A rule that votes.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct FiredHeuristic {
    /// The rule. Further rules may come: take it as an open text.
    pub code: CodeText,
    /// Positions of the outputs that it votes for: one, unless it says whose outputs are.
    pub indexes: Vec<u64>,
    /// What the vote counts for, in log-odds.
    pub weight: f64,
}

/// A rule that says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct AbstainedHeuristic {
    /// The rule.
    pub code: CodeText,
    /// `inputs_unknown`, `history_incomplete`, `unspent`, `property_unknown`, `other_form` or `clusters_unknown`.
    pub reason: CodeText,
}

/// Whether several people made a transaction together.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CoinJoinSign {
    /// Whether it has the shape of a CoinJoin.
    pub detected: bool,
    /// The protocol; null where nothing is recognised. With `whirlpool_tx0`, `detected` is false.
    #[serde(rename = "type")]
    pub kind: Option<CoinJoinType>,
    /// Whether the shape is too weak for `detected` and strong enough that the inputs link nobody: a CoinJoin of no known protocol,
    /// or a payout that looks like one.
    pub possible_coinjoin: bool,
    /// How much the shape tells, four decimals; 0 where nothing is recognised. Halved where inputs are unknown.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
}

/// Which output of a transaction returned to the payer.
pub struct BtcChangeAddress;

impl Analysis for BtcChangeAddress {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = BtcChangeAddressRequest;
    type Params = BtcChangeAddressParams;
    type Report = BtcChangeAddressReport;

    fn params(request: BtcChangeAddressRequest, _: &mut Checks<'_>) -> Result<BtcChangeAddressParams, Error> {
        let text = request.txid.trim();
        if text.len() != 64 {
            let why = format!(
                "expected the id of a Bitcoin transaction, 64 hex digits, got {} characters",
                text.chars().count()
            );
            return Err(refused(Reason::InvalidHash, "txid", text, &why));
        }
        let hash =
            TxHash::parse(Family::Utxo, text).map_err(|error| refused(Reason::InvalidHash, "txid", text, &error))?;
        Ok(BtcChangeAddressParams { hash })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &BtcChangeAddressParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<BtcChangeAddressReport, Error> {
        coverage::warn(ledger, Chain::BITCOIN, TimeWindow::ALL, warnings);
        let found = ledger.find_transaction(Chain::BITCOIN, &params.hash)?.ok_or_else(|| not_found(&params.hash))?;
        let gathered = Gathered::read_clustered(ledger, ledger.transaction(found)?, cancel)?;
        let gathered = gathered.ok_or_else(|| not_found(&params.hash))?;
        let case = gathered.case();
        warn_of_unknown_inputs(case.transaction.unknown_inputs(), case.transaction.inputs().len(), warnings);
        let judgement = judge(&case, RULES);
        Ok(report(gathered.transaction(), &judgement, CoinJoinSign::of(case.coinjoin, gathered.premix())))
    }
}

fn not_found(hash: &TxHash) -> Error {
    let text = hash.display(Family::Utxo);
    let message = format!("no transaction {text} is held of bitcoin");
    Error { field: Some("txid".to_owned()), value: Some(text), ..Error::new(ErrorKind::NotFound, message) }
}

fn warn_of_unknown_inputs(unknown: usize, inputs: usize, warnings: &mut Warnings) {
    if unknown > 0 {
        let message = format!(
            "{unknown} of {inputs} inputs spend outputs that are not held: rules that need them say nothing; load the \
             blocks before"
        );
        warnings.add("inputs_unknown", None, message);
    }
}

fn report(transaction: &Transaction, judgement: &Judgement, coinjoin: CoinJoinSign) -> BtcChangeAddressReport {
    let utxo = transaction.facts.utxo.as_ref();
    let (inputs, outputs) = utxo.map_or((0, &[][..]), |utxo| (utxo.inputs.len(), &utxo.outputs));
    let change = judgement.change.ok();
    let named = change.map(|change| change.output);
    BtcChangeAddressReport {
        txid: TransactionId(transaction.head.hash.display(Family::Utxo)),
        block_number: Some(transaction.head.block),
        timestamp: Some(Time(transaction.head.time.secs())),
        change: change.zip(named.and_then(|place| outputs.get(place))).map(|(change, output)| ChangeOutput {
            index: number(change.output),
            address: output.owner.map(AddressText::from),
            amount: whole(output.amount),
            amount_raw: RawAmountText(output.amount.to_string()),
            confidence: four_decimals(change.confidence),
            level: change.level().map(ChangeLevel::from),
        }),
        reason: judgement.change.err().map(NoChangeReason::from),
        outputs: outputs.iter().enumerate().map(|(place, output)| judged(place, output, judgement, named)).collect(),
        heuristics: judgement
            .votes
            .iter()
            .map(|vote| FiredHeuristic {
                code: code(vote.rule.name()),
                indexes: vote.outputs.iter().map(|place| number(*place)).collect(),
                weight: vote.rule.weight(),
            })
            .collect(),
        abstained: judgement
            .abstentions
            .iter()
            .map(|(rule, why)| AbstainedHeuristic { code: code(rule.name()), reason: code(why.name()) })
            .collect(),
        coinjoin,
        inputs_count: number(inputs),
        outputs_count: number(outputs.len()),
    }
}

fn judged(place: usize, output: &OutputFacts, judgement: &Judgement, named: Option<usize>) -> JudgedOutput {
    let votes = judgement.votes.iter().filter(|vote| vote.outputs.contains(&place));
    JudgedOutput {
        index: number(place),
        address: output.owner.map(AddressText::from),
        amount: whole(output.amount),
        amount_raw: RawAmountText(output.amount.to_string()),
        script_type: output.script.into(),
        is_change: named == Some(place),
        confidence: judgement.confidences.get(place).copied().map_or(0.0, four_decimals),
        heuristics: votes.map(|vote| code(vote.rule.name())).collect(),
    }
}

fn whole(satoshis: u64) -> DecimalText {
    DecimalText(Amount::from(satoshis).to_decimal(Chain::BITCOIN.native_decimals()))
}

fn number(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}

fn code(name: &str) -> CodeText {
    CodeText(name.to_owned())
}

fn four_decimals(confidence: f64) -> f64 {
    (confidence * 10_000.0).round() / 10_000.0
}

impl CoinJoinSign {
    fn of(coinjoin: Option<CoinJoin>, premix: Option<Premix>) -> Self {
        let of_premix = premix.map(|premix| (CoinJoinType::Premix, premix.confidence));
        let found = coinjoin.map(|found| (CoinJoinType::from(found.protocol), found.confidence)).or(of_premix);
        Self {
            detected: coinjoin.is_some_and(|found| found.is_detected()),
            possible_coinjoin: coinjoin.is_some_and(|found| found.links_nobody() && !found.is_detected()),
            kind: found.map(|(kind, _)| kind),
            confidence: found.map_or(0.0, |(_, confidence)| four_decimals(confidence)),
        }
    }
}

impl From<Protocol> for CoinJoinType {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Whirlpool => Self::Whirlpool,
            Protocol::WasabiOne => Self::WasabiOne,
            Protocol::WasabiTwo => Self::WasabiTwo,
            Protocol::JoinMarket => Self::JoinMarket,
            Protocol::Unknown => Self::Unknown,
        }
    }
}

impl From<NoChange> for NoChangeReason {
    fn from(reason: NoChange) -> Self {
        match reason {
            NoChange::Coinbase => Self::Coinbase,
            NoChange::SingleOutput => Self::SingleOutput,
            NoChange::CoinJoin => Self::CoinJoin,
            NoChange::AllOutputsToInputs => Self::AllOutputsToInputs,
            NoChange::Batch => Self::Batch,
            NoChange::NoConsensus => Self::NoConsensus,
        }
    }
}

impl From<Level> for ChangeLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Medium => Self::Medium,
            Level::High => Self::High,
        }
    }
}
