//! What survives: a real program with a real effect is killed, starved and misled about the time, and the ledger it writes never
//! shows a payment twice.
//!
//! PostgreSQL is started by `script/postgres`, or named by `RINGFENCE_TEST_POSTGRES`; it is never left out. [`Tier`](ringfence_e2e::Tier) says
//! how many seeds are tried, or `RINGFENCE_TEST_SEEDS` does.

mod crash;
mod disk;
mod gateway;
mod keep_alive;
mod payer;
pub(crate) mod postgres;
mod rival;
mod server;
mod stack;
