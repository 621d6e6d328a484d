use std::time::Duration;

use async_compression::Level;
use async_compression::tokio::write::{GzipEncoder, ZlibEncoder};
use ringfence_egress::{Client, EgressError, Request, Response};
use ringfence_policy::Code;
use tokio::io::AsyncWriteExt;

use crate::it::server::{HOLD, Server, client, response, scope};
use crate::it::wait::{StoppedClock, rest_a_moment, wait_until};

async fn fetch(client: &Client, server: &Server, limit: u64) -> Result<Response, EgressError> {
    let request = Request::get(&format!("http://one.acme.io:{}/", server.port())).unwrap().limit(limit);
    client.send(&scope(&["one.acme.io"], &["127.0.0.1"]), request).await
}

async fn encoded(encoding: &str, plain: &[u8]) -> Vec<u8> {
    macro_rules! encode {
        ($encoder:ident) => {{
            let mut encoder = $encoder::with_quality(Vec::new(), Level::Fastest);
            encoder.write_all(plain).await.unwrap();
            encoder.shutdown().await.unwrap();
            encoder.into_inner()
        }};
    }
    match encoding {
        "br" => brotli(plain),
        "deflate" => encode!(ZlibEncoder),
        "gzip" => encode!(GzipEncoder),
        _ => plain.to_vec(),
    }
}

/// Encodes zeros to almost nothing, and other text as it is: there is no encoder here.
fn brotli(plain: &[u8]) -> Vec<u8> {
    if plain.is_empty() {
        return vec![0x06];
    }
    if plain == vec![0; 16 << 20] {
        // Made by the reference encoder.
        return vec![
            0xcb, 0xff, 0xff, 0x3f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x8f, 0xff, 0xff,
            0x7f, 0xf0, 0x4f, 0x00, 0xc4, 0x61, 0x11, 0x80, 0xee, 0xfd, 0xdf,
        ];
    }
    // One bit for a window of 64 KiB, three for a block that is not the last, its length less one, one bit for a block that
    // is not compressed; then the last block, which is empty.
    let length = u16::try_from(plain.len() - 1).unwrap();
    let head = (u32::from(length) << 4 | 1 << 20).to_le_bytes();
    [&head[..3], plain, &[0x03]].concat()
}

#[tokio::test]
async fn bodies_are_decoded_and_their_headers_stay_true() {
    for encoding in ["br", "deflate", "gzip", "identity"] {
        let body = encoded(encoding, b"{\"ring\": \"fence\"}").await;
        let headers = format!("content-encoding: {encoding}\r\n");
        let server = Server::start("127.0.0.1", move |_| response("200 OK", &headers, &body)).await;
        let response = fetch(&client(), &server, 100).await.unwrap();
        assert_eq!(response.headers().contains_key("content-length"), encoding == "identity", "{encoding}");
        let value: serde_json::Value = response.json().await.unwrap();
        assert_eq!(value["ring"], "fence", "{encoding}");
    }
}

#[tokio::test]
async fn layers_are_undone_and_counted() {
    let twice = encoded("gzip", &encoded("br", b"inner").await).await;
    let server = Server::start("127.0.0.1", move |_| {
        response("200 OK", "content-encoding: br\r\ncontent-encoding: gzip\r\n", &twice)
    })
    .await;
    assert_eq!(fetch(&client(), &server, 100).await.unwrap().text().await.unwrap(), "inner");

    let deep = Server::start("127.0.0.1", |_| {
        response("200 OK", "content-encoding: gzip, gzip, gzip, gzip\r\n", b"x")
    })
    .await;
    assert_eq!(fetch(&client(), &deep, 100).await.unwrap_err().code(), Code::ExecutionFailed);

    let unknown =
        Server::start("127.0.0.1", |_| response("200 OK", "content-encoding: zstd\r\n", b"raw")).await;
    let response = fetch(&client(), &unknown, 100).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "zstd");
    assert_eq!(response.text().await.unwrap(), "raw");
}

#[tokio::test]
async fn an_empty_body_is_empty_however_it_is_encoded() {
    for encoding in ["br", "deflate", "gzip"] {
        let server = Server::start("127.0.0.1", move |_| {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked";
            format!("{head}\r\ncontent-encoding: {encoding}\r\n\r\n0\r\n\r\n").into_bytes()
        })
        .await;
        assert_eq!(fetch(&client(), &server, 100).await.unwrap().text().await.unwrap(), "", "{encoding}");
    }
}

#[tokio::test]
async fn a_bomb_stops_at_the_limit() {
    for encoding in ["br", "deflate", "gzip"] {
        let bomb = encoded(encoding, &vec![0; 16 << 20]).await;
        let headers = format!("content-encoding: {encoding}\r\n");
        let server = Server::start("127.0.0.1", move |_| response("200 OK", &headers, &bomb)).await;
        let mut response = fetch(&client(), &server, 1 << 20).await.unwrap();
        let mut taken = 0;
        let error = loop {
            match response.chunk().await {
                Ok(chunk) => taken += chunk.unwrap().len(),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Code::LimitExceeded);
        assert_eq!(error.to_string(), "the response body is larger than 1048576 bytes");
        assert!(taken <= 1 << 20, "{encoding}: {taken}");
    }
}

#[tokio::test]
async fn a_decoder_that_yields_nothing_stops_too() {
    let empty = encoded("gzip", b"").await;
    let endless = empty.repeat((1 << 20) / empty.len());
    let headers = "content-encoding: gzip\r\n";
    let server = Server::start("127.0.0.1", move |_| response("200 OK", headers, &endless)).await;
    let error = fetch(&client(), &server, 1000).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.code(), Code::LimitExceeded);
}

#[tokio::test]
async fn a_layer_that_only_a_decoder_sees_stops_at_the_limit() {
    let empty = encoded("gzip", b"").await;
    let small = encoded("gzip", &empty.repeat((1 << 18) / empty.len())).await;
    assert!(small.len() < 50_000, "{}", small.len());
    let headers = "content-encoding: gzip, gzip\r\n";
    let server = Server::start("127.0.0.1", move |_| response("200 OK", headers, &small)).await;
    let error = fetch(&client(), &server, 1000).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(error.code(), Code::LimitExceeded);
    assert_eq!(error.to_string(), "the response body is larger than 1000 bytes");
}

#[tokio::test]
async fn plain_bodies_end_at_the_limit() {
    let server = Server::start("127.0.0.1", |_| response("200 OK", "", &[b'x'; 100_000])).await;
    assert_eq!(fetch(&client(), &server, 100_000).await.unwrap().bytes().await.unwrap().len(), 100_000);
    let over = fetch(&client(), &server, 99_999).await.unwrap().bytes().await.unwrap_err();
    assert_eq!(over.code(), Code::LimitExceeded);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_failure() {
    let plain =
        Server::start("127.0.0.1", |_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec()).await;
    let mut half = encoded("gzip", b"whole, or so it says").await;
    half.truncate(20);
    let gzip =
        Server::start("127.0.0.1", move |_| response("200 OK", "content-encoding: gzip\r\n", &half)).await;
    let none = Server::start("127.0.0.1", |_| {
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n".to_vec()
    })
    .await;
    for server in [plain, gzip, none] {
        let error = fetch(&client(), &server, 100).await.unwrap().bytes().await.unwrap_err();
        assert_eq!(error.code(), Code::ExecutionFailed, "{error}");
    }
}

#[tokio::test]
async fn the_deadline_covers_the_whole_exchange() {
    let _clock = StoppedClock::new();
    for silence in ["", "content-length: 9\r\n\r\nhalf"] {
        let server =
            Server::start("127.0.0.1", move |_| [b"HTTP/1.1 200 OK\r\n", HOLD, silence.as_bytes()].concat())
                .await;
        let request = Request::get(&format!("http://one.acme.io:{}/", server.port())).unwrap();
        let scope = scope(&["one.acme.io"], &["127.0.0.1"]);
        let read =
            async { client().send(&scope, request.deadline(Duration::from_millis(50))).await?.bytes().await };
        let mut read = std::pin::pin!(read);
        // The clock moves only once the server has said all that it ever says.
        let silent = async {
            wait_until("the server is asked", || !server.seen().is_empty()).await;
            tokio::time::advance(Duration::from_millis(40)).await;
            rest_a_moment(Duration::from_millis(20)).await;
        };
        tokio::select! {
            biased;
            early = &mut read => panic!("{:?}", early.map(|_| ())),
            () = silent => {}
        }
        tokio::time::advance(Duration::from_millis(20)).await;
        assert_eq!(read.await.unwrap_err().code(), Code::DeadlineExceeded);
    }
}
