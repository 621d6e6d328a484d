//! The lint as people run it, and its engines over source trees whose functions say by their names what they do.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test starts programs, and stops at the first surprise"
)]

mod bench;
mod build;
mod corpus;
mod python;
