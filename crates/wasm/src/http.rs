//! `wasi:http/outgoing-handler`, through the one function that lets requests out.
//!
//! INVARIANT: a request leaves only through the call's `ScopedFetch`, which judges it. A redirect is handed back as it
//! is: a guest that follows it makes a new request, which is judged like the first.

use std::future::Future;
use std::sync::Arc;

use futures_util::stream;
use http::uri::Scheme;
use http_body::Frame;
use http_body_util::{BodyExt, Limited, StreamBody};
use ringfence::Context;
use ringfence::egress::{Bytes, EgressError, Request, Response};
use tokio::sync::Semaphore;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::state::Refusals;

/// How large the body of a request may be.
const MOST_SENT: usize = 16 << 20;

/// How many requests of a call may be under way.
const UNDER_WAY: usize = 4;

/// Headers that the client writes itself, from the URL and the body.
const OWN: &[&str] = &["content-length", "host"];

/// Sends the requests of one call.
#[derive(Debug)]
pub(crate) struct Sender {
    context: Option<Context>,
    refused: Refusals,
    /// As many as may be under way: what each has of its body is held here.
    under_way: Arc<Semaphore>,
}

impl Sender {
    pub(crate) fn new(context: Option<Context>, refused: Refusals) -> Self {
        Self { context, refused, under_way: Arc::new(Semaphore::new(UNDER_WAY)) }
    }
}

type Sent = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

impl WasiHttpHooks for Sender {
    fn is_supported_scheme(&mut self, scheme: &Scheme) -> bool {
        *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _answered: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Sent, Error>> + Send> {
        let (context, refused) = (self.context.clone(), self.refused.clone());
        let under_way = Arc::clone(&self.under_way);
        Box::new(async move {
            let _held = under_way.acquire().await.map_err(|error| told(&error))?;
            let response = send(context, &refused, request, options).await?;
            let done: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(async { Ok(()) });
            Ok((answer(response, refused)?, done))
        })
    }
}

async fn send(
    context: Option<Context>,
    refused: &Refusals,
    request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<Response, Error> {
    let context = context.ok_or(Error::HttpRequestDenied)?;
    let fetch = context.fetch().map_err(|refusal| {
        refused.note(&refusal);
        told(&refusal)
    })?;
    let (head, body) = request.into_parts();
    let mut asked =
        Request::new(head.method, &head.uri.to_string()).map_err(|error| failed(&error, refused))?;
    for (name, value) in &head.headers {
        if OWN.contains(&name.as_str()) {
            continue;
        }
        let value = value.to_str().map_err(|error| told(&error))?;
        asked = asked.header(name.as_str(), value).map_err(|error| failed(&error, refused))?;
    }
    let exchange = fetch.fetch(asked.body(whole(body).await?).keeping_redirects());
    let first_byte = options.and_then(|options| {
        options.first_byte_timeout.map(|first| first + options.connect_timeout.unwrap_or_default())
    });
    let answered = match first_byte {
        Some(longest) => {
            tokio::time::timeout(longest, exchange).await.map_err(|_| Error::HttpResponseTimeout)?
        }
        None => exchange.await,
    };
    answered.map_err(|error| failed(&error, refused))
}

/// Collects the body of a request, which must end within its limit.
async fn whole(body: WasiBody) -> Result<Bytes, Error> {
    let body = Limited::new(body, MOST_SENT).collect().await;
    Ok(body.map_err(|_| Error::HttpRequestBodySize(Some(MOST_SENT as u64)))?.to_bytes())
}

/// Returns the response, its body still to be read.
fn answer(response: Response, refused: Refusals) -> Result<http::Response<WasiBody>, Error> {
    let mut head = http::Response::builder().status(response.status());
    if let Some(headers) = head.headers_mut() {
        headers.extend(response.headers().clone());
    }
    let pieces = stream::unfold(Some((response, refused)), |reading| async move {
        let (mut response, refused) = reading?;
        match response.chunk().await {
            Ok(Some(piece)) => Some((Ok(Frame::data(piece)), Some((response, refused)))),
            Ok(None) => None,
            Err(error) => Some((Err(failed(&error, &refused)), None)),
        }
    });
    head.body(StreamBody::new(pieces).boxed_unsync()).map_err(|error| told(&error))
}

/// Returns the code of an error where a later try may go better; else its sentence, which is remembered where it is a
/// refusal.
fn failed(error: &EgressError, refused: &Refusals) -> Error {
    match error {
        EgressError::Connect { .. } => Error::ConnectionRefused,
        EgressError::Deadline => Error::ConnectionTimeout,
        EgressError::Exchange(_) => Error::ConnectionTerminated,
        EgressError::Refused(refusal) => {
            refused.note(refusal);
            told(error)
        }
        _ => told(error),
    }
}

/// The one code of the interface that carries a sentence.
fn told(sentence: &impl std::fmt::Display) -> Error {
    Error::InternalError(Some(sentence.to_string()))
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    fn body(bytes: usize) -> WasiBody {
        Full::new(Bytes::from(vec![0; bytes])).map_err(|never| match never {}).boxed_unsync()
    }

    #[tokio::test]
    async fn a_request_has_a_body_within_its_limit() {
        assert_eq!(whole(body(MOST_SENT)).await.unwrap().len(), MOST_SENT);
        let large = whole(body(MOST_SENT + 1)).await;
        assert!(matches!(large, Err(Error::HttpRequestBodySize(Some(limit))) if limit == MOST_SENT as u64));
    }
}
