//! Sessions over servers that run in the test: what passes, what is decided, and what is withheld.

mod approve;
pub(crate) mod fake;
mod gateway;
mod guard;
mod ingress;
mod limit;
mod pass;
mod start;
