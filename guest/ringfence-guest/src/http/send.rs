//! One exchange over `wasi:http/outgoing-handler`.
//!
//! INVARIANT: no more than the limit and one read beyond it are ever held.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    Scheme as WasiScheme,
};
use wasip2::io::streams::StreamError;

use super::address::{Address, Scheme};
use super::{HttpError, Request, Response};

/// As much as one write or read may carry.
const WRITE: usize = 4096;
const READ: u64 = 65536;

pub(crate) fn send(request: &Request, address: &Address) -> Result<Response, HttpError> {
    let outgoing = outgoing(request, address)?;
    let body = outgoing.body().map_err(|()| broken(address, "the request has no body to write"))?;
    let pending = handle(outgoing, None).map_err(|error| said(address, error))?;
    let written = write(body, &request.body);
    pending.subscribe().block();
    match pending.get() {
        Some(Ok(Ok(response))) => {
            written.map_err(|reason| broken(address, &reason))?;
            read(&response, address, request.most)
        }
        // Why there is no answer says more than why nobody read the body.
        Some(Ok(Err(error))) => Err(said(address, error)),
        Some(Err(())) | None => Err(broken(address, "the host gave no answer")),
    }
}

fn outgoing(request: &Request, address: &Address) -> Result<OutgoingRequest, HttpError> {
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers.append(name, value.as_bytes()).map_err(|_error| HttpError::Header { name: name.clone() })?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let method = match request.method.to_ascii_uppercase().as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match address.scheme {
        Scheme::Http => WasiScheme::Http,
        Scheme::Https => WasiScheme::Https,
    };
    outgoing.set_method(&method).map_err(|()| HttpError::Header { name: request.method.clone() })?;
    let part = |reason| move |()| HttpError::Url { url: address.authority.clone(), reason };
    outgoing.set_scheme(Some(&scheme)).map_err(part("its scheme was not accepted"))?;
    outgoing.set_authority(Some(&address.authority)).map_err(part("its host was not accepted"))?;
    outgoing.set_path_with_query(Some(&address.path)).map_err(part("its path was not accepted"))?;
    Ok(outgoing)
}

fn write(body: OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    if !bytes.is_empty() {
        let stream = body.write().map_err(|()| "the body cannot be written".to_owned())?;
        for chunk in bytes.chunks(WRITE) {
            stream.blocking_write_and_flush(chunk).map_err(|error| match error {
                StreamError::LastOperationFailed(error) => error.to_debug_string(),
                StreamError::Closed => "the other side stopped reading".to_owned(),
            })?;
        }
    }
    OutgoingBody::finish(body, None).map_err(|error| sentence(&error))
}

fn read(response: &IncomingResponse, address: &Address, most: usize) -> Result<Response, HttpError> {
    let status = response.status();
    let headers = response.headers().entries();
    let body: IncomingBody =
        response.consume().map_err(|()| broken(address, "the response has no body to read"))?;
    let stream = body.stream().map_err(|()| broken(address, "the response has no body to read"))?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok(Response::new(status, headers, bytes)),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(broken(address, &error.to_debug_string()));
            }
        }
        if bytes.len() > most {
            return Err(HttpError::Long { host: address.authority.clone(), most });
        }
    }
}

fn broken(address: &Address, reason: &str) -> HttpError {
    HttpError::Broken { host: address.authority.clone(), reason: reason.to_owned() }
}

/// Passes a refusal on in the host's own words; everything else broke.
fn said(address: &Address, error: ErrorCode) -> HttpError {
    match error {
        ErrorCode::InternalError(Some(sentence)) => HttpError::Refused(sentence),
        ErrorCode::HttpRequestDenied => {
            HttpError::Refused(format!("the host denied the request to `{}`", address.authority))
        }
        other => broken(address, &sentence(&other)),
    }
}

fn sentence(error: &ErrorCode) -> String {
    match error {
        ErrorCode::InternalError(Some(sentence)) => sentence.clone(),
        other => format!("{other:?}"),
    }
}
