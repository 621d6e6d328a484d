//! The gateway, tried from outside.

#![cfg(test)]

mod http;
mod session;
