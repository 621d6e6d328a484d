//! Outbound connections that a grant admits: judge, resolve once, refuse or pin, dial.
//!
//! This crate is the only one that opens outbound sockets. [`Dialer::dial`] is the one way to do so, and it
//! takes a [`NetworkGrant`](ringfence_policy::NetworkGrant): the name is judged, resolved once, every answer is
//! judged, and only the judged addresses are dialled.
//!
//! What a call may do on the network while it lasts is its [`Scope`]: the grant in force, which can be narrowed or
//! revoked; limits; who is asked about unknown hosts; who is told. Two things go out under a scope. [`Client`] speaks
//! HTTP/1.1 and treats each redirect as a new request. [`Gate`] is the way out of a network namespace for programs
//! that know nothing of it: it answers their names, and judges, dials and relays their connections.
//!
//! What the client does not do: HTTP/2, connection reuse, proxies, cookies, or anything an environment variable
//! says, except that the platform's own certificate lookup honours `SSL_CERT_FILE` and `SSL_CERT_DIR` where the
//! platform does.
//!
//! # Examples
//!
//! ```
//! use ringfence_egress::{Client, Request, Scope};
//! use ringfence_policy::{Code, NetworkGrant};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let client = Client::builder().build();
//! let nothing = Scope::new(NetworkGrant::default());
//!
//! let refused = client.send(&nothing, Request::get("https://api.stripe.com/")?).await.unwrap_err();
//!
//! assert_eq!(refused.code(), Code::HostNotAllowed); // refused before any lookup
//! assert_eq!(refused.to_string(), "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
mod client;
mod dial;
mod error;
mod gate;
mod own;
mod redirect;
mod request;
mod resolve;
mod response;
mod scope;
mod tls;
#[doc(hidden)]
pub mod wire;

pub use bytes::Bytes;
pub use client::{Client, ClientBuilder};
pub use dial::{Dialer, Pinned};
pub use error::EgressError;
pub use gate::{Gate, Sockets};
#[doc(hidden)]
pub use gate::{Layout, Range};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
pub use request::Request;
pub use resolve::{
    CachedResolver, LookupPermit, LookupPermits, Resolver, Resolving, StaticResolver, SystemResolver,
};
pub use response::Response;
pub use rustls::pki_types::CertificateDer;
pub use scope::{Asker, Evidence, Scope, ScopeBuilder, Tally, Verdict, Via, Witness};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_egress;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
