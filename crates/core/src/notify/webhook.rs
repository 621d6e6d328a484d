//! Telling a web server.
//!
//! INVARIANT: the request goes to the host of its address and nowhere else, redirects included, and carries a signature over its
//! time and its body that only a holder of the secret can make.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use hmac::{Hmac, KeyInit, Mac};
use ringfence_egress::{Client, Request, Scope};
use ringfence_policy::{HostPattern, NetworkCeiling, NetworkGrant, Private};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::Channel;
use crate::digest::hex;
use crate::port::{Clock, FiledRequest, Secret};

/// The header that holds the signature: `t=<seconds since 1970>,v1=<HMAC-SHA-256 in hexadecimal>`.
pub const SIGNATURE_HEADER: &str = "ringfence-signature";

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts each request to a web server, signed.
pub struct WebhookChannel {
    name: String,
    url: Url,
    secret: Secret,
    client: Client,
    grant: NetworkGrant,
    clock: Arc<dyn Clock>,
}

impl WebhookChannel {
    /// Posts to `url`, which is `https` unless its host is among the private ones that are permitted.
    ///
    /// # Errors
    ///
    /// The address cannot be used, in a sentence.
    pub fn new(
        url: &str,
        secret: Secret,
        private: Private,
        client: Client,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let parsed = Url::parse(url).map_err(|error| format!("`{url}` is not an address: {error}"))?;
        let is_private = match parsed.host() {
            Some(url::Host::Ipv4(address)) => private.covers_address(address.into()),
            Some(url::Host::Ipv6(address)) => private.covers_address(address.into()),
            Some(url::Host::Domain(name)) => name.parse().is_ok_and(|name| private.covers_name(&name)),
            None => false,
        };
        if parsed.scheme() != "https" && !(parsed.scheme() == "http" && is_private) {
            return Err(format!("`{url}` is not https"));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err("the address of a webhook must hold no password".to_owned());
        }
        if secret.expose().len() < 16 {
            return Err("the secret of a webhook must have at least 16 characters".to_owned());
        }
        let host = parsed.host_str().ok_or_else(|| format!("`{url}` names no host"))?;
        let port = parsed.port_or_known_default().ok_or_else(|| format!("`{url}` names no port"))?;
        let pattern: HostPattern =
            format!("{host}:{port}").parse().map_err(|error| format!("`{url}`: {error}"))?;
        let ceiling = NetworkCeiling::new([pattern].into_iter().collect(), private);
        let grant = NetworkGrant::meet(ceiling.hosts(), &ceiling);
        // Two hooks of one server are two channels, and the path may be a secret.
        let path: String = hex(&Sha256::digest(parsed.as_str())).chars().take(8).collect();
        let name = format!("webhook {} {path}", parsed.origin().ascii_serialization());
        Ok(Self { name, url: parsed, secret, client, grant, clock })
    }

    async fn post(&self, filed: &FiledRequest, body: &str) -> Result<(), String> {
        let signature = sign_webhook(self.secret.expose(), self.clock.now().as_secs(), body);
        let request = Request::post(self.url.as_str())
            .and_then(|request| request.header("content-type", "application/json"))
            .and_then(|request| request.header(SIGNATURE_HEADER, &signature))
            .and_then(|request| request.header("ringfence-request", &filed.id))
            .map_err(|error| error.to_string())?;
        let request = request.body(body.to_owned()).deadline(PATIENCE);
        let scope = Scope::new(self.grant.clone());
        let response = self.client.send(&scope, request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(format!("the server answered {status}")) }
    }
}

/// Returns the value of the signature header for a body that was sent at this time. A receiver computes the same, compares both
/// in constant time, and refuses what is old.
pub fn sign_webhook(secret: &str, seconds: u64, body: &str) -> String {
    // HMAC takes keys of every length, so that this does not fail.
    let signature = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map(|mut mac| {
        mac.update(format!("{seconds}.{body}").as_bytes());
        hex(&mac.finalize().into_bytes())
    });
    format!("t={seconds},v1={}", signature.unwrap_or_default())
}

impl Channel for WebhookChannel {
    fn name(&self) -> &str {
        &self.name
    }

    fn tell<'a>(&'a self, filed: &'a FiledRequest, body: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.post(filed, body).boxed()
    }
}

impl std::fmt::Debug for WebhookChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_anybody_with_the_secret() {
        // Computed with `printf '1700000000.{"id":1}' | openssl dgst -sha256 -hmac 0123456789abcdef`.
        let expected = "t=1700000000,v1=4bcaced68dfea90a68df035b89cb7fb26692d899d32a1ccb1b0616cf48e4d1ed";
        assert_eq!(sign_webhook("0123456789abcdef", 1_700_000_000, r#"{"id":1}"#), expected);
        assert_ne!(sign_webhook("0123456789abcdeF", 1_700_000_000, r#"{"id":1}"#), expected);
        assert_ne!(sign_webhook("0123456789abcdef", 1_700_000_001, r#"{"id":1}"#), expected);
    }

    #[test]
    fn refuses_addresses_that_cannot_be_trusted() {
        #[rustfmt::skip]
        let cases = [
            ("https://hooks.example/ringfence",   "0123456789abcdef", None),
            ("http://hooks.example/ringfence",    "0123456789abcdef", Some("`http://hooks.example/ringfence` is not https")),
            ("https://me:pw@hooks.example/",      "0123456789abcdef", Some("the address of a webhook must hold no password")),
            ("https://hooks.example/",            "short",            Some("the secret of a webhook must have at least 16 characters")),
            ("hooks.example",                     "0123456789abcdef", Some("`hooks.example` is not an address: relative URL without a base")),
        ];
        for (url, secret, expected) in cases {
            let made = WebhookChannel::new(
                url,
                Secret::new(secret.into()),
                Private::default(),
                Client::builder().build(),
                Arc::new(crate::SystemClock),
            );
            assert_eq!(made.map(drop).err().as_deref(), expected, "{url}");
        }
    }
}
