//! One transaction with all that is known of it.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::bridges::legs;
use headwater_ledger::facts::{InputFacts, MovementFact, OutPoint, OutputFacts};
use headwater_ledger::read::{MovementKind, Ordinal, ScriptType, Transaction, TransactionHead};
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Amount, Asset, Chain, Family};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::Analysis;
use crate::asset_book::AssetBook;
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::TRANSACTION;
use crate::fields::{
    AddressText, BareHexText, BlockHashText, ChainName, ChainText, DecimalText, HashText, HexText, MethodId,
    RawAmountText, Time, TopicText, TransactionStatus, TransferType,
};
use crate::fields::{form, values};
use crate::labels::{self, AggregateLabel, Labels};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::rows::{RowParts, TransferRow, status_name};
use crate::transaction_places::Places;
use crate::valuation::{Output, Valuer};
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "transaction",
    path: "/v1/transaction/{hash}",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 0,
    tag: Tag::OnChain,
    summary: "Full detail of one transaction",
    description: "All movements, inputs and outputs, fee and logs, as far as the sources told them.",
    chains: ChainScope::NamedOrAny("blockchain"),
    reads: Reads::Movements,
    rows: Some("transfers"),
    first: &["from_address", "to_address", "amount", "symbol", "amount_usd", "transfer_type", "timestamp"],
    example: Example {
        request: || json!({"hash": TRANSACTION}),
        refused: Some(("hash", "0x12")),
        missing: Some(|| json!({"hash": format!("0x{}", "f".repeat(64))})),
    },
    calls: Calls::of::<TransactionDetail>(),
};

form! {
    /// Parts of a transaction that are left out unless named.
    TransactionParts(Vec<String> => [String], Default): json!({
        "type": "array", "items": {"type": "string", "enum": ["logs", "input", "labels"]}
    });
}

values! {
    /// The kind of an output script.
    ScriptName {
        P2pk = "p2pk", P2pkh = "p2pkh", P2sh = "p2sh", P2wpkh = "p2wpkh", P2wsh = "p2wsh", P2tr = "p2tr",
        Multisig = "multisig", OpReturn = "op_return", Nonstandard = "nonstandard",
    }
}

impl From<ScriptType> for ScriptName {
    fn from(script: ScriptType) -> Self {
        match script {
            ScriptType::P2pk => Self::P2pk,
            ScriptType::P2pkh => Self::P2pkh,
            ScriptType::P2sh => Self::P2sh,
            ScriptType::P2wpkh => Self::P2wpkh,
            ScriptType::P2wsh => Self::P2wsh,
            ScriptType::P2tr => Self::P2tr,
            ScriptType::Multisig => Self::Multisig,
            ScriptType::OpReturn => Self::OpReturn,
            ScriptType::Nonstandard => Self::Nonstandard,
        }
    }
}

/// `GET /v1/transaction/{hash}`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TransactionRequest {
    /// Hash: `0x` and 64 hex digits on EVM chains, 64 hex digits on Bitcoin and TRON. The other form is found too.
    hash: HashText,
    /// Chain; omitted: the chains that write hashes in this form, and where none has it the others.
    blockchain: Option<ChainText>,
    /// Comma list of `logs`, `input`, `labels`.
    include: Option<TransactionParts>,
}

/// Checked parameters of a transaction look-up.
#[derive(Debug)]
pub struct TransactionParams {
    places: Places,
    logs: bool,
    input: bool,
    labels: bool,
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransactionReport {
    /// Chain.
    pub blockchain: ChainName,
    /// Hash.
    pub tx_hash: HashText,
    /// Hash of the block; null where no source told it.
    pub block_hash: Option<BlockHashText>,
    /// Block number.
    pub block_number: u64,
    /// Time of the block, epoch seconds.
    pub timestamp: Time,
    /// Position in the block.
    pub tx_index: Option<u32>,
    /// Blocks from this one to the last one held, both counted.
    pub confirmations: u64,
    /// Whether it lies deeper than the chain's finality depth.
    pub finalized: bool,
    /// `success`, `failed` or `unknown`.
    pub status: TransactionStatus,
    /// Why it failed.
    pub failure_reason: Option<String>,
    /// Sender; null on Bitcoin.
    pub from_address: Option<AddressText>,
    /// Receiver; null on Bitcoin, and where a contract was created.
    pub to_address: Option<AddressText>,
    /// Native value of the top call; on Bitcoin the sum of outputs.
    pub amount: Option<DecimalText>,
    /// The same in the smallest unit.
    pub amount_raw: Option<RawAmountText>,
    /// The same in US dollars at that time.
    pub amount_usd: Option<f64>,
    /// Symbol of the native coin.
    pub symbol: String,
    /// Fee; null when it is not known.
    pub fee: Option<DecimalText>,
    /// The same in the smallest unit.
    pub fee_raw: Option<RawAmountText>,
    /// The same in US dollars at that time.
    pub fee_usd: Option<f64>,
    /// Symbol of the coin that fees are paid in.
    pub fee_symbol: String,
    /// Counter of the sender.
    pub nonce: Option<u64>,
    /// First four bytes of the call data.
    pub method_id: Option<MethodId>,
    /// Name of the method as the source gives it.
    pub method: Option<String>,
    /// Contract that was created.
    pub contract_created: Option<AddressText>,
    /// Gas; null when nothing is known of it.
    pub gas: Option<Gas>,
    /// All movements: the native value, internal ones, tokens; on Bitcoin the net change of every address.
    pub transfers: Vec<TransferRow>,
    /// Inputs; Bitcoin only.
    pub inputs: Option<Vec<Utxo>>,
    /// Outputs; Bitcoin only.
    pub outputs: Option<Vec<Utxo>>,
    /// Whether it mints the block reward; Bitcoin only.
    pub is_coinbase: Option<bool>,
    /// Labels by address of all who take part and have some, with `include=labels`.
    pub labels: Option<BTreeMap<String, AggregateLabel>>,
    /// Whether it is a leg of a transfer over a known bridge: `cross-chain` tells of the other.
    pub cross_chain: bool,
    /// Event logs, with `include=logs`.
    pub logs: Option<Vec<Log>>,
    /// Call data as hex, with `include=input`; null when no source gave it.
    pub input: Option<HexText>,
}

/// Gas, or on TRON energy and bandwidth. Every field is there, unknown ones as null: that tells the two apart.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Gas {
    /// EVM chains.
    #[schema(title = "EvmGas")]
    Evm {
        /// Gas used.
        #[schema(required = true)]
        used: Option<u64>,
        /// Gas it might use.
        #[schema(required = true)]
        limit: Option<u64>,
        /// Price paid per gas, in wei.
        #[schema(required = true)]
        price_raw: Option<RawAmountText>,
    },
    /// TRON.
    #[schema(title = "TronGas")]
    Tron {
        /// Energy used.
        #[schema(required = true)]
        energy_used: Option<u64>,
        /// Bandwidth used.
        #[schema(required = true)]
        bandwidth_used: Option<u64>,
    },
}

/// One input or output.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, utoipa::ToSchema)]
pub struct Utxo {
    /// Position.
    pub index: u64,
    /// Owner; null for scripts without one.
    pub address: Option<AddressText>,
    /// Whole coins; null where the previous output is not held.
    pub amount: Option<DecimalText>,
    /// Satoshis.
    pub amount_raw: Option<RawAmountText>,
    /// `p2pk`, `p2pkh`, `p2sh`, `p2wpkh`, `p2wsh`, `p2tr`, `multisig`, `op_return` or `nonstandard`.
    pub script_type: Option<ScriptName>,
    /// Transaction of the output that an input spends.
    pub prev_tx_hash: Option<HashText>,
    /// Position of the output that an input spends.
    pub prev_index: Option<u64>,
    /// Transaction that spends an output.
    pub spent_by_tx: Option<HashText>,
    /// Position of the input that spends an output.
    pub spent_by_index: Option<u64>,
    /// Pushed bytes of an `OP_RETURN`, as hex.
    pub op_return: Option<BareHexText>,
}

/// One event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Log {
    /// Index in the block.
    pub log_index: u64,
    /// Who emitted it.
    pub address: AddressText,
    /// Topics as hex.
    pub topics: Vec<TopicText>,
    /// Data as hex.
    pub data: HexText,
}

/// One transaction with all that is known of it.
pub struct TransactionDetail;

impl Analysis for TransactionDetail {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TransactionRequest;
    type Params = TransactionParams;
    type Report = TransactionReport;
    const IS_VALUED: bool = true;

    fn params(request: TransactionRequest, checks: &mut Checks<'_>) -> Result<TransactionParams, Error> {
        let places = Places::new(checks, ("hash", "blockchain"), &request.hash, request.blockchain.as_ref())?;
        let mut params = TransactionParams { places, logs: false, input: false, labels: false };
        for (index, part) in request.include.unwrap_or_default().iter().enumerate() {
            match part.to_ascii_lowercase().as_str() {
                "logs" => params.logs = true,
                "input" => params.input = true,
                "labels" => params.labels = true,
                _ => {
                    let why = format!("expected logs, input or labels, got {part:?}");
                    return Err(refused(Reason::InvalidValue, &format!("include[{index}]"), part, &why));
                }
            }
        }
        Ok(params)
    }

    fn report(
        ledger: &dyn Ledger,
        params: &TransactionParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TransactionReport, Error> {
        let transaction = ledger.transaction(params.places.find(ledger)?)?;
        if params.labels {
            labels::warn(ledger, warnings);
        }
        let TransactionHead { chain, time, .. } = transaction.head;
        let mut end = CorePricesEnd::new(ledger);
        end.note(chain.native_symbol(), time);
        end.warn(warnings);
        Detail::new(ledger, &transaction, cancel)?.report(params, cancel)
    }
}

struct Detail<'a> {
    ledger: &'a dyn Ledger,
    transaction: &'a Transaction,
    book: AssetBook<'a>,
    valuer: Valuer,
    native: usize,
}

impl<'a> Detail<'a> {
    fn new(ledger: &'a dyn Ledger, transaction: &'a Transaction, cancel: &Cancel) -> Result<Self, Error> {
        let mut book = AssetBook::within(ledger, transaction.head.chain, cancel);
        let native = book.of_asset(Asset::Native)?;
        Ok(Self { ledger, transaction, book, valuer: Valuer::new(ledger), native })
    }

    fn report(mut self, params: &TransactionParams, cancel: &Cancel) -> Result<TransactionReport, Error> {
        let transfers = self.transfers()?;
        let TransactionHead { chain, hash, block, time, index } = self.transaction.head;
        let facts = &self.transaction.facts;
        let utxo = facts.utxo.as_ref();
        let head = self.ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block).unwrap_or(block);
        let depth = head.saturating_sub(block);
        let value = match utxo {
            Some(utxo) => Some(Amount::from_u128(utxo.outputs.iter().map(|output| u128::from(output.amount)).sum())),
            None => facts.body.map(|body| body.value),
        };
        let native = self.book.view(self.native);
        let text = |amount: Amount| amount.to_decimal(chain.native_decimals());
        let usd = |amount: Amount| self.valuer.usd(native, amount, time);
        let fee = self.transaction.fee;
        let method_id = facts.method_id.or_else(|| facts.input.as_ref()?.first_chunk::<4>().copied());
        Ok(TransactionReport {
            blockchain: chain.into(),
            tx_hash: HashText(hash.display(chain.family())),
            block_hash: self.transaction.block_hash.map(|hash| hash.display(chain.family())).map(BlockHashText),
            block_number: block,
            timestamp: Time(time.secs()),
            tx_index: index,
            confirmations: depth + 1,
            finalized: depth >= u64::from(chain.finality_depth()),
            status: status_name(if utxo.is_some() { MovementKind::Utxo } else { MovementKind::Native }, facts.status),
            failure_reason: facts.failure_reason.clone(),
            from_address: facts.body.and_then(|body| body.from).map(|address| address.to_string()).map(AddressText),
            to_address: facts.body.and_then(|body| body.to).map(|address| address.to_string()).map(AddressText),
            amount: value.map(text).map(DecimalText),
            amount_raw: value.map(|value| value.to_string()).map(RawAmountText),
            amount_usd: value.and_then(usd),
            symbol: chain.native_symbol().to_owned(),
            fee: fee.map(text).map(DecimalText),
            fee_raw: fee.map(|fee| fee.to_string()).map(RawAmountText),
            fee_usd: fee.and_then(usd),
            fee_symbol: chain.native_symbol().to_owned(),
            nonce: facts.nonce,
            method_id: method_id.map(|bytes| hex(&bytes)).map(MethodId),
            method: facts.method.clone(),
            contract_created: facts.created.map(|address| address.to_string()).map(AddressText),
            gas: self.gas(),
            transfers,
            inputs: utxo.map(|utxo| numbered(&utxo.inputs, Self::input)),
            outputs: match utxo {
                Some(utxo) => Some(self.outputs(&utxo.outputs)?),
                None => None,
            },
            is_coinbase: utxo.map(|utxo| utxo.coinbase),
            labels: params.labels.then(|| self.labels(cancel)).transpose()?,
            cross_chain: !legs(chain, time, facts).is_empty(),
            logs: params.logs.then(|| self.logs()),
            input: facts.input.as_deref().filter(|_| params.input).map(hex).map(HexText),
        })
    }

    /// The labels of senders, receivers and emitters of logs.
    fn labels(&self, cancel: &Cancel) -> Result<BTreeMap<String, AggregateLabel>, Error> {
        let facts = &self.transaction.facts;
        let top = facts.body.iter().flat_map(|body| [body.from, body.to]).chain([facts.created]);
        let moved = facts.movements.iter().flat_map(|movement| [movement.from, movement.to]);
        let emitters = self.transaction.logs().iter().map(|log| Some(log.address));
        let spent = facts.utxo.iter().flat_map(|utxo| utxo.inputs.iter().filter_map(|input| input.spent.as_ref()));
        let outputs = facts.utxo.iter().flat_map(|utxo| &utxo.outputs).chain(spent).map(|output| output.owner);
        let all: BTreeSet<Address> = top.chain(moved).chain(emitters).chain(outputs).flatten().collect();
        let labels = Labels::present(self.ledger, self.transaction.head.chain);
        let mut found = BTreeMap::new();
        for address in all {
            if let Some(label) = labels.shown(&address, cancel)? {
                found.insert(address.to_string(), label);
            }
        }
        Ok(found)
    }

    fn gas(&self) -> Option<Gas> {
        let facts = &self.transaction.facts;
        let (used, limit) = (facts.gas_used, facts.gas_limit);
        match self.transaction.head.chain.family() {
            Family::Evm => {
                let price = facts.effective_gas_price.or(facts.gas_price);
                let known = used.is_some() || limit.is_some() || price.is_some();
                known.then(|| Gas::Evm {
                    used,
                    limit,
                    price_raw: price.map(|price| price.to_string()).map(RawAmountText),
                })
            }
            Family::Tron => used.map(|used| Gas::Tron { energy_used: Some(used), bandwidth_used: None }),
            Family::Utxo => None,
        }
    }

    fn logs(&self) -> Vec<Log> {
        let log = |log: &headwater_ledger::facts::LogFacts| Log {
            log_index: log.index,
            address: AddressText(log.address.to_string()),
            topics: log.topics.iter().map(|topic| TopicText(hex(topic))).collect(),
            data: HexText(hex(&log.data)),
        };
        self.transaction.logs().iter().map(log).collect()
    }

    fn transfers(&mut self) -> Result<Vec<TransferRow>, Error> {
        let facts = &self.transaction.facts;
        if let Some(utxo) = &facts.utxo {
            return self.net_changes(utxo.coinbase);
        }
        let mut rows = Vec::new();
        if let Some(body) = facts.body {
            let to = body.to.or(facts.created);
            let creates = body.to.is_none() && facts.created.is_some();
            rows.push(self.row(
                MovementKind::Native,
                Ordinal::Indexed(0),
                (body.from, to),
                self.native,
                body.value,
                creates,
            )?);
        }
        let mut movements = Vec::with_capacity(facts.movements.len());
        for movement in &facts.movements {
            let kind = match movement.kind {
                MovementFact::Internal => MovementKind::Internal,
                MovementFact::Token => MovementKind::Token,
                MovementFact::NonFungible | MovementFact::Opening => continue,
            };
            movements.push((kind, movement.ordinal, movement));
        }
        movements.sort_by_key(|(kind, ordinal, _)| (*kind, *ordinal));
        for (kind, ordinal, movement) in movements {
            let asset = self.book.of_asset(movement.asset)?;
            rows.push(self.row(kind, ordinal, (movement.from, movement.to), asset, movement.amount, false)?);
        }
        Ok(rows)
    }

    fn row(
        &self,
        kind: MovementKind,
        ordinal: Ordinal,
        (from, to): (Option<Address>, Option<Address>),
        asset: usize,
        amount: Amount,
        creates_contract: bool,
    ) -> Result<TransferRow, Error> {
        let rebases = self.book.rebases(asset)?;
        let asset = self.book.view(asset);
        let status = self.transaction.facts.status;
        let head = self.transaction.head;
        let approximate = self.transaction.is_approximate(kind, ordinal);
        let parts = RowParts {
            head,
            kind,
            ordinal,
            from,
            to,
            asset,
            amount,
            status,
            creates_contract,
            approximate,
            rebases,
            seen: None,
        };
        Ok(parts.row(&self.valuer, &Output::Own))
    }

    /// One row per address: what it lost, or what it gained.
    fn net_changes(&self, coinbase: bool) -> Result<Vec<TransferRow>, Error> {
        let attribution = Attribution::of_transaction(self.transaction);
        let rows = numbered(attribution.changes(), |index, change| {
            let sides = match (change.net_in(), change.net_out()) {
                (0, 0) => (Some(change.address), Some(change.address)),
                (0, _) => (None, Some(change.address)),
                _ => (Some(change.address), None),
            };
            let amount = Amount::from_u128(change.net_in().max(change.net_out()));
            let mut row = self.row(MovementKind::Utxo, Ordinal::Indexed(index), sides, self.native, amount, false)?;
            if coinbase {
                row.transfer_type = TransferType::Coinbase;
            }
            Ok(row)
        });
        rows.into_iter().collect()
    }

    fn input(index: u64, input: &InputFacts) -> Utxo {
        let known = (!input.previous.is_unknown()).then_some(input.previous);
        Utxo {
            prev_tx_hash: known.map(|previous| previous.hash.display(Family::Utxo)).map(HashText),
            prev_index: known.map(|previous| u64::from(previous.index)),
            ..input.spent.as_ref().map_or(Utxo { index, ..Utxo::default() }, |spent| Utxo::owned(index, spent))
        }
    }

    fn outputs(&self, outputs: &[OutputFacts]) -> Result<Vec<Utxo>, Error> {
        let head = &self.transaction.head;
        let mut utxos = Vec::with_capacity(outputs.len());
        for (index, output) in (0_u32..).zip(outputs) {
            let spender = self.ledger.spender(head.chain, &OutPoint { hash: head.hash, index })?;
            utxos.push(Utxo {
                spent_by_tx: spender.map(|(hash, _)| hash.display(Family::Utxo)).map(HashText),
                spent_by_index: spender.map(|(_, input)| u64::from(input)),
                op_return: output.data.as_deref().map(|data| hex(data)[2..].to_owned()).map(BareHexText),
                ..Utxo::owned(u64::from(index), output)
            });
        }
        Ok(utxos)
    }
}

impl Utxo {
    fn owned(index: u64, output: &OutputFacts) -> Self {
        let amount = Amount::from(output.amount);
        Self {
            index,
            address: output.owner.map(|owner| owner.to_string()).map(AddressText),
            amount: Some(DecimalText(amount.to_decimal(Chain::BITCOIN.native_decimals()))),
            amount_raw: Some(RawAmountText(amount.to_string())),
            script_type: Some(output.script.into()),
            ..Self::default()
        }
    }
}

fn numbered<T, R>(items: &[T], make: impl Fn(u64, &T) -> R) -> Vec<R> {
    (0_u64..).zip(items).map(|(index, item)| make(index, item)).collect()
}

/// `0x` and lowercase hex digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to text cannot fail");
        text
    })
}
