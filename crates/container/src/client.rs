//! Requests to an engine: one connection each, bounded in time and size.
//!
//! INVARIANT: neither a request nor an answer is ever written to a log, and no error holds what is hidden.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, UPGRADE};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::address::Address;
use crate::error::ContainerError;
use crate::hidden::Hidden;

/// More of an answer is not read.
const LARGEST: usize = 16 << 20;

/// What goes both ways once the engine has let go of HTTP.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Asks an engine.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    address: Address,
    hidden: Hidden,
}

/// One thing to ask.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) place: &'static str,
    pub(crate) method: Method,
    /// Path and query. Only numbers, names and identifiers of ours and of the engine are ever in it.
    pub(crate) path: String,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) within: Duration,
}

#[derive(Deserialize)]
struct Complaint {
    message: String,
}

impl Client {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, hidden: Hidden::default() }
    }

    /// Returns one that shows nothing of this.
    pub(crate) fn hiding(&self, hidden: Hidden) -> Self {
        Self { address: self.address.clone(), hidden }
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Asks, and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, question: Question) -> Result<T, ContainerError> {
        let place = question.place;
        let bytes = self.tell(question).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            // Where in it, not what is in it.
            let why =
                format!("it is not what was asked for, at line {} column {}", error.line(), error.column());
            ContainerError::Garbled { place, why }
        })
    }

    /// Asks for something to be done, and returns whatever the engine says of it.
    pub(crate) async fn tell(&self, question: Question) -> Result<Bytes, ContainerError> {
        let (place, within) = (question.place, question.within);
        let answer = async {
            let answer = self.send(question, None).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let bytes =
                body.map_err(|error| ContainerError::Garbled { place, why: error.to_string() })?.to_bytes();
            // An engine says so when there was nothing left to do.
            if status.is_success() || status == StatusCode::NOT_MODIFIED {
                return Ok(bytes);
            }
            Err(self.complaint(place, status, &bytes))
        };
        tokio::time::timeout(within, answer).await.unwrap_or(Err(late(place, within)))
    }

    /// Asks for a connection that carries something else than HTTP from then on.
    pub(crate) async fn upgrade(&self, question: Question) -> Result<Box<dyn Duplex>, ContainerError> {
        let (place, within) = (question.place, question.within);
        let garbled = |error: hyper::Error| ContainerError::Garbled { place, why: error.to_string() };
        let answer = async {
            let answer = self.send(question, Some("tcp")).await?;
            let status = answer.status();
            if status == StatusCode::SWITCHING_PROTOCOLS {
                let upgraded = hyper::upgrade::on(answer).await.map_err(garbled)?;
                return Ok(Box::new(TokioIo::new(upgraded)) as Box<dyn Duplex>);
            }
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let bytes =
                body.map_err(|error| ContainerError::Garbled { place, why: error.to_string() })?.to_bytes();
            Err(self.complaint(place, status, &bytes))
        };
        tokio::time::timeout(within, answer).await.unwrap_or(Err(late(place, within)))
    }

    async fn send(
        &self,
        question: Question,
        upgrade: Option<&'static str>,
    ) -> Result<hyper::Response<hyper::body::Incoming>, ContainerError> {
        let place = question.place;
        let garbled = |error: hyper::Error| ContainerError::Garbled { place, why: error.to_string() };
        let absent = |error| ContainerError::Absent { address: self.address.to_string(), place, error };
        let stream = self.connect().await.map_err(absent)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(garbled)?;
        // It ends when both sides are done with it; an answer that breaks off is seen by whoever reads it.
        tokio::spawn(connection.with_upgrades());
        let mut request =
            Request::builder().method(question.method).uri(question.path).header(HOST, "engine");
        if question.body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(protocol) = upgrade {
            request = request.header(CONNECTION, "Upgrade").header(UPGRADE, protocol);
        }
        let body = Full::new(Bytes::from(question.body.unwrap_or_default()));
        let request =
            request.body(body).map_err(|error| ContainerError::Garbled { place, why: error.to_string() })?;
        sender.send_request(request).await.map_err(garbled)
    }

    fn complaint(&self, place: &'static str, status: StatusCode, bytes: &[u8]) -> ContainerError {
        let said = serde_json::from_slice::<Complaint>(bytes).map(|complaint| complaint.message);
        // Whatever else it wrote is not a sentence.
        ContainerError::refused(place, status.as_u16(), &self.hidden.take_out(said.unwrap_or_default()))
    }

    #[expect(clippy::disallowed_methods, reason = "the engine's own address, which the operator wrote")]
    async fn connect(&self) -> std::io::Result<Box<dyn Duplex>> {
        Ok(match &self.address {
            Address::Tcp(host, port) => {
                Box::new(tokio::net::TcpStream::connect((host.as_str(), *port)).await?)
            }
            Address::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
        })
    }
}

const fn late(place: &'static str, within: Duration) -> ContainerError {
    ContainerError::Late { place, seconds: within.as_secs() }
}
