//! The Python interface: thin bindings under `headwater._headwater`; what users see is in `python/headwater/`.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod calls;
mod cli;
mod digest;
mod errors;
mod export;
mod features;
mod follow;
mod interrupt;
mod ledger;
mod lines;
mod load;
mod metrics;
mod nodes;
mod objects;
mod parts;
mod picture;
mod prices;
mod scan;
mod scores;
mod tables;

use pyo3::prelude::*;

/// The compiled part of `headwater`.
#[pymodule]
fn _headwater(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<ledger::NativeLedger>()?;
    module.add_class::<lines::Lines>()?;
    module.add_class::<follow::NativeFollower>()?;
    module.add_class::<answer::Answer>()?;
    module.add_class::<picture::NativePicture>()?;
    module.add_function(wrap_pyfunction!(picture::picture_component, module)?)?;
    module.add_class::<parts::ScoreFolder>()?;
    module.add_class::<scan::StoredScan>()?;
    module.add_class::<scan::ScanReader>()?;
    module.add_function(wrap_pyfunction!(scan::stored_tables, module)?)?;
    module.add_function(wrap_pyfunction!(calls::calls, module)?)?;
    module.add_function(wrap_pyfunction!(calls::descriptions, module)?)?;
    module.add_function(wrap_pyfunction!(answer::columns, module)?)?;
    module.add_function(wrap_pyfunction!(answer::decimals, module)?)?;
    module.add_function(wrap_pyfunction!(ledger::open_store, module)?)?;
    module.add_function(wrap_pyfunction!(ledger::generation_files, module)?)?;
    module.add_function(wrap_pyfunction!(ledger::from_frames, module)?)?;
    module.add_function(wrap_pyfunction!(address::address_valid, module)?)?;
    module.add_function(wrap_pyfunction!(address::address_checksum, module)?)?;
    module.add_function(wrap_pyfunction!(address::address_error, module)?)?;
    module.add_function(wrap_pyfunction!(export::export_tables, module)?)?;
    module.add_function(wrap_pyfunction!(export::exported_scores, module)?)?;
    module.add_function(wrap_pyfunction!(features::features, module)?)?;
    module.add_function(wrap_pyfunction!(features::features_version, module)?)?;
    module.add_function(wrap_pyfunction!(metrics::measures, module)?)?;
    module.add_function(wrap_pyfunction!(load::ingest, module)?)?;
    module.add_function(wrap_pyfunction!(load::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(load::import_market, module)?)?;
    module.add_function(wrap_pyfunction!(prices::fetch_prices, module)?)?;
    module.add_function(wrap_pyfunction!(load::import_labels, module)?)?;
    module.add_function(wrap_pyfunction!(load::import_core_lists, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::ingest_rpc, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::verify_rpc, module)?)?;
    module.add_function(wrap_pyfunction!(nodes::providers_of, module)?)?;
    module.add_function(wrap_pyfunction!(digest::file_digest, module)?)?;
    module.add_function(wrap_pyfunction!(cli::main, module)?)?;
    Ok(())
}
