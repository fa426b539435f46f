//! The demo as a list of valued transfers by address.

use std::collections::HashMap;
use std::sync::LazyLock;

use headwater_ledger::facts::{MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_simulate::Economy;
use headwater_simulate::truth::{PlantedBehaviour, Role};
use headwater_types::{Address, Amount, Asset, Chain, TxHash};

pub(crate) const HOUR: i64 = 3_600;
pub(crate) const DAY: i64 = 24 * HOUR;

/// One movement of value. On bitcoin an input is a transfer to nobody and an output one from nobody, net of change.
#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "what the rules of further behaviours need")]
pub(crate) struct Transfer {
    pub(crate) time: i64,
    /// Block, position in it and place in the transaction: the order of the chain.
    pub(crate) place: (u64, u32, usize),
    pub(crate) hash: TxHash,
    /// The sender of the transaction.
    pub(crate) sender: Option<Address>,
    pub(crate) from: Option<Address>,
    pub(crate) to: Option<Address>,
    pub(crate) asset: Asset,
    pub(crate) amount: Amount,
    /// The value; nothing for what has no price.
    pub(crate) usd: f64,
    pub(crate) gas_price: Option<Amount>,
}

pub(crate) struct Facts {
    pub(crate) economy: &'static Economy,
    by_address: HashMap<(Chain, Address), Vec<Transfer>>,
    pub(crate) by_hash: HashMap<(Chain, TxHash), Vec<Transfer>>,
    times: HashMap<(Chain, TxHash), i64>,
    roles: HashMap<(Chain, Address), Role>,
}

static DEMO: LazyLock<Facts> = LazyLock::new(|| Facts::new(crate::demo(1)));

impl Facts {
    pub(crate) fn demo() -> &'static Self {
        &DEMO
    }

    fn new(economy: &'static Economy) -> Self {
        let prices: HashMap<_, _> =
            economy.truth.prices.iter().map(|price| ((&*price.symbol, price.time_secs), price.usd_micros)).collect();
        let mut symbols: HashMap<(Chain, Asset), (String, u8)> = HashMap::new();
        for chain in Chain::all() {
            symbols.insert((chain, Asset::Native), (chain.native_symbol().to_lowercase(), chain.native_decimals()));
        }
        for token in &economy.tokens {
            let key = (token.chain, Asset::Token(token.contract));
            symbols.insert(key, (token.symbol.to_lowercase(), token.decimals));
        }
        let usd = |chain: Chain, asset: Asset, amount: Amount, time: i64| {
            let Some((symbol, decimals)) = symbols.get(&(chain, asset)) else { return 0.0 };
            let day = time.div_euclid(DAY) * DAY;
            let micros = prices.get(&(&**symbol, day.unsigned_abs())).copied().unwrap_or(0);
            amount.to_f64(*decimals) * f64::from(u32::try_from(micros / 100).unwrap_or(u32::MAX)) / 1e4
        };
        let mut by_address: HashMap<(Chain, Address), Vec<Transfer>> = HashMap::new();
        let mut by_hash: HashMap<(Chain, TxHash), Vec<Transfer>> = HashMap::new();
        let mut times = HashMap::new();
        for batch in &economy.batches {
            for facts in &batch.transactions {
                let time = facts.time.unwrap().secs();
                times.insert((batch.chain, facts.hash), time);
                for (at, (from, to, asset, amount)) in moves(facts).into_iter().enumerate() {
                    let transfer = Transfer {
                        time,
                        place: (facts.block, facts.index.unwrap_or(u32::MAX), at),
                        hash: facts.hash,
                        sender: facts.body.as_ref().and_then(|body| body.from),
                        from,
                        to,
                        asset,
                        amount,
                        usd: usd(batch.chain, asset, amount, time),
                        gas_price: facts.effective_gas_price,
                    };
                    by_hash.entry((batch.chain, facts.hash)).or_default().push(transfer);
                    let mut parties = [from, to].to_vec();
                    parties.dedup();
                    for address in parties.into_iter().flatten() {
                        by_address.entry((batch.chain, address)).or_default().push(transfer);
                    }
                }
            }
        }
        for transfers in by_address.values_mut() {
            transfers.sort_by_key(|transfer| transfer.place);
        }
        let roles = economy.truth.addresses.iter().map(|row| ((row.chain, row.address), row.role)).collect();
        Self { economy, by_address, by_hash, times, roles }
    }

    /// All transfers of an address, in the order of the chain.
    pub(crate) fn of(&self, chain: Chain, address: Address) -> &[Transfer] {
        self.by_address.get(&(chain, address)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn role(&self, chain: Chain, address: Address) -> Option<Role> {
        self.roles.get(&(chain, address)).copied()
    }

    /// Time of a transaction, which must exist.
    pub(crate) fn time_of(&self, chain: Chain, hash: &TxHash) -> i64 {
        *self.times.get(&(chain, *hash)).unwrap_or_else(|| panic!("{chain} has no transaction {hash:?}"))
    }

    /// The time between the first and the last transaction of the evidence, both included.
    pub(crate) fn span(&self, planted: &PlantedBehaviour) -> (i64, i64) {
        let (first, last) = (&planted.evidence.first, &planted.evidence.last);
        (self.time_of(planted.chain, first), self.time_of(planted.chain, last))
    }

    /// Transfers that come in from others and go out to others in a span, valued ones only.
    pub(crate) fn flows(&self, planted: &PlantedBehaviour, span: (i64, i64)) -> (Vec<Transfer>, Vec<Transfer>) {
        let own = planted.address;
        let within = self.of(planted.chain, own).iter().filter(|transfer| {
            (span.0..=span.1).contains(&transfer.time) && transfer.from != transfer.to && transfer.usd > 0.0
        });
        within.copied().partition(|transfer| transfer.to == Some(own))
    }
}

type Move = (Option<Address>, Option<Address>, Asset, Amount);

fn moves(facts: &TransactionFacts) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    if facts.status == Some(Status::Success)
        && let Some(body) = &facts.body
    {
        moves.push((body.from, body.to.or(facts.created), Asset::Native, body.value));
    }
    for movement in facts.movements.iter().filter(|movement| movement.kind != MovementFact::NonFungible) {
        moves.push((movement.from, movement.to, movement.asset, movement.amount));
    }
    if let Some(utxo) = &facts.utxo {
        for spent in utxo.inputs.iter().filter_map(|input| input.spent.as_ref()) {
            moves.push((spent.owner, None, Asset::Native, spent.amount.into()));
        }
        for output in &utxo.outputs {
            moves.push((None, output.owner, Asset::Native, output.amount.into()));
        }
    }
    moves
}
