//! One hop: judge and dial, shake hands, send, read the head of the answer.

use http::header::{self, HeaderValue};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ringfence_policy::{Host, NetworkGrant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::Client;
use crate::body::Body;
use crate::{Bytes, EgressError, Pinned, Request, Response};

/// What a response may be encoded with.
const ACCEPTED: HeaderValue = HeaderValue::from_static("gzip, deflate, br");

const AGENT: HeaderValue = HeaderValue::from_static(concat!("ringfence/", env!("CARGO_PKG_VERSION")));

type Answer = (http::Response<hyper::body::Incoming>, AbortOnDropHandle<()>);

impl Client {
    pub(super) async fn exchange(
        &self,
        grant: &NetworkGrant,
        request: &Request,
        deadline: Instant,
    ) -> Result<Response, EgressError> {
        let message = message(request)?;
        let Pinned { stream, address } = self.dialer.dial(grant, &request.target).await?;
        let (answer, connection) = if request.url.scheme() == "https" {
            let session = self.tls.connect(&request.target, stream).await?;
            exchange_over(session, message).await?
        } else {
            exchange_over(stream, message).await?
        };
        let (mut head, incoming) = answer.into_parts();
        let body = Body::new(incoming, &mut head.headers, request.limit.unwrap_or(self.limit))?;
        Ok(Response {
            status: head.status,
            headers: head.headers,
            url: request.url.clone(),
            address,
            body,
            deadline,
            _connection: connection,
        })
    }
}

/// Sends the message and drives the connection beside it until the response is dropped.
async fn exchange_over<S>(stream: S, message: http::Request<Full<Bytes>>) -> Result<Answer, EgressError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(EgressError::Exchange)?;
    let driver = tokio::spawn(async move {
        // How the connection ends is told to whoever reads the response.
        let _ended = connection.await;
    });
    let driver = AbortOnDropHandle::new(driver);
    let answer = sender.send_request(message).await.map_err(EgressError::Exchange)?;
    Ok((answer, driver))
}

/// Writes the request in origin form, with the headers that belong to the client.
fn message(request: &Request) -> Result<http::Request<Full<Bytes>>, EgressError> {
    let path = match request.url.query() {
        Some(query) => format!("{}?{query}", request.url.path()),
        None => request.url.path().to_owned(),
    };
    let mut message = http::Request::new(Full::new(request.body.clone()));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = path.parse().map_err(|_| EgressError::Path)?;
    *message.headers_mut() = request.headers.clone();
    let headers = message.headers_mut();
    headers.insert(header::HOST, HeaderValue::try_from(host(request)).map_err(|_| EgressError::HeaderText)?);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.entry(header::ACCEPT_ENCODING).or_insert(ACCEPTED);
    headers.entry(header::USER_AGENT).or_insert(AGENT);
    headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    Ok(message)
}

/// Writes the target as the Host header has it: canonical, and with the port unless the scheme implies it.
fn host(request: &Request) -> String {
    match (&request.target.host, request.url.port()) {
        (_, Some(_)) => request.target.to_string(),
        (Host::Address(std::net::IpAddr::V6(address)), None) => format!("[{address}]"),
        (host, None) => host.to_string(),
    }
}
