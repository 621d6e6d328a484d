//! Sessions over servers that run in the test: what passes, what is decided, and what is withheld.

mod approve;
pub(crate) mod fake;
mod guard;
mod ingress;
mod pass;
