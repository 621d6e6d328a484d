//! The real command against real escapes, and the programs that must work inside.
//!
//! `RINGFENCE_TEST_BACKENDS` names the backends that must be there (comma list, `native` when unset); one that is
//! named and missing fails. `RINGFENCE_BIN` names the command when it is not the one of this workspace,
//! `RINGFENCE_TEST_PROBES` one or some cells by a part of their names; [`Tier`](ringfence_e2e::Tier) says
//! how many run.

#![expect(unsafe_code, reason = "terminals and inherited descriptors have no safe interface")]

mod binary;
mod cell;
mod check;
mod escape;
mod leak;
mod neighbour;
mod network;
mod orphan;
mod passed;
mod place;
mod planted;
mod process;
mod program;
mod report;
mod session;
mod signal;
mod stage;
mod sys;
mod table;
mod user;
mod verdict;
mod weak;
