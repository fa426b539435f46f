//! The holders of one asset that count: who is left out of rankings and measures, and what all of them hold.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use headwater_ledger::holders::{HolderRanking, Holders};
use headwater_ledger::read::AccountRef;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};
use serde::Serialize;

use crate::asset_book::{AssetBook, AssetView};
use crate::coverage::is_held;
use crate::fields::{AddressText, CodeText, RawAmountText};
use crate::overflow;
use crate::rebasing;
use crate::request::{Checks, Warnings, refused};
use crate::{Error, ErrorKind, Reason};

/// Symbols of the coins that count as a dollar each.
const STABLECOINS: [&str; 3] = ["usdt", "usdc", "dai"];

/// The transaction of Bitcoin's first block: its 50 coins can never be spent.
const GENESIS_COINBASE: &str = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
const GENESIS_OWNER: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const GENESIS_SATOSHI: u64 = 5_000_000_000;

/// Past this part of the supply, mints less burns and the sum of balances do not agree: one in ten thousand.
const SUPPLY_TOLERANCE: u64 = 10_000;

/// A balance that is neither ranked nor measured.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ExcludedHolder {
    /// Whose it is.
    pub address: AddressText,
    /// How much of it, in the smallest unit; null where its sums pass 256 bits.
    pub balance_raw: Option<RawAmountText>,
    /// `zero_address`, `burn_address`, `token_contract`, or `genesis_coinbase` (Bitcoin's first 50 coins).
    pub reason: CodeText,
}

/// Whose balance, or what part of it, does not count.
struct Exclusion {
    address: Address,
    balance: Amount,
    excluded: Amount,
    reason: &'static str,
    /// Whether sums passed 256 bits, so that neither amount is known.
    passed: bool,
}

/// The holders of one asset.
pub(crate) struct Holdings<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    pub asset: AssetView,
    holders: Holders<'a>,
    exclusions: Vec<Exclusion>,
    /// What exists: the sum of positive balances, what was sent to the zero address left out; `None` where sums pass
    /// 256 bits.
    pub supply: Option<Amount>,
    /// The part of it that can move.
    pub circulating: Option<Amount>,
    /// Whether balances are so large that sums of them may pass 256 bits: each that is shown is looked at then.
    is_huge: bool,
    /// Holders that count.
    pub count: u64,
}

/// What is done with each holder in turn; breaking ends the visit.
pub(crate) type VisitHolder<'v> = &'v mut dyn FnMut(Holder, Amount) -> Result<ControlFlow<()>, Error>;

/// Who holds: the address is looked up only where it is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder {
    Account(AccountRef),
    Address(Address),
}

/// Returns whether an asset is one of the coins that count as a dollar each.
pub(crate) fn is_stablecoin(asset: &AssetView) -> bool {
    asset.verified && asset.symbol.as_deref().is_some_and(|symbol| STABLECOINS.contains(&symbol))
}

/// The asset that a request about one token names: by contract, on Bitcoin by leaving it out.
pub(crate) fn asset_of(checks: &mut Checks<'_>, chain: Chain, contract: Option<&str>) -> Result<Asset, Error> {
    match (chain.family(), contract.map(str::trim).filter(|contract| !contract.is_empty())) {
        (Family::Utxo, None) => Ok(Asset::Native),
        (Family::Utxo, Some(contract)) => {
            let message = format!("contract: {chain} has no tokens: leave contract out, got {contract:?}");
            Err(Error {
                value: Some(contract.to_owned()),
                ..Error::invalid(Reason::InvalidContract, "contract", message)
            })
        }
        (Family::Evm | Family::Tron, None) => {
            let message = "contract is required: the address of the token, or `native` for the coin of the chain";
            Err(Error::invalid(Reason::MissingField, "contract", message))
        }
        (Family::Evm | Family::Tron, Some(text)) => {
            let asset = checks.asset(chain, "contract", text)?;
            if let Asset::Token(contract) = &asset {
                check_known(checks.ledger, chain, contract)?;
            }
            Ok(asset)
        }
    }
}

/// Refuses a contract that nothing names: zeros would read as a token that nobody holds. A chain without data is refused as
/// such by the call.
fn check_known(ledger: &dyn Ledger, chain: Chain, contract: &Address) -> Result<(), Error> {
    let is_listed = ledger.registry().entry(chain, &Asset::Token(*contract)).is_some();
    if is_listed || !is_held(ledger, chain) || ledger.has_token(chain, contract)? {
        return Ok(());
    }
    let coverage = ledger.coverage().get(&chain);
    let blocks = match coverage.and_then(|coverage| coverage.first_block.zip(coverage.last_block)) {
        Some((first, last)) => format!("blocks {first} to {last} are held"),
        None => "no block is held".to_owned(),
    };
    let why = format!("no row and no registry names {contract} on {chain}; {blocks}");
    Err(refused(Reason::UnknownContract, "contract", &contract.to_string(), &why))
}

impl<'a> Holdings<'a> {
    pub fn new(
        ledger: &'a dyn Ledger,
        chain: Chain,
        asset: Asset,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let mut book = AssetBook::within(ledger, chain, cancel);
        let number = book.of_asset(asset)?;
        let view = book.view(number).clone();
        if book.rebases(number)? {
            rebasing::warn(view.name(), "holders", warnings);
        }
        let holders = ledger.holders(chain, &asset)?.ok_or_else(|| {
            let message =
                format!("no table of the holders on {chain} is built: run `headwater compact`, then ask again");
            Error::new(ErrorKind::Storage, message)
        })?;
        let mut exclusions = Vec::new();
        let mut zero = None;
        for (address, reason) in unspendable(chain, &asset) {
            let Some(account) = ledger.account(chain, &address)? else { continue };
            let held = ledger.holdings(&account)?;
            let Some(held) = held.iter().find(|held| held.asset == asset) else { continue };
            if address.is_zero() {
                zero = Some(held.balance);
            }
            let balance = held.balance.shown();
            if !balance.is_zero() {
                let passed = overflow::passed(ledger, &account, held, cancel)?;
                exclusions.push(Exclusion { address, balance, excluded: balance, reason, passed });
            }
        }
        exclusions.extend(genesis(ledger, chain)?);
        let burnt = exclusions.iter().find(|exclusion| exclusion.address.is_zero());
        let largest = holders.first(1)?.first().copied().filter(|(_, balance)| balance.to_u128().is_none());
        let is_huge = largest.is_some() || holders.total().is_none();
        let is_known = !exclusions.iter().any(|one| one.passed)
            && largest.map_or(Ok(true), |(largest, _)| {
                has_passed(ledger, (chain, &asset), &ledger.address(largest)?, cancel).map(|passed| !passed)
            })?;
        let total = holders.total().filter(|_| is_known);
        let without = |left: Amount, part: Amount| left.checked_sub(part).unwrap_or(left);
        let supply = total.map(|total| burnt.map_or(total, |burnt| without(total, burnt.excluded)));
        let kept = |left: Amount, exclusion: &Exclusion| without(left, exclusion.excluded);
        let circulating =
            supply.map(|supply| exclusions.iter().filter(|one| !one.address.is_zero()).fold(supply, kept));
        let whole = exclusions.iter().filter(|one| one.excluded == one.balance).count();
        let count = holders.count() - u64::try_from(whole).expect("a count fits");

        let in_debt = holders.negative() - u64::from(zero.is_some_and(|zero| zero.is_negative()));
        // A list of holders that a history begins with tells no mints.
        let told = zero.filter(|_| ledger.opening(chain, &asset).is_none());
        let minted = told.map(|zero| zero.sent().checked_sub(zero.received()).unwrap_or(Amount::ZERO));
        match supply {
            Some(supply) => warn_of_gaps(&view, in_debt, minted, supply, warnings),
            None => overflow::warn(&view, "total_supply", warnings),
        }
        Ok(Self { ledger, chain, asset: view, holders, exclusions, supply, circulating, is_huge, count })
    }

    /// What a holder holds; `None` where sums of it pass 256 bits.
    pub fn known(&self, address: &Address, balance: Amount, cancel: &Cancel) -> Result<Option<Amount>, Error> {
        let passed = self.is_huge && has_passed(self.ledger, (self.chain, &self.asset.asset), address, cancel)?;
        Ok((!passed).then_some(balance))
    }

    /// What is left out, in order of balance.
    pub fn excluded(&self) -> Vec<ExcludedHolder> {
        let mut all: Vec<_> = self.exclusions.iter().collect();
        all.sort_by_key(|one| (Reverse(one.excluded), one.address.to_string()));
        let shown = |one: &Exclusion| ExcludedHolder {
            address: one.address.into(),
            balance_raw: (!one.passed).then(|| one.excluded.into()),
            reason: CodeText(one.reason.to_owned()),
        };
        all.into_iter().map(shown).collect()
    }

    /// An amount in whole units; `None` where it is not known, or decimals are not.
    pub fn units(&self, amount: Option<Amount>) -> Option<f64> {
        Some(amount?.to_f64(self.asset.decimals?))
    }

    /// The address of a holder.
    pub fn address(&self, holder: Holder) -> Result<Address, Error> {
        Ok(match holder {
            Holder::Account(account) => self.ledger.address(account)?,
            Holder::Address(address) => address,
        })
    }

    /// Shows the holders that count, largest first, then by address, from a rank on: 0 is that of the largest.
    pub fn visit_from(&self, rank: u64, cancel: &Cancel, visit: VisitHolder<'_>) -> Result<(), Error> {
        // What is left of a balance that counts in part stands further down.
        let mut moved: Vec<(Amount, Address)> = self
            .exclusions
            .iter()
            .filter_map(|one| {
                Some((one.balance.checked_sub(one.excluded).filter(|left| !left.is_zero())?, one.address))
            })
            .collect();
        moved.sort_by_key(|(left, address)| (*left, Reverse(*address)));
        // Among all holders the one of this rank stands no earlier than by as many as were put in front of it.
        let all_moved = moved.len() as u64;
        let first = rank.saturating_sub(all_moved);
        let Some((account, balance)) = self.row(first)? else { return Ok(()) };
        let start = (Reverse(balance), self.ledger.address(account)?);
        let is_before = |balance, address| (Reverse(balance), address) < start;
        let out = self.exclusions.iter().filter(|one| is_before(one.balance, one.address)).count() as u64;
        moved.retain(|(left, address)| !is_before(*left, *address));
        let mut skipped = rank - (first - out + all_moved - moved.len() as u64);
        let mut visit = |holder: Holder, balance: Amount| {
            if skipped > 0 {
                skipped -= 1;
                return Ok(ControlFlow::Continue(()));
            }
            visit(holder, balance)
        };
        let (mut failure, mut is_over) = (None, false);
        self.holders.visit_from(first, &mut |batch| {
            let shown = cancel.check().map_err(|error| LedgerError::from(error).into()).and_then(|()| {
                for (account, balance) in batch.rows() {
                    if self.show(account, balance, &mut moved, &mut visit)?.is_break() {
                        is_over = true;
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            });
            shown.unwrap_or_else(|error| {
                failure = Some(error);
                ControlFlow::Break(())
            })
        })?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        while let Some((left, address)) = moved.pop().filter(|_| !is_over) {
            is_over = visit(Holder::Address(address), left)?.is_break();
        }
        Ok(())
    }

    /// The holder of a rank among all, whether they count or not.
    fn row(&self, rank: u64) -> Result<Option<(AccountRef, Amount)>, Error> {
        let mut row = None;
        self.holders.visit_from(rank, &mut |batch| {
            row = batch.rows().next();
            ControlFlow::Break(())
        })?;
        Ok(row)
    }

    /// The balances of the holders that count, for measures over all of them.
    pub fn ranked(&self) -> Result<HolderRanking<'_>, Error> {
        let without: Vec<_> = self.exclusions.iter().map(|one| (one.balance, one.excluded)).collect();
        Ok(self.holders.ranked(&without)?)
    }

    fn show(
        &self,
        account: AccountRef,
        balance: Amount,
        moved: &mut Vec<(Amount, Address)>,
        visit: VisitHolder<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        // Who may be left out is told by the balance first: few addresses are looked up.
        if self.exclusions.iter().any(|one| one.balance == balance) {
            let address = self.ledger.address(account)?;
            if self.exclusions.iter().any(|one| one.address == address) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        while let Some((left, address)) = moved.last().copied() {
            if left < balance || (left == balance && self.ledger.address(account)? < address) {
                break;
            }
            moved.pop();
            if visit(Holder::Address(address), left)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        visit(Holder::Account(account), balance)
    }
}

/// Returns whether sums of what an address holds of an asset passed 256 bits.
fn has_passed(
    ledger: &dyn Ledger,
    (chain, asset): (Chain, &Asset),
    address: &Address,
    cancel: &Cancel,
) -> Result<bool, Error> {
    let Some(account) = ledger.account(chain, address)? else { return Ok(false) };
    let held = ledger.holdings(&account)?;
    let held = held.iter().find(|held| held.asset == *asset);
    held.map_or(Ok(false), |held| overflow::passed(ledger, &account, held, cancel))
}

fn warn_of_gaps(asset: &AssetView, in_debt: u64, minted: Option<Amount>, total: Amount, warnings: &mut Warnings) {
    let name = asset.name();
    if in_debt > 0 {
        let message = format!(
            "{in_debt} addresses sent more {name} than they received: history is incomplete, they are left out, and \
             percentages are of the sum of positive balances"
        );
        warnings.add("history_incomplete", Some("holders"), message);
        return;
    }
    let Some(minted) = minted.filter(|_| asset.contract.is_some()) else { return };
    let apart = minted.abs_diff(total);
    if apart.checked_mul(Amount::from(SUPPLY_TOLERANCE)).is_none_or(|apart| apart > total) {
        let message = format!(
            "{minted} were minted less what was burnt, but balances come to {total}: mints are missing, {name} was issued to \
             an owner that no source names, or it changes balances without transfers; percentages are of the sum of positive \
             balances"
        );
        warnings.add("supply_mismatch", Some("total_supply"), message);
    }
}

/// Addresses whose balances do not circulate.
fn unspendable(chain: Chain, asset: &Asset) -> Vec<(Address, &'static str)> {
    let named: &[(&str, &'static str)] = match chain.family() {
        Family::Evm => &[
            ("0x0000000000000000000000000000000000000000", "zero_address"),
            ("0x000000000000000000000000000000000000dead", "burn_address"),
            ("0x0000000000000000000000000000000000000001", "burn_address"),
        ],
        Family::Tron => &[
            ("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "zero_address"),
            ("TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy", "burn_address"),
        ],
        Family::Utxo => &[],
    };
    let parsed = |text| Address::parse(chain, text).expect("the addresses above are of their chains");
    let own = asset.contract().map(|contract| (*contract, "token_contract"));
    named.iter().map(|(text, reason)| (parsed(text), *reason)).chain(own).collect()
}

fn genesis(ledger: &dyn Ledger, chain: Chain) -> Result<Option<Exclusion>, Error> {
    if chain != Chain::BITCOIN {
        return Ok(None);
    }
    let hash = TxHash::parse(chain.family(), GENESIS_COINBASE).expect("the hash above has 64 digits");
    let address = Address::parse(chain, GENESIS_OWNER).expect("the address above is one of Bitcoin");
    if ledger.find_transaction(chain, &hash)?.is_none() {
        return Ok(None);
    }
    let Some(account) = ledger.account(chain, &address)? else { return Ok(None) };
    let held = ledger.holdings(&account)?;
    let Some(held) = held.iter().find(|held| held.asset == Asset::Native) else { return Ok(None) };
    let (balance, excluded) = (held.balance.shown(), Amount::from(GENESIS_SATOSHI));
    Ok((balance >= excluded).then_some(Exclusion {
        address,
        balance,
        excluded,
        reason: "genesis_coinbase",
        passed: false,
    }))
}
