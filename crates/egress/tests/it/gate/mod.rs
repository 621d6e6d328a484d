//! The gate, tried by clients that mean it well and by clients that do not.

mod ask;
mod dns;
mod house;
mod http;
mod limit;
mod live;
mod opaque;
mod shortage;
mod tls;
