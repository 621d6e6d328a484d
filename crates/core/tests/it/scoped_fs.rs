//! `ScopedFs` on a real file system, through both openers.

mod corpus;
mod den;
mod handle;
mod opened;
mod race;
mod stored;
mod table;
