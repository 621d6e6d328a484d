//! A real container engine: what a container reaches, what it may spend, how it ends, and what is left of it.
//!
//! The engine is started by `script/container-engine`, or named by `RINGFENCE_TEST_ENGINE` as that script's last line; it is never left
//! out.

mod escape;
mod exchange;
mod host;
mod life;
mod limit;
mod place;
mod refusal;
