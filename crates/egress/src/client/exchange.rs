//! One hop: judge and dial, shake hands, send, read the head of the answer.

use std::net::SocketAddr;

use http::header::{self, HeaderValue};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ringfence_policy::Host;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::Client;
use super::metered::Metered;
use crate::body::Body;
use crate::response::Receipt;
use crate::scope::{Ticket, Via, Watch};
use crate::{Bytes, EgressError, Pinned, Request, Response, Scope};

/// What a response may be encoded with.
const ACCEPTED: HeaderValue = HeaderValue::from_static("gzip, deflate, br");

const AGENT: HeaderValue = HeaderValue::from_static(concat!("ringfence/", env!("CARGO_PKG_VERSION")));

type Answer = (http::Response<hyper::body::Incoming>, AbortOnDropHandle<()>);

impl Client {
    /// Makes one hop, which is one connection of the scope.
    pub(super) async fn exchange(
        &self,
        scope: &Scope,
        request: &Request,
        deadline: Instant,
    ) -> Result<Response, EgressError> {
        let message = message(request)?;
        let watch = scope.watch();
        let (ticket, entered) = Ticket::enter(scope, request.target.clone(), Via::Fetch);
        let receipt = Receipt::new(ticket);
        let answered = match entered {
            Ok(()) => self.answered(scope, request, message, &receipt, watch).await,
            Err(refusal) => Err(refusal.into()),
        };
        let (address, (answer, connection)) = answered.map_err(|error| receipt.explain(error))?;
        let (mut head, incoming) = answer.into_parts();
        let body = Body::new(incoming, &mut head.headers, request.limit.unwrap_or(self.limit));
        let body = body.map_err(|error| receipt.explain(error))?;
        Ok(Response {
            status: head.status,
            headers: head.headers,
            url: request.url.clone(),
            address,
            body,
            deadline,
            connection,
            receipt: receipt.answered(),
        })
    }

    /// Judges, dials, sends, and reads the head of the answer.
    async fn answered(
        &self,
        scope: &Scope,
        request: &Request,
        message: http::Request<Full<Bytes>>,
        receipt: &Receipt,
        watch: Watch,
    ) -> Result<(SocketAddr, Answer), EgressError> {
        let target = &request.target;
        scope.meter().request()?;
        let grant = scope.admit(target).await?;
        if let Host::Name(name) = &target.host {
            scope.count_name(&grant, name)?;
        }
        let dialling = self.dialer.dial_within(scope.lookup_permits(), &grant, target);
        let Pinned { stream, address } = dialling.await?;
        let stream = Metered::new(stream, address, receipt.ticket(), watch)?;
        let answer = if request.url.scheme() == "https" {
            exchange_over(self.tls.connect(target, stream).await?, message).await?
        } else {
            exchange_over(stream, message).await?
        };
        Ok((address, answer))
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
