//! One address at a glance: what it holds, what passed through it, when.

use std::collections::HashSet;
use std::mem::size_of;
use std::ops::ControlFlow;

use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::{Account, Direction, Holding, MovementKind, Scan, ScanOrder};
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::flow::{AssetTally, Group};
use headwater_types::{Address, Amount, Asset, Family, Timestamp, Usd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Error;
use crate::analysis::{Analysis, List};
use crate::asset_book::{AssetBook, AssetView};
use crate::clusters::{ClusterName, cluster_name};
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::{
    AddressText, AddressType, ChainName, ChainText, ContractList, DecimalText, HashText, OptIn, OutputAsset,
    RawAmountText, SymbolList, Time,
};
use crate::flows::{Others, Sums, movement};
use crate::labels::{AggregateLabel, Labels};
use crate::method::Method;
use crate::movement_reader::{Flow, MovementReader};
use crate::overflow;
use crate::purposes::{ASSETS, COUNTERPARTIES};
use crate::rebasing;
use crate::request::{Checks, Warnings};
use crate::scope::{Scope, ScopeFields, Verdict};
use crate::table::{Rows, TableHead};
use crate::unverified::{self, Hidden};
use crate::valuation::{Output, Valuer, amount_unit};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "wallet-overview",
    path: "/v1/wallet-overview",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Address overview",
    description: "Balances, counts, first and last activity.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("balances"),
    first: &[
        "symbol",
        "balance",
        "balance_usd",
        "received_amount",
        "sent_amount",
        "received_count",
        "sent_count",
        "first_activity",
        "last_activity",
    ],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": ALICE}), ("blockchain", "solana")),
    calls: Calls::list::<WalletOverview>(),
};

/// `POST /v1/wallet-overview`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct WalletOverviewRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The address asked about.
    #[schema(example = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")]
    address: AddressText,
    /// Only these symbols; omitted, empty or with `all`: every symbol. A symbol matches verified tokens only.
    symbols: Option<SymbolList>,
    /// Only these contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
    /// Unit of `received_amount` and `sent_amount`: null for own units, `usd`, or a registry symbol (converted at
    /// transfer time).
    output_asset: Option<OutputAsset>,
    /// Count tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
    /// Count movements of nothing; default false.
    include_zero_value: Option<OptIn>,
    /// Count failed transactions; default false.
    include_failed: Option<OptIn>,
}

/// Checked parameters of a wallet overview.
#[derive(Debug)]
pub struct WalletOverviewParams {
    scope: Scope,
    address: Address,
    output: Output,
}

/// One address at a glance. Counts and times are those of the rows that the transaction list shows.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct WalletOverviewReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The address, canonical.
    pub address: AddressText,
    /// `eoa`, `contract`, `utxo` or `unknown`.
    pub address_type: AddressType,
    /// Time of the first movement, epoch seconds.
    pub first_activity: Option<Time>,
    /// Time of the last movement, epoch seconds.
    pub last_activity: Option<Time>,
    /// Distinct transactions.
    pub tx_count: u64,
    /// Movements.
    pub transfer_count: u64,
    /// Distinct transactions that came in.
    pub received_count: u64,
    /// Distinct transactions that went out.
    pub sent_count: u64,
    /// Distinct senders.
    pub received_address_count: u64,
    /// Distinct receivers.
    pub sent_address_count: u64,
    /// Received at transfer time; null when nothing of it had a price.
    pub total_received_usd: Option<f64>,
    /// Sent at transfer time; null when nothing of it had a price.
    pub total_sent_usd: Option<f64>,
    /// Balances at the price of the last block held; null when none has a price.
    pub total_balance_usd: Option<f64>,
    /// Movements that the sums of received and sent do not hold.
    pub unpriced_count: u64,
    /// What it holds and held: by US dollars descending, unknown last.
    pub balances: Vec<AssetOverview>,
    /// What the address is known as; null where no list names it.
    pub label: Option<AggregateLabel>,
    /// Who first paid in.
    pub first_funder: Option<FirstFunder>,
    /// The cluster of a Bitcoin address; null on other chains, and where the address was never seen.
    pub cluster: Option<ClusterName>,
    /// The last block held; null when nothing is held of the chain.
    pub as_of: Option<AsOf>,
    /// Unit of `received_amount` and `sent_amount`: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
}

/// One asset of an address.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AssetOverview {
    /// Lowercase symbol; null when neither registry nor source names it.
    pub symbol: Option<String>,
    /// Contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// Decimals; null when unknown.
    #[schema(maximum = 255)]
    pub decimals: Option<u8>,
    /// Received less sent and fees, over all time; `0` where that is negative.
    pub balance: Option<DecimalText>,
    /// The same in the smallest unit; null where sums of the asset pass 256 bits.
    pub balance_raw: Option<RawAmountText>,
    /// Price at the last block held.
    pub price_usd: Option<f64>,
    /// The balance at that price.
    pub balance_usd: Option<f64>,
    /// Whether a registry vouches for it.
    pub verified: bool,
    /// Received, fees and transfers to itself left out; null where it is to be converted and nothing of it has a price.
    pub received_amount: Option<DecimalText>,
    /// Sent, fees and transfers to itself left out; null as `received_amount` is.
    pub sent_amount: Option<DecimalText>,
    /// Received at transfer time; null when nothing of it had a price.
    pub received_amount_usd: Option<f64>,
    /// Sent at transfer time; null when nothing of it had a price.
    pub sent_amount_usd: Option<f64>,
    /// Distinct transactions that came in.
    pub received_count: u64,
    /// Distinct transactions that went out.
    pub sent_count: u64,
    /// Time of the first movement, epoch seconds.
    pub first_activity: Option<Time>,
    /// Time of the last movement, epoch seconds.
    pub last_activity: Option<Time>,
}

/// Who first paid in.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct FirstFunder {
    /// The sender; of several on Bitcoin the one with the largest share.
    pub address: AddressText,
    /// The transaction.
    pub tx_hash: HashText,
    /// Its time, epoch seconds.
    pub timestamp: Time,
    /// What was paid.
    pub symbol: Option<String>,
    /// How much, in whole units.
    pub amount: Option<DecimalText>,
    /// US dollars at that time; null without a price.
    pub amount_usd: Option<f64>,
}

/// The last block held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AsOf {
    /// Its number.
    pub block_number: u64,
    /// Its time, epoch seconds.
    pub timestamp: Time,
}

/// One address at a glance.
pub struct WalletOverview;

impl Analysis for WalletOverview {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = WalletOverviewRequest;
    type Params = WalletOverviewParams;
    type Report = WalletOverviewReport;
    const IS_VALUED: bool = true;

    fn params(request: WalletOverviewRequest, checks: &mut Checks<'_>) -> Result<WalletOverviewParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let output = Output::new(checks, chain, request.output_asset.as_deref())?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            include_unverified: request.include_unverified,
            include_zero_value: request.include_zero_value,
            include_failed: request.include_failed,
            ..ScopeFields::default()
        };
        Ok(WalletOverviewParams { scope: Scope::new(checks, chain, fields)?, address, output })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &WalletOverviewParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<WalletOverviewReport, Error> {
        coverage::warn(ledger, params.scope.chain, params.scope.window, warnings);
        let chain = params.scope.chain;
        let account = ledger.account(chain, &params.address)?;
        let label = Labels::present(ledger, chain).shown(&params.address, cancel)?;
        let cluster = match &account {
            Some(account) => cluster_name(ledger, account, warnings, cancel)?,
            None => None,
        };
        let valuer = Valuer::new(ledger);
        let mut reader = MovementReader::new(ledger, &params.scope, params.address, cancel)?;
        let mut activity = Activity::new(cancel);
        let mut others = Others::new(ledger, params.address, cancel);
        params.gather(&mut reader, &valuer, &mut others, &mut activity, cancel)?;

        let head = ledger.coverage().get(&chain).and_then(|coverage| Some((coverage.last_block?, coverage.last_time?)));
        let holdings = match &account {
            Some(account) => ledger.holdings(account)?,
            None => Vec::new(),
        };
        let now = head.map(|(_, time)| time);
        let mut held = cancel.holding(ASSETS);
        held.reach(holdings.len() * (size_of::<Holding>() + size_of::<AssetOverview>() + TEXT_BYTES))?;
        held.keep();
        let balances =
            params.balances(&mut reader, (&valuer, now), &holdings, &mut activity.group, warnings, cancel)?;
        let mut end = CorePricesEnd::new(ledger);
        activity.group.by_asset.iter().for_each(|(asset, _)| end.note_asset(reader.book.view(*asset), now));
        end.warn(warnings);
        let priced: Vec<Usd> = balances.iter().filter_map(|balance| Usd::from_f64(balance.balance_usd?)).collect();
        let all = &activity.group.all;
        let count = |numbers: &HashSet<usize>| u64::try_from(numbers.len()).expect("a count fits");
        Ok(WalletOverviewReport {
            blockchain: chain.into(),
            address: AddressText(params.address.to_string()),
            address_type: address_type(chain.family(), account.as_ref(), activity.signs),
            first_activity: all.first.map(Time::from),
            last_activity: all.last.map(Time::from),
            tx_count: all.transactions,
            transfer_count: activity.rows,
            received_count: all.received.transactions,
            sent_count: all.sent.transactions,
            received_address_count: count(&activity.senders),
            sent_address_count: count(&activity.receivers),
            total_received_usd: all.received.known_usd().map(Usd::to_f64),
            total_sent_usd: all.sent.known_usd().map(Usd::to_f64),
            total_balance_usd: (balances.is_empty() || !priced.is_empty())
                .then(|| priced.into_iter().sum::<Usd>().to_f64()),
            unpriced_count: all.unpriced(),
            balances,
            label,
            first_funder: params.first_funder(&reader.book, &valuer, &others, activity.first_funding, ledger)?,
            cluster,
            as_of: head.map(|(block_number, time)| AsOf { block_number, timestamp: Time(time.secs()) }),
            amount_unit: amount_unit(ledger, params.scope.chain, params.scope.only_asset(), &params.output)?,
        })
    }
}

/// Bytes of the texts of an asset: its names and its amounts.
const TEXT_BYTES: usize = 256;

/// The sums over all movements.
struct Activity {
    group: Group,
    rows: u64,
    senders: HashSet<usize>,
    receivers: HashSet<usize>,
    /// Whether it signed a transaction, which contracts cannot.
    signs: bool,
    first_funding: Option<(Flow, usize)>,
    /// Whether the first who paid in cannot be told.
    funder_unknown: bool,
    held: Reservation,
}

impl Activity {
    fn new(cancel: &Cancel) -> Self {
        Self {
            group: Group::default(),
            rows: 0,
            senders: HashSet::new(),
            receivers: HashSet::new(),
            signs: false,
            first_funding: None,
            funder_unknown: false,
            held: cancel.holding(COUNTERPARTIES),
        }
    }

    /// Takes memory for so many more senders, receivers and assets.
    fn ask_for(&mut self, senders: usize, receivers: usize, assets: usize) -> Result<(), Error> {
        let (senders, receivers) = (self.senders.len() + senders, self.receivers.len() + receivers);
        let assets = self.group.by_asset.capacity() + 2 * assets;
        let sets = table_bytes::<usize>(senders) + table_bytes::<usize>(receivers);
        Ok(self.held.reach(sets + assets * Group::ASSET_BYTES)?)
    }

    /// Adds what was found in later blocks, with counterparties and assets by the numbers given.
    fn join(&mut self, later: Self, others: &[usize], assets: &[usize]) -> Result<(), Error> {
        self.ask_for(later.senders.len(), later.receivers.len(), assets.len())?;
        self.group.join(&later.group, |asset| assets[asset]);
        self.rows += later.rows;
        self.senders.extend(later.senders.into_iter().map(|other| others[other]));
        self.receivers.extend(later.receivers.into_iter().map(|other| others[other]));
        self.signs |= later.signs;
        if self.first_funding.is_none() && !self.funder_unknown {
            self.funder_unknown = later.funder_unknown;
            self.first_funding =
                later.first_funding.map(|(flow, other)| (Flow { asset: assets[flow.asset], ..flow }, others[other]));
        }
        Ok(())
    }
}

impl WalletOverviewParams {
    fn gather(
        &self,
        reader: &mut MovementReader<'_>,
        valuer: &Valuer,
        others: &mut Others<'_>,
        activity: &mut Activity,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let scan = self.activity_scan();
        let scans = reader.parts(&scan)?;
        if let [only] = &scans[..] {
            return self.gather_part(only, reader, (valuer, others), activity, cancel);
        }
        let ledger = reader.ledger;
        let part = |scan: &Scan| -> Result<_, Error> {
            let mut reader = MovementReader::new(ledger, &self.scope, self.address, cancel)?;
            let (mut others, mut activity) = (Others::new(ledger, self.address, cancel), Activity::new(cancel));
            self.gather_part(scan, &mut reader, (valuer, &mut others), &mut activity, cancel)?;
            Ok((activity, others.into_addresses(), reader.book.into_assets()))
        };
        let parts: Vec<_> = scans.par_iter().map(part).collect::<Result<_, Error>>()?;
        for (found, (addresses, _held), assets) in parts {
            let addresses: Vec<usize> =
                addresses.into_iter().map(|address| others.number(address)).collect::<Result<_, _>>()?;
            let assets = assets.into_iter().map(|asset| reader.book.of_asset(asset)).collect::<Result<Vec<_>, _>>()?;
            activity.join(found, &addresses, &assets)?;
        }
        Ok(())
    }

    /// Oldest first.
    fn activity_scan(&self) -> Scan {
        // Whether it signs shows in movements of the native coin, asked for or not.
        let mut scan = Scan { order: ScanOrder::OldestFirst, ..self.scope.scan() };
        scan.assets.iter_mut().for_each(|assets| assets.push(Asset::Native));
        scan
    }

    fn gather_part(
        &self,
        scan: &Scan,
        reader: &mut MovementReader<'_>,
        (valuer, others): (&Valuer, &mut Others<'_>),
        activity: &mut Activity,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        reader.visit(scan, cancel, &mut |book, flow, verdict| {
            let posting = &flow.posting;
            activity.signs |= posting.kind == MovementKind::Native && posting.direction != Direction::In;
            if verdict != Verdict::Shown {
                return Ok(ControlFlow::Continue(()));
            }
            activity.rows += 1;
            let asset = book.view(flow.asset);
            let Some(movement) = movement(valuer, &self.output, asset, &flow, posting.amount) else {
                activity.group.all.note(posting.transaction, posting.time);
                activity.group.asset(flow.asset).tally.note(posting.transaction, posting.time);
                return Ok(ControlFlow::Continue(()));
            };
            let mut sides = others.of(&flow)?;
            sides.retain(|(_, amount)| !self.scope.hides(*amount));
            activity.ask_for(sides.len(), sides.len(), 1)?;
            activity.group.add(flow.asset, &movement);
            let incoming = posting.direction == Direction::In;
            let known = if incoming { &mut activity.senders } else { &mut activity.receivers };
            known.extend(sides.iter().map(|(other, _)| *other));
            if incoming && activity.first_funding.is_none() && !activity.funder_unknown {
                // A later sender is not the first one.
                activity.funder_unknown = sides.is_empty() && others.unknown(&flow)?;
                let largest = sides
                    .iter()
                    .max_by_key(|(other, amount)| (*amount, std::cmp::Reverse(others.address(*other).to_string())));
                activity.first_funding = largest.map(|(other, _)| (flow, *other));
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn first_funder(
        &self,
        book: &AssetBook<'_>,
        valuer: &Valuer,
        others: &Others<'_>,
        funding: Option<(Flow, usize)>,
        ledger: &dyn Ledger,
    ) -> Result<Option<FirstFunder>, Error> {
        let Some((flow, other)) = funding else { return Ok(None) };
        let asset = book.view(flow.asset);
        let posting = &flow.posting;
        let head = ledger.transaction_head(posting.transaction)?;
        Ok(Some(FirstFunder {
            address: AddressText(others.address(other).to_string()),
            tx_hash: HashText(head.hash.display(self.scope.chain.family())),
            timestamp: Time(posting.time.secs()),
            symbol: asset.symbol.clone(),
            amount: asset.decimals.map(|decimals| posting.amount.to_decimal(decimals)).map(DecimalText),
            amount_usd: valuer.usd(asset, posting.amount, posting.time),
        }))
    }

    /// Every asset in scope that moved or is held.
    fn balances(
        &self,
        reader: &mut MovementReader<'_>,
        (valuer, now): (&Valuer, Option<Timestamp>),
        holdings: &[Holding],
        group: &mut Group,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Vec<AssetOverview>, Error> {
        let (ledger, account) = (reader.ledger, reader.account().cloned());
        let book = &mut reader.book;
        let (mut overviews, mut unverified) = (Vec::new(), 0);
        for holding in holdings {
            let asset = book.of_asset(holding.asset)?;
            let held = holding.balance.shown();
            let moved = group.by_asset.iter().any(|(number, _)| *number == asset);
            let sums = &holding.balance;
            let has_moved = !sums.received().is_zero() || !sums.sent().is_zero();
            unverified += u64::from(has_moved && self.scope.hides_asset(book.view(asset)));
            if !self.scope.has_asset(book.view(asset)) || (held.is_zero() && !moved) {
                continue;
            }
            if holding.balance.is_negative() {
                let name = book.view(asset).name();
                let message =
                    format!("more {name} went out than came in: history is incomplete, the balance is shown as 0");
                warnings.add("history_incomplete", Some("balances"), message);
            }
            if !held.is_zero() && book.rebases(asset)? {
                rebasing::warn(book.view(asset).name(), "balances", warnings);
            }
            let tally = *group.asset(asset);
            let passed = account.as_ref().map_or(Ok(false), |one| overflow::passed(ledger, one, holding, cancel))?;
            if passed || (tally.balance().is_none() && self.output.is_unit_of(book.view(asset))) {
                overflow::warn(book.view(asset), "balances", warnings);
            }
            overviews.push(self.overview(book.view(asset), (!passed).then_some(held), &tally, valuer, now));
        }
        unverified::warn(Hidden::Tokens(unverified), warnings);
        overviews.sort_by(|one, other| {
            let usd = |overview: &AssetOverview| overview.balance_usd.unwrap_or(-1.0);
            usd(other)
                .total_cmp(&usd(one))
                .then_with(|| (&one.symbol, &one.contract).cmp(&(&other.symbol, &other.contract)))
        });
        Ok(overviews)
    }

    fn overview(
        &self,
        view: &AssetView,
        held: Option<Amount>,
        sums: &AssetTally,
        valuer: &Valuer,
        now: Option<Timestamp>,
    ) -> AssetOverview {
        let price_usd = now.and_then(|now| valuer.price(view, now));
        let amounts = Sums::of_asset(&self.output, sums, view);
        let unvalued = amounts.unvalued;
        let known = held.zip(view.decimals);
        let tally = &sums.tally;
        AssetOverview {
            symbol: view.symbol.clone(),
            contract: view.contract.clone(),
            decimals: view.decimals,
            balance: known.map(|(held, decimals)| held.to_decimal(decimals)).map(DecimalText),
            balance_raw: held.map(|held| held.to_string()).map(RawAmountText),
            price_usd,
            balance_usd: known.zip(price_usd).map(|((held, decimals), price)| held.to_f64(decimals) * price),
            verified: view.verified,
            received_amount: amounts.received.filter(|_| !unvalued.received).map(DecimalText),
            sent_amount: amounts.sent.filter(|_| !unvalued.sent).map(DecimalText),
            received_amount_usd: tally.received.known_usd().map(Usd::to_f64),
            sent_amount_usd: tally.sent.known_usd().map(Usd::to_f64),
            received_count: tally.received.transactions,
            sent_count: tally.sent.transactions,
            first_activity: tally.first.map(Time::from),
            last_activity: tally.last.map(Time::from),
        }
    }
}

fn address_type(family: Family, account: Option<&Account>, signs: bool) -> AddressType {
    match (family, account) {
        (Family::Utxo, _) => AddressType::Utxo,
        (Family::Evm | Family::Tron, Some(account)) if account.is_contract => AddressType::Contract,
        (Family::Evm | Family::Tron, _) if signs => AddressType::Eoa,
        (Family::Evm | Family::Tron, _) => AddressType::Unknown,
    }
}

impl List for WalletOverview {
    type Row = AssetOverview;

    fn list(
        ledger: &dyn Ledger,
        params: &WalletOverviewParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(
            TableHead {
                as_of_block: report.as_of.map(|as_of| as_of.block_number),
                amount_unit: Some(report.amount_unit),
                ..TableHead::default()
            },
            warnings,
            report.balances,
        )
    }
}
