//! Laws that the policy algebra keeps, checked on generated values.

#![cfg(test)]

mod host_laws;
