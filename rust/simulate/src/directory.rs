//! The directory of addresses: their role and owner, each owner's name held once.

use headwater_types::Address;
use rustc_hash::FxHashMap;

use crate::truth::Role;

/// Roles and owners of addresses. About 110 bytes an address, so that millions fit.
#[derive(Default)]
pub(crate) struct Directory {
    entries: FxHashMap<Address, (Role, u32)>,
    ids: FxHashMap<Box<str>, u32>,
    owners: Vec<Box<str>>,
}

impl Directory {
    /// Files an address, in place of what was there.
    pub(crate) fn file(&mut self, address: Address, role: Role, owner: &str) {
        let owner = self.owner_id(owner);
        self.entries.insert(address, (role, owner));
    }

    /// Files an address that is not filed yet.
    pub(crate) fn file_new(&mut self, address: Address, role: Role, owner: &str) {
        if !self.entries.contains_key(&address) {
            self.file(address, role, owner);
        }
    }

    /// Role and owner of an address.
    pub(crate) fn look_up(&self, address: &Address) -> Option<(Role, &str)> {
        self.entries.get(address).map(|&(role, owner)| (role, &*self.owners[owner as usize]))
    }

    fn owner_id(&mut self, owner: &str) -> u32 {
        if let Some(&id) = self.ids.get(owner) {
            return id;
        }
        let id = u32::try_from(self.owners.len()).expect("an economy has fewer than 2^32 owners");
        self.owners.push(owner.into());
        self.ids.insert(owner.into(), id);
        id
    }
}
