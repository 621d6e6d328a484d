//! Programs that people use, doing what people do with them.

pub(crate) mod cargo;
mod git;
mod node;
mod python;
mod shell;
mod workload;

pub(crate) use self::git::DECOYS;
use crate::matrix::check::Check;

/// The checks of all programs.
pub(crate) const CHECKS: &[&[Check]] =
    &[cargo::CHECKS, git::CHECKS, node::CHECKS, python::CHECKS, shell::CHECKS, workload::CHECKS];
