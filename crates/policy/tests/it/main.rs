//! Integration tests of the policy algebra.

mod grant_laws;
mod host_laws;
mod manifest_laws;
mod manifest_runtime;
mod path_laws;
