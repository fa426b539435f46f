//! Address functions without a ledger.

use headwater_types::{Address, Chain};
use pyo3::prelude::*;

use crate::errors::raise;

pub fn chain_of(py: Python<'_>, name: &str) -> PyResult<Chain> {
    name.parse().map_err(|error: headwater_types::UnknownChain| {
        raise(py, "InvalidInput", &error.to_string(), Some("unsupported_chain"), Some("chain"))
    })
}

/// Returns whether each text is an address of the chain; missing ones are not.
#[pyfunction]
pub fn address_valid(py: Python<'_>, addresses: Vec<Option<String>>, chain: &str) -> PyResult<Vec<bool>> {
    let chain = chain_of(py, chain)?;
    Ok(py.detach(|| {
        let valid = |text: Option<String>| text.is_some_and(|text| Address::parse(chain, &text).is_ok());
        addresses.into_iter().map(valid).collect()
    }))
}

/// Why a text is not an address of the chain; none where it is one.
#[pyfunction]
pub fn address_error(py: Python<'_>, address: &str, chain: &str) -> PyResult<Option<String>> {
    Ok(Address::parse(chain_of(py, chain)?, address).err().map(|error| error.to_string()))
}

/// The checksummed form of each address (EIP-55 on EVM chains, the canonical form elsewhere); none where it is invalid.
#[pyfunction]
pub fn address_checksum(py: Python<'_>, addresses: Vec<Option<String>>, chain: &str) -> PyResult<Vec<Option<String>>> {
    let chain = chain_of(py, chain)?;
    Ok(py.detach(|| {
        let checksummed = |text: Option<String>| {
            text.and_then(|text| Address::parse(chain, &text).ok()).map(|address| address.to_checksummed())
        };
        addresses.into_iter().map(checksummed).collect()
    }))
}
