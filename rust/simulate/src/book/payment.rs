//! Payments of one wallet: which coins, which fee, where the change is.

use headwater_types::Address;

use super::Insufficient;
use super::habits::{ChangePlace, CoinHabit, FeeHabit, Habits, LockTimeHabit};
use super::lock::{Lock, Size, locking_script};
use super::purse::{Coin, CoinPosition};
use super::utxo::{BuiltTransaction, NewOutput, PaymentOutcome, Style, TakenCoin, UtxoBook};
use super::wallet::WalletId;
use crate::random::Stream;

/// Steps of a search for coins that need no change.
const SEARCH_STEPS: usize = 400;
/// Coins that such a search looks at.
const SEARCH_COINS: usize = 14;

/// Coins that cover a payment and its fee.
struct CoinSelection {
    coins: Vec<(CoinPosition, Coin)>,
    /// The rest for change; `None` when it goes to the miner.
    change: Option<u64>,
}

/// The amount that coins have to cover.
struct Bill<'a> {
    habits: &'a Habits,
    /// The outputs without change.
    outputs: Size,
    target: u64,
    /// Satoshis per 1000 virtual bytes.
    rate: u64,
    change_lock: Lock,
}

impl Bill<'_> {
    fn with(&self, size: Size, coin: &Coin) -> Size {
        let lock = coin.key.lock();
        size.input(lock, self.habits.max_signature_bytes(lock))
    }

    fn fee(&self, size: Size) -> u64 {
        self.habits.fee(size.fee(self.rate))
    }

    /// Returns what change must hold to be worth its output and the input that will spend it.
    fn min_change(&self) -> u64 {
        let spent = self.change_lock;
        let input = Size::default().input(spent, self.habits.max_signature_bytes(spent)).fee(self.rate);
        spent.dust().max(input) + 1
    }

    /// Returns what remains of these coins when there is no change, and when there is.
    fn rests(&self, size: Size, held: u64) -> (Option<u64>, Option<u64>) {
        let without = held.checked_sub(self.target + self.fee(size));
        let with = held.checked_sub(self.target + self.fee(size.locked(self.change_lock)));
        (without, with.filter(|&rest| rest >= self.min_change()))
    }
}

impl UtxoBook {
    /// Pays these outputs; the fee and the change follow from the wallet.
    pub(crate) fn pay(
        &mut self,
        now: i64,
        wallet: WalletId,
        to: &[(Address, u64)],
    ) -> Result<PaymentOutcome, Insufficient> {
        let outputs = to.iter().map(|&(address, satoshis)| NewOutput::to(address, satoshis)).collect();
        self.pay_out(now, wallet, outputs)
    }

    /// The same with outputs of any kind.
    pub(crate) fn pay_out(
        &mut self,
        now: i64,
        wallet: WalletId,
        outputs: Vec<NewOutput>,
    ) -> Result<PaymentOutcome, Insufficient> {
        self.advance(now);
        let owner = &self.wallets[wallet.0];
        let habits = owner.habits;
        let change_lock = match habits.address {
            super::habits::AddressHabit::OtherFormForChange(lock) => lock,
            _ => habits.lock,
        };
        let bill = Bill {
            habits: &habits,
            outputs: outputs.iter().fold(Size::default(), |size, out| out.sized(size)),
            target: outputs.iter().map(|out| out.satoshis).sum(),
            rate: habits.rate(self.rate(now)),
            change_lock,
        };
        let chosen = match habits.coins {
            CoinHabit::Changeless if outputs.len() <= 2 => changeless(owner, &bill).or_else(|| covering(owner, &bill)),
            _ => covering(owner, &bill),
        };
        let chosen = chosen.ok_or(Insufficient)?;
        let inputs = self.take_chosen(wallet, &chosen);
        let change = chosen.change.map(|satoshis| {
            let address = self.own(wallet);
            (NewOutput::to(address, satoshis), address)
        });
        Ok(self.write(wallet, inputs, outputs, change))
    }

    fn take_chosen(&mut self, wallet: WalletId, chosen: &CoinSelection) -> Vec<TakenCoin> {
        let purse = &mut self.wallets[wallet.0].purse;
        let taken = chosen.coins.iter().filter_map(|(place, _)| purse.take(*place));
        taken.map(|coin| TakenCoin { wallet, coin }).collect()
    }

    /// Writes a payment down as the wallet's software would.
    fn write(
        &mut self,
        wallet: WalletId,
        mut inputs: Vec<TakenCoin>,
        mut outputs: Vec<NewOutput>,
        change: Option<(NewOutput, Address)>,
    ) -> PaymentOutcome {
        let style = self.style(wallet);
        let habits = self.wallets[wallet.0].habits;
        let mut place = change.as_ref().map(|_| match habits.place {
            ChangePlace::First => 0,
            ChangePlace::Last | ChangePlace::Sorted => outputs.len(),
            ChangePlace::Anywhere => self.wallets[wallet.0].stream.index(outputs.len() + 1),
        });
        let change_address = change.as_ref().map(|(_, address)| *address);
        if let (Some((out, _)), Some(place)) = (change, place) {
            outputs.insert(place, out);
        }
        match habits.place {
            ChangePlace::Sorted => {
                inputs.sort_by_key(|held| {
                    let point = self.point(held.coin);
                    (point.hash, point.index)
                });
                let mut order: Vec<_> = (0..outputs.len()).collect();
                let script = |out: &NewOutput| out.address.as_ref().map(locking_script);
                order.sort_by_key(|&at| (outputs[at].satoshis, script(&outputs[at])));
                place = place.map(|place| order.iter().position(|&at| at == place).unwrap_or(place));
                outputs = order.iter().map(|&at| outputs[at].clone()).collect();
            }
            ChangePlace::Anywhere => shuffle(&mut inputs, &mut self.wallets[wallet.0].stream),
            ChangePlace::First | ChangePlace::Last => {}
        }
        let from = inputs.iter().map(|held| self.owner(held)).collect();
        let BuiltTransaction { hash, .. } = self.spend(&inputs, &outputs, style);
        let place = place.map(|place| u32::try_from(place).expect("a block has room for fewer than 2^32 outputs"));
        if let Some(place) = place {
            self.note_change(hash, place);
        }
        PaymentOutcome { hash, change: place.zip(change_address), from }
    }

    /// Returns how a wallet writes a transaction now.
    pub(super) fn style(&mut self, wallet: WalletId) -> Style {
        let newest = self.newest_block();
        let owner = &mut self.wallets[wallet.0];
        let lock_time = match owner.habits.lock_time {
            LockTimeHabit::Zero => 0,
            LockTimeHabit::NewestBlock if owner.stream.chance(0.1) => newest.saturating_sub(owner.stream.below(100)),
            LockTimeHabit::NewestBlock => newest,
        };
        Style {
            version: owner.habits.version,
            lock_time: u32::try_from(lock_time).expect("heights are below 500 000 000"),
            sequence: owner.habits.sequence,
        }
    }

    /// Brings up to `limit` coins of a wallet, those it likes least, together at an address: one output, no change.
    pub(crate) fn gather(
        &mut self,
        now: i64,
        wallet: WalletId,
        limit: usize,
        to: Address,
    ) -> Result<PaymentOutcome, Insufficient> {
        self.advance(now);
        let owner = &self.wallets[wallet.0];
        let coins: Vec<_> = match owner.habits.coins {
            CoinHabit::OldestFirst => owner.purse.liked().take(limit).collect(),
            CoinHabit::LargestFirst | CoinHabit::Changeless => owner.purse.liked().rev().take(limit).collect(),
        };
        let bill = Bill {
            habits: &owner.habits,
            outputs: Size::default().to(&to),
            target: 0,
            rate: owner.habits.rate(self.rate(now)),
            change_lock: owner.habits.lock,
        };
        let size = coins.iter().fold(bill.outputs, |size, (_, coin)| bill.with(size, coin));
        let held: u64 = coins.iter().map(|(_, coin)| coin.satoshis).sum();
        let rest = held.checked_sub(bill.fee(size)).filter(|&rest| rest >= bill.min_change()).ok_or(Insufficient)?;
        let inputs = self.take_chosen(wallet, &CoinSelection { coins, change: None });
        Ok(self.write(wallet, inputs, vec![NewOutput::to(to, rest)], None))
    }
}

/// The coins a wallet likes best until they suffice.
fn covering(wallet: &super::wallet::Wallet, bill: &Bill<'_>) -> Option<CoinSelection> {
    if wallet.purse.satoshis() < bill.target {
        return None;
    }
    let (mut size, mut held, mut coins) = (bill.outputs, 0, Vec::new());
    for (place, coin) in wallet.purse.liked() {
        size = bill.with(size, &coin);
        held += coin.satoshis;
        coins.push((place, coin));
        if held < bill.target {
            continue;
        }
        if let (Some(_), change) = bill.rests(size, held) {
            return Some(CoinSelection { coins, change });
        }
    }
    None
}

/// Coins that pay so exactly that change would cost more than it brings.
fn changeless(wallet: &super::wallet::Wallet, bill: &Bill<'_>) -> Option<CoinSelection> {
    if matches!(bill.habits.fee, FeeHabit::Flat(_)) {
        return None;
    }
    let most = bill.target + bill.fee(bill.outputs) + 40 * bill.min_change();
    let coins: Vec<_> = wallet.purse.between(bill.min_change(), most, wallet.habits.coins).take(SEARCH_COINS).collect();
    let mut steps = SEARCH_STEPS;
    let mut picked = Vec::new();
    let found = search(bill, &coins, bill.outputs, 0, &mut picked, &mut steps);
    found.then(|| CoinSelection { coins: picked.iter().map(|&at| coins[at]).collect(), change: None })
}

/// Takes or leaves the coins one by one, largest first.
fn search(
    bill: &Bill<'_>,
    coins: &[(CoinPosition, Coin)],
    size: Size,
    held: u64,
    picked: &mut Vec<usize>,
    steps: &mut usize,
) -> bool {
    let next = picked.last().map_or(0, |&last| last + 1);
    for at in next..coins.len() {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let (size, held) = (bill.with(size, &coins[at].1), held + coins[at].1.satoshis);
        picked.push(at);
        let (without, with) = bill.rests(size, held);
        if without.is_some() && with.is_none() {
            return true;
        }
        if without.is_none() && search(bill, coins, size, held, picked, steps) {
            return true;
        }
        picked.pop();
    }
    false
}

pub(super) fn shuffle<T>(list: &mut [T], stream: &mut Stream) {
    for at in (1..list.len()).rev() {
        list.swap(at, stream.index(at + 1));
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::facts::TransactionFacts;
    use headwater_ledger::read::ScriptType;

    use super::super::habits::{REPLACEABLE, Signing};
    use super::super::utxo::SUBSIDY;
    use super::super::wallet::Holder;
    use super::*;
    use crate::clock::{DAY, START};
    use crate::preset::Preset;
    use crate::truth::Role;

    /// Late enough for the first coinbases to be ripe.
    const RIPE: i64 = START + 15 * DAY;

    fn mined() -> (UtxoBook, WalletId) {
        let mut book = UtxoBook::new(1, Preset::Demo);
        let pool = book.add_wallet(Holder::single("pool", Role::MiningPool), Habits::service(ScriptType::P2wpkh));
        book.add_pool(pool, 1);
        (book, pool)
    }

    fn wallet(book: &mut UtxoBook, name: &str, habits: Habits) -> WalletId {
        book.add_wallet(Holder::single(name, Role::Person), habits)
    }

    fn sent<'a>(book: &'a UtxoBook, paid: &PaymentOutcome) -> &'a TransactionFacts {
        book.open.iter().find(|facts| facts.hash == paid.hash).unwrap()
    }

    fn fee(facts: &TransactionFacts) -> u64 {
        let utxo = facts.utxo.as_ref().unwrap();
        let held: u64 = utxo.inputs.iter().map(|input| input.spent.as_ref().unwrap().amount).sum();
        held - utxo.outputs.iter().map(|output| output.amount).sum::<u64>()
    }

    #[test]
    fn coinbase_is_spent_after_maturity_at_the_going_rate() {
        let (mut book, pool) = mined();
        let friend = wallet(&mut book, "friend", Habits::service(ScriptType::P2tr));
        let to = book.receiving(friend);
        assert!(book.pay(START + DAY, pool, &[(to, SUBSIDY / 2)]).is_err());
        let paid = book.pay(RIPE, pool, &[(to, SUBSIDY / 2)]).unwrap();
        assert_eq!(book.spendable(friend, RIPE), SUBSIDY / 2);
        let (place, address) = paid.change.unwrap();
        let facts = sent(&book, &paid);
        let utxo = facts.utxo.as_ref().unwrap();
        assert_eq!(utxo.outputs[place as usize].owner, Some(address));
        assert_eq!((utxo.version, utxo.lock_time, utxo.inputs[0].sequence), (Some(2), Some(0), Some(REPLACEABLE)));
        // One input and one output of P2WPKH, one output of P2TR: 153 virtual bytes with a signature of 71.
        assert_eq!(utxo.weight_wu, Some(609));
        assert_eq!(fee(facts), (153 * (book.rate(RIPE) * 105 / 100)).div_ceil(1_000));
        assert_eq!(fee(facts), book.open_fees);
    }

    #[test]
    fn coins_that_need_no_change_are_found_where_there_are_some() {
        let (mut book, pool) = mined();
        let mut stream = Stream::new(1, "any");
        let careful = std::iter::repeat_with(|| Habits::draw(&mut stream))
            .find(|habits| habits.coins == CoinHabit::Changeless && habits.lock == Lock::P2wpkh)
            .unwrap();
        let careful = wallet(&mut book, "careful", Habits { fee: FeeHabit::Market(100), ..careful });
        let parts = [700_000, 310_000, 205_000, 90_000, 50_000].map(|satoshis| (book.receiving(careful), satoshis));
        book.pay(RIPE, pool, &parts).unwrap();
        let friend = wallet(&mut book, "friend", Habits::service(ScriptType::P2wpkh));
        let to = book.receiving(friend);
        // 310 000 and 90 000 less what two inputs and one output cost.
        let rate = book.rate(RIPE);
        let costs = Size::default().input(Lock::P2wpkh, 71).input(Lock::P2wpkh, 71).locked(Lock::P2wpkh).fee(rate);
        let paid = book.pay(RIPE, careful, &[(to, 400_000 - costs)]).unwrap();
        let utxo = sent(&book, &paid).utxo.as_ref().unwrap();
        let mut spent: Vec<_> = utxo.inputs.iter().map(|input| input.spent.as_ref().unwrap().amount).collect();
        spent.sort_unstable();
        assert_eq!((spent, utxo.outputs.len(), paid.change), (vec![90_000, 310_000], 1, None));
        assert!(utxo.lock_time.is_some_and(|lock_time| lock_time > 0));
    }

    #[test]
    fn gathering_joins_small_coins_and_refuses_a_short_purse() {
        let (mut book, pool) = mined();
        let largest = Habits { coins: CoinHabit::LargestFirst, ..Habits::service(ScriptType::P2pkh) };
        let keeper = wallet(&mut book, "keeper", Habits { signing: Signing::AsItComes, ..largest });
        let parts = [900_000, 40_000, 70_000, 60_000].map(|satoshis| (book.receiving(keeper), satoshis));
        book.pay(RIPE, pool, &parts).unwrap();
        let to = book.own(keeper);
        let paid = book.gather(RIPE, keeper, 3, to).unwrap();
        let facts = sent(&book, &paid).clone();
        let utxo = facts.utxo.as_ref().unwrap();
        assert_eq!((utxo.inputs.len(), utxo.outputs.len(), book.coin_count(keeper)), (3, 1, 2));
        assert_eq!(utxo.outputs[0].amount, 170_000 - fee(&facts));
        let held = book.spendable(keeper, RIPE);
        assert!(book.pay(RIPE, keeper, &[(to, held)]).is_err());
        assert_eq!(book.spendable(keeper, RIPE), held);
    }
}
