//! Laws that the policy algebra keeps, checked on generated values.

mod host_laws;
