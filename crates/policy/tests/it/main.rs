//! Integration tests of the policy algebra.

mod host_laws;
mod path_laws;
