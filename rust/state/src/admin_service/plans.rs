//! Plans: made, changed, given to accounts.

use std::sync::Arc;

use serde_json::json;

use super::{AdminService, is_possible, json as as_json};
use crate::Plan;
use crate::plan::{self, DEFAULT_PLAN};
use crate::{StateError, now_ms, row_macs};

impl AdminService<'_, '_> {
    /// All plans that are stored. Accounts of the default plan go by the configuration while none is stored.
    ///
    /// # Errors
    /// When the database fails.
    pub fn plans(&mut self) -> Result<Vec<Plan>, StateError> {
        Ok(plan::read_all(self.tx)?.into_values().map(Arc::unwrap_or_clone).collect())
    }

    /// Makes a plan or changes it, from its definition as JSON. The default plan can be changed too.
    ///
    /// # Errors
    /// [`StateError::BadPlan`] when it cannot be.
    pub fn set_plan(&mut self, name: &str, definition: &str) -> Result<Plan, StateError> {
        let plan = plan::made(name, definition)?;
        let before = plan::read_all(self.tx)?.get(name).map(|plan| as_json(plan.as_ref()));
        let text = as_json(&plan).to_string();
        self.tx.execute(
            "INSERT INTO plan (name, definition, created_at_ms, updated_at_ms) VALUES (?1, ?2, ?3, ?3)
             ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, updated_at_ms = excluded.updated_at_ms",
            &[name.into(), (&text).into(), now_ms().into()],
        )?;
        self.authenticate(&row_macs::PLANS, name)?;
        self.changed("plans.set", name, before.as_ref(), Some(&as_json(&plan)))?;
        Ok(plan)
    }

    /// Removes a plan; its accounts are left with the default one. The default plan goes back to the configuration.
    ///
    /// # Errors
    /// When no such plan is stored.
    pub fn remove_plan(&mut self, name: &str) -> Result<(), StateError> {
        let stored = plan::read_all(self.tx)?.get(name).map(|plan| as_json(plan.as_ref()));
        let before = stored.ok_or_else(|| match name {
            DEFAULT_PLAN => StateError::DefaultPlan,
            _ => StateError::UnknownPlan(name.to_owned()),
        })?;
        self.tx.execute("DELETE FROM plan WHERE name = ?1", &[name.into()])?;
        self.authenticate(&row_macs::PLANS, name)?;
        // In the order in which charges lock them.
        self.tx.rows("SELECT id FROM account WHERE plan = ?1 ORDER BY id /*lock*/", &[name.into()])?;
        let accounts = self.tx.rows(
            "UPDATE account SET plan = ?2 WHERE plan = ?1 RETURNING CAST(id AS TEXT)",
            &[name.into(), DEFAULT_PLAN.into()],
        )?;
        for account in &accounts {
            self.authenticate(&row_macs::ACCOUNTS, account.text(0)?)?;
        }
        self.changed("plans.remove", name, Some(&before), None)
    }

    /// Gives the account of a key another plan.
    ///
    /// # Errors
    /// When the key or the plan is unknown.
    pub fn assign_plan(&mut self, key_id: &str, name: &str) -> Result<(), StateError> {
        self.known_plan(name)?;
        let before = self.key(key_id)?.plan;
        let account = self.account_of(key_id)?;
        self.tx.execute("UPDATE account SET plan = ?2 WHERE id = ?1", &[account.into(), name.into()])?;
        self.authenticate(&row_macs::ACCOUNTS, &account.to_string())?;
        self.changed("plans.assign", key_id, Some(&json!({"plan": before})), Some(&json!({"plan": name})))
    }

    pub(super) fn known_plan(&mut self, name: &str) -> Result<(), StateError> {
        // Locked, so that it is not removed before it is given.
        if name == DEFAULT_PLAN {
            return Ok(());
        }
        let found = if is_possible(name) {
            self.tx.row("SELECT name FROM plan WHERE name = ?1 /*lock*/", &[name.into()])?
        } else {
            None
        };
        found.map(|_| ()).ok_or_else(|| StateError::UnknownPlan(name.to_owned()))
    }
}
