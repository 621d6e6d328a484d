//! Integration tests of the policy algebra.

#![cfg(test)]

mod host_laws;
mod path_laws;
