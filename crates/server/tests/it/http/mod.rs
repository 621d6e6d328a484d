//! The HTTP edge, tried over real sockets against a room that does what the test says.

mod bind;
pub(crate) mod client;
mod crowd;
mod house;
mod life;
mod limit;
mod old;
mod resume;
mod stream;
mod table;
