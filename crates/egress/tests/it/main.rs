//! The way out, tried against real servers on loopback.

mod body;
mod corpus;
mod dial;
mod gate;
mod header;
mod lookup;
mod name_server;
mod redirect;
mod scope;
mod server;
mod tls;
mod wait;
