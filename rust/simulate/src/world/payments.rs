//! Payment services as shops and their customers see them: an invoice address for every payment.

use std::collections::BTreeMap;

use headwater_types::{Address, Chain, Family};

use super::people::PEOPLE_PER_MERCHANT;
use super::{Coin, World};
use crate::truth::Role;

/// The payments that wait at the payment services.
#[derive(Default)]
pub(crate) struct Payments {
    pub(crate) services: Vec<Service>,
}

#[derive(Default)]
pub(crate) struct Service {
    pub(crate) invoices: Vec<Invoice>,
    pub(crate) issued: u64,
    /// By shop, chain and coin, raw.
    pub(crate) owed: BTreeMap<(usize, Chain, Coin), u128>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Invoice {
    pub(crate) shop: usize,
    pub(crate) chain: Chain,
    pub(crate) address: Address,
    pub(crate) coin: Coin,
    pub(crate) gas: Gas,
}

/// A token needs coins for the fee before it can be gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gas {
    Missing,
    Sent,
}

pub(crate) fn owner(service: usize) -> String {
    format!("payments-{service}")
}

impl World {
    /// Returns where a shop wants to be paid on an account chain: every second shop uses a payment service, which gives
    /// every customer a new address.
    pub(crate) fn till(&mut self, shop: usize, chain: Chain, coin: Coin) -> Address {
        let place = shop / PEOPLE_PER_MERCHANT;
        let count = self.payments.services.len();
        if count == 0 || !shop.is_multiple_of(PEOPLE_PER_MERCHANT) || !place.is_multiple_of(2) {
            return self.people[shop].account(chain.family());
        }
        let service = place / 2 % count;
        let issued = self.payments.services[service].issued;
        self.payments.services[service].issued += 1;
        let owner = owner(service);
        let name = format!("{owner}/invoice/{issued}");
        let address = self.account(chain.family(), &name, Role::PaymentInvoice, &owner);
        let invoice = Invoice { shop, chain, address, coin, gas: Gas::Missing };
        self.payments.services[service].invoices.push(invoice);
        address
    }

    pub(crate) fn payment_hot(&mut self, service: usize, family: Family) -> Address {
        let owner = owner(service);
        self.account(family, &format!("{owner}/hot"), Role::PaymentHot, &owner)
    }
}
