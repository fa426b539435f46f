//! Payment services: a shop's customers pay an invoice address of their own, the service gathers what was paid and pays
//! the shop out once a day, less its fee.

use headwater_types::{Address, Chain};

use super::Actor;
use crate::clock::{DAY, HOUR, START};
use crate::gas::token_fee_cents;
use crate::random::Stream;
use crate::world::payments::{Gas, Invoice, Service, owner};
use crate::world::{Coin, World};

/// Payment services of the demo.
const SERVICES: usize = 2;
/// Fee in thousandths.
const FEE_PER_MILLE: u128 = 8;

/// Opens the services.
pub(crate) fn settle(world: &mut World) -> Vec<Box<dyn Actor>> {
    let count = world.preset.services(SERVICES);
    world.payments.services.resize_with(count, Service::default);
    let back_office = |service| -> Box<dyn Actor> {
        Box::new(BackOffice { service, next_payout: START + 2 * DAY, stream: Stream::new(world.seed, &owner(service)) })
    };
    (0..count).map(back_office).collect()
}

struct BackOffice {
    service: usize,
    next_payout: i64,
    stream: Stream,
}

impl Actor for BackOffice {
    fn first_wake(&self) -> i64 {
        START + 6 * HOUR
    }

    fn wake(&mut self, world: &mut World, now: i64) -> Option<i64> {
        self.gather(world, now);
        if now >= self.next_payout {
            self.pay_out(world, now);
            self.next_payout = now + DAY + self.stream.secs(-2 * HOUR, 2 * HOUR);
        }
        Some(now + self.stream.secs(HOUR / 2, 3 * HOUR))
    }
}

impl BackOffice {
    /// Native coins move at once, tokens once there is gas beside them; an invoice that nobody paid is forgotten.
    fn gather(&self, world: &mut World, now: i64) {
        let invoices = std::mem::take(&mut world.payments.services[self.service].invoices);
        for mut invoice in invoices {
            let Invoice { shop, chain, address, coin, gas } = invoice;
            if world.balance(chain, &address, coin) == 0 {
                continue;
            }
            let hot = world.payment_hot(self.service, chain.family());
            if coin != Coin::Native && gas == Gas::Missing {
                if self.fund(world, now, (chain, hot, address)) {
                    invoice.gas = Gas::Sent;
                }
                world.payments.services[self.service].invoices.push(invoice);
            } else if let Ok((_, raw)) = world.transfer_all(chain, now, (address, hot), coin) {
                *world.payments.services[self.service].owed.entry((shop, chain, coin)).or_default() += raw;
            } else if coin != Coin::Native {
                invoice.gas = Gas::Missing;
                world.payments.services[self.service].invoices.push(invoice);
            }
        }
    }

    /// Sends coins for one fee; buys some when there are none.
    fn fund(&self, world: &mut World, now: i64, (chain, hot, address): (Chain, Address, Address)) -> bool {
        let cents = token_fee_cents(chain);
        let raw = world.raw(chain, Coin::Native, cents, now);
        let wealth = world.preset.wealth();
        if world.worth(chain, &hot, Coin::Native, now) < cents * 40 {
            let more = world.raw(chain, Coin::Native, 100_000 * wealth, now);
            world.withdraw(self.service % world.exchanges.len(), chain, hot, Coin::Native, more);
        }
        world.transfer(chain, now, (hot, address), Coin::Native, raw).is_ok()
    }

    /// Pays the shops what is worth paying.
    fn pay_out(&self, world: &mut World, now: i64) {
        let owed = std::mem::take(&mut world.payments.services[self.service].owed);
        for ((shop, chain, coin), raw) in owed {
            let hot = world.payment_hot(self.service, chain.family());
            let to = world.people[shop].account(chain.family());
            let net = raw / 1_000 * (1_000 - FEE_PER_MILLE);
            let small = world.cents(chain, coin, raw, now) < 10_000;
            if small || world.transfer(chain, now, (hot, to), coin, net).is_err() {
                world.payments.services[self.service].owed.insert((shop, chain, coin), raw);
            }
        }
    }
}
