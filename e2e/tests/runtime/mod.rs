//! One suite for everything that runs tools: the same grants, the same probe, the same refusals and limits.
//!
//! `RINGFENCE_TEST_RUNTIMES` names the runtimes that must be there (comma list of native, bwrap, firejail, wasm, container; `native`
//! when unset); one that is named and missing fails. `RINGFENCE_TEST_GUESTS` is the folder that `script/wasm-guests` prints, with the
//! probe as a program and as a component; `RINGFENCE_TEST_ENGINE` is the line that `script/container-engine` prints.

mod end;
mod grant;
mod kind;
mod limit;
mod network;
mod stage;
mod unsupported;
