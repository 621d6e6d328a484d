//! The way out, tried against real servers on loopback.

#![cfg(test)]

mod body;
mod corpus;
mod dial;
mod header;
mod redirect;
mod server;
mod tls;
