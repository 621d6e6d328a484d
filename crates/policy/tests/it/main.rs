//! The laws of the policy algebra, over generated policies.

mod path_laws;
