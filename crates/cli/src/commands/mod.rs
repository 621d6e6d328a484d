//! One file per subcommand.

pub(crate) mod approvals;
pub(crate) mod approver;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod component;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod gateway;
pub(crate) mod idempotency;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod learn;
pub(crate) mod lint;
pub(crate) mod manifest;
pub(crate) mod pins;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod tools;
pub(crate) mod wrap;
