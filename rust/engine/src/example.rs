//! Accounts of the demo economy (`headwater simulate`) that examples ask about.

/// A busy person.
pub const ALICE: &str = "0x8595aa61151393bb3126d8a839e009d066b4b9d3";
/// The exchange that she deals with.
pub const BOB: &str = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221";
/// The name that lists give the exchange.
pub const EXCHANGE: &str = "lanternex";
/// A stablecoin.
pub const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
/// A payment from one to the other.
pub const TRANSACTION: &str = "0x5d0f895846060f6ac84705d0fac3df1c9fe150c8e5a9ba36c3740a8c056a744d";
/// A Bitcoin address.
pub const BITCOIN_ADDRESS: &str = "bc1qdxnccj5wrr39nydzkc0rzhhqyd6r8jtjv7sjg0";
/// A transaction that sends money over a bridge.
pub const CROSSING: &str = "0xb24c7f1937122ca6ad1cc0561e15d73d98aa71c4d115d74069ce7d8c95810bfc";
/// A payment in bitcoin with change.
pub const BITCOIN_TRANSACTION: &str = "5a628dc9e55745580242d938fb8febb0add44b71ce659a303ccf9b229f73e50c";
/// 2025-01-01 00:00:00 UTC, the first day of the economy.
pub const START: i64 = 1_735_689_600;
