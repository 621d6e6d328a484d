//! `ScopedFs` on a real file system, through both openers.

mod corpus;
mod den;
mod handle;
mod race;
mod table;
