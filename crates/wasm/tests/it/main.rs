//! Components under their grants, with the guests that `script/wasm-guests` builds.

#![expect(
    clippy::disallowed_methods,
    reason = "tests set up the files and servers that guests then try to reach"
)]

mod bench;
mod cache;
mod file;
mod http;
mod limit;
mod registration;
mod section;
mod server;
mod surface;
