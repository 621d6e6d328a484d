use proptest::prelude::*;

use super::*;

/// What passed, how many requests it was, and why no more did.
#[derive(Debug, Eq, PartialEq)]
struct Outcome {
    passed: Vec<u8>,
    requests: u32,
    fault: Option<HttpFault>,
    paused: bool,
}

fn requests(target: &str) -> Requests {
    Requests::new(Target::from_authority(target).unwrap())
}

/// Plays the caller: the bytes come in pieces of these lengths, over and over.
fn play(requests: &mut Requests, mut bytes: &[u8], lengths: &[usize]) -> Outcome {
    let mut outcome = Outcome { passed: Vec::new(), requests: 0, fault: None, paused: false };
    let mut pending = Vec::new();
    for length in lengths.iter().cycle() {
        let (piece, rest) = bytes.split_at((*length).max(1).min(bytes.len()));
        pending.extend_from_slice(piece);
        bytes = rest;
        loop {
            match requests.judge(&pending) {
                Err(fault) => {
                    assert_eq!(requests.judge(&pending), Err(fault.clone()), "a fault is final");
                    outcome.fault = Some(fault);
                    return outcome;
                }
                Ok(judged) => {
                    outcome.passed.extend(pending.drain(..judged.forward));
                    outcome.requests += judged.requests;
                    outcome.paused = judged.pause;
                    if judged.forward == 0 || pending.is_empty() {
                        break;
                    }
                }
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    outcome
}

/// Judges the text whole and in pieces, which must come to the same.
fn judge(target: &str, text: &[u8]) -> Outcome {
    let whole = play(&mut requests(target), text, &[usize::MAX]);
    for lengths in [&[1][..], &[2], &[3, 5], &[1, 40]] {
        assert_eq!(play(&mut requests(target), text, lengths), whole, "in pieces of {lengths:?}");
    }
    whole
}

const GET: &str = "GET / HTTP/1.1\r\nHost: acme.io\r\n\r\n";

#[test]
fn requests_for_the_target_pass() {
    let long = format!("GET /{} HTTP/1.1\r\nHost: acme.io\r\n\r\n", "x".repeat(60_000));
    #[rustfmt::skip]
    let cases = [
        // target           text                                                                             requests
        ("acme.io:80",      GET.to_owned(),                                                                          1),
        ("acme.io:80",      GET.repeat(3),                                                                           3),
        ("acme.io:80",      long,                                                                                    1),
        ("acme.io:80",      "HEAD /a?b=http://evil.net HTTP/1.0\r\nhost:ACME.io\r\n\r\n".to_owned(),                 1),
        ("acme.io:80",      "GET / HTTP/1.1\r\nHost: acme.io.:80\r\n\r\n".to_owned(),                                1),
        ("acme.io:8080",    "GET / HTTP/1.1\r\nHost: acme.io:8080\r\n\r\n".to_owned(),                               1),
        ("10.0.0.1:80",     "GET / HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n".to_owned(),                                   1),
        ("[fd00::1]:80",    "GET / HTTP/1.1\r\nHost: [FD00::1]\r\n\r\n".to_owned(),                                  1),
        ("[fd00::1]:81",    "GET / HTTP/1.1\r\nHost: [fd00::1]:81\r\n\r\n".to_owned(),                               1),
        ("acme.io:80",      "GET http://acme.io/a HTTP/1.1\r\nHost: acme.io\r\n\r\n".to_owned(),                     1),
        ("acme.io:80",      "GET http://acme.io:80?a HTTP/1.1\r\nHost: acme.io\r\n\r\n".to_owned(),                  1),
        ("acme.io:80",      "GET http://acme.io HTTP/1.1\r\nHost: acme.io:80\r\n\r\n".to_owned(),                    1),
        ("acme.io:80",      "OPTIONS * HTTP/1.1\r\nHost: acme.io\r\n\r\n".to_owned(),                               1),
        ("acme.io:80",      "GET //evil.net/ HTTP/1.1\r\nHost: acme.io\r\nX-Forwarded-Host: evil.net\r\n\r\n".to_owned(), 1),
        ("acme.io:80",      "GET / HTTP/1.1\r\nX: caf\u{e9}\r\nHost: acme.io\r\nY:\r\n\r\n".to_owned(),              1),
        ("acme.io:80",      format!("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5\r\n\r\nGET /{GET}"),      2),
        ("acme.io:80",      format!("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 0\r\n\r\n{GET}"),           2),
        ("acme.io:80",      format!("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: acme.io\r\n\r\n0\r\n\r\n{GET}"), 2),
        ("acme.io:80",      format!("PUT / HTTP/1.1\r\nHost: acme.io\r\ntransfer-encoding:chunked\r\n\r\n\
                                     4;a=\"b c\"\r\n\r\n\r\n\r\n00a\r\n0123456789\r\n0\r\nDigest: x\r\n\r\n{GET}"), 2),
        ("acme.io:80",      "GET / HTTP/1.1\r\nHost: acme.io\r\nConnection: keep-alive, close\r\n\r\n".to_owned(),   1),
    ];
    for (target, text, count) in cases {
        let outcome = judge(target, text.as_bytes());
        assert_eq!(outcome.fault, None, "{text}");
        assert_eq!((outcome.passed, outcome.requests), (text.into_bytes(), count));
    }
}

#[test]
fn nothing_of_a_faulty_head_passes() {
    let host =
        |found: &str| format!("the Host header names `{found}` and the connection goes to `acme.io:80`");
    let asks =
        |found: &str| format!("the request asks for `{found}` and the connection goes to `acme.io:80`");
    let form =
        |found: &str| format!("the request asks for `{found}`, which is neither a path nor an http URL");
    let spelled =
        |line: &str| format!("the header line `{line}` is spelled in a way that servers read differently");
    let length = |value: &str| format!("the Content-Length `{value}` is not a plain decimal number");
    let coding = |value: &str| format!("the Transfer-Encoding `{value}` is not `chunked` alone");
    let hop = |name: &str| {
        format!("the Connection header lists `{name}`, which decides where the request goes or ends")
    };
    let upgrade =
        |name: &str| format!("an upgrade to `{name}` is refused, because its requests are not judged");
    let byte = |found: &str| format!("the request has the control byte 0x{found} in its head or trailer");
    let (line_end, fold) =
        ("a line of the request does not end in CRLF", "a header line begins with a space");
    let (first, header) =
        ("the first line is not a request of HTTP/1", "a header line is not a name, a colon and a value");
    let connect = "the method CONNECT is refused: connections are judged one by one, and need no proxy";
    let twice = |name: &str| format!("the request has more than one {name} header");
    let body = |method: &str| {
        format!("the {method} request has a body, which many servers would read as the next request")
    };
    let both = "the request has both a Content-Length and a Transfer-Encoding";
    let many = "X: y\r\n".repeat(100);
    #[rustfmt::skip]
    let cases = [
        // the lines of the head, each with its end                          why it is refused
        ("GET / HTTP/1.1\r\nHost: evil.net\r\n",                             host("evil.net")),
        ("GET / HTTP/1.1\r\nHost: acme.io:81\r\n",                           host("acme.io:81")),
        ("GET / HTTP/1.1\r\nHost: acme.io:\r\n",                             host("acme.io:")),
        ("GET / HTTP/1.1\r\nHost: acme.io:080\r\n",                          host("acme.io:080")),
        ("GET / HTTP/1.1\r\nHost: acme.io..\r\n",                            host("acme.io..")),
        ("GET / HTTP/1.1\r\nHost: acme.io, acme.io\r\n",                     host("acme.io, acme.io")),
        ("GET / HTTP/1.1\r\nHost: me@acme.io\r\n",                           host("me@acme.io")),
        ("GET / HTTP/1.1\r\nHost: acme.io/\r\n",                             host("acme.io/")),
        ("GET / HTTP/1.1\r\nHost: acme.io evil.net\r\n",                     host("acme.io evil.net")),
        ("GET / HTTP/1.1\r\nHost: http://acme.io\r\n",                       host("http://acme.io")),
        ("GET / HTTP/1.1\r\nHost: acme%2eio\r\n",                            host("acme%2eio")),
        ("GET / HTTP/1.1\r\nHost: acme\u{3002}io\r\n",                       host("acme\\xe3\\x80\\x82io")),
        ("GET / HTTP/1.1\r\nHost:\r\n",                                      host("")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nHost: evil.net\r\n",            host("evil.net")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nhost: acme.io\r\n",             twice("Host")),
        ("GET / HTTP/1.1\r\nX: y\r\n",                                       "the request has no Host header".to_owned()),
        ("GET / HTTP/1.0\r\n",                                               "the request has no Host header".to_owned()),
        ("GET / HTTP/1.1\r\nHost : acme.io\r\n",                             header.to_owned()),
        ("GET / HTTP/1.1\r\nHost:  acme.io\r\n",                             spelled("Host:  acme.io")),
        ("GET / HTTP/1.1\r\nHost: acme.io \r\n",                             spelled("Host: acme.io ")),
        ("GET / HTTP/1.1\r\nHost:\tacme.io\r\n",                             byte("09")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nX: a\0b\r\n",                   byte("00")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nX: a\u{7f}b\r\n",               byte("7F")),
        ("\u{16}\u{3}\u{1}",                                                 byte("16")),
        ("GET / HTTP/1.1\r\nHost: evil.net\r\n X: acme.io\r\n",              fold.to_owned()),
        ("GET / HTTP/1.1\r\nHost:\r\n acme.io\r\n",                          fold.to_owned()),
        ("GET / HTTP/1.1\r\n Host: acme.io\r\n",                             fold.to_owned()),
        ("GET / HTTP/1.1\nHost: acme.io\r\n",                                line_end.to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\nX: y\r\n",                        line_end.to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\n\nGET / HTTP/1.1\r\n",            line_end.to_owned()),
        ("GET / HTTP/1.1\r\nX: y\rHost: acme.io\r\n",                        line_end.to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\n\rX: y\r\n",                    line_end.to_owned()),
        ("\r\nGET / HTTP/1.1\r\nHost: acme.io\r\n",                          "there is an empty line before the request".to_owned()),
        (" GET / HTTP/1.1\r\nHost: acme.io\r\n",                             first.to_owned()),
        ("GET  / HTTP/1.1\r\nHost: acme.io\r\n",                             first.to_owned()),
        ("GET / HTTP/1.1 \r\nHost: acme.io\r\n",                             first.to_owned()),
        ("GET /a b HTTP/1.1\r\nHost: acme.io\r\n",                           first.to_owned()),
        ("GET /\r\nHost: acme.io\r\n",                                       first.to_owned()),
        ("G@T / HTTP/1.1\r\nHost: acme.io\r\n",                              first.to_owned()),
        ("GET / HTTP/1.2\r\nHost: acme.io\r\n",                              "the version `HTTP/1.2` is neither HTTP/1.0 nor HTTP/1.1".to_owned()),
        ("GET / http/1.1\r\nHost: acme.io\r\n",                              "the version `http/1.1` is neither HTTP/1.0 nor HTTP/1.1".to_owned()),
        ("PRI * HTTP/2.0\r\n",                                               "the connection begins with the preface of HTTP/2, and only HTTP/1 is judged".to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nX\r\n",                         header.to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\n: y\r\n",                       header.to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nX\u{e9}: y\r\n",                header.to_owned()),
        ("CONNECT acme.io:80 HTTP/1.1\r\nHost: acme.io:80\r\n",              connect.to_owned()),
        ("CONNECT / HTTP/1.1\r\nHost: acme.io\r\n",                          connect.to_owned()),
        ("GET http://evil.net/ HTTP/1.1\r\nHost: acme.io\r\n",               asks("evil.net")),
        ("GET http://acme.io@evil.net/ HTTP/1.1\r\nHost: acme.io\r\n",       asks("acme.io@evil.net")),
        ("GET http://evil.net\\.acme.io HTTP/1.1\r\nHost: acme.io\r\n",      asks("evil.net\\\\.acme.io")),
        ("GET http:/// HTTP/1.1\r\nHost: acme.io\r\n",                       asks("")),
        ("GET http://acme.io/ HTTP/1.1\r\nHost: evil.net\r\n",               host("evil.net")),
        ("GET https://acme.io/ HTTP/1.1\r\nHost: acme.io\r\n",               form("https://acme.io/")),
        ("GET acme.io/ HTTP/1.1\r\nHost: acme.io\r\n",                       form("acme.io/")),
        ("GET acme.io:80 HTTP/1.1\r\nHost: acme.io\r\n",                     form("acme.io:80")),
        ("GET * HTTP/1.1\r\nHost: acme.io\r\n",                              form("*")),
        ("GET /a#b HTTP/1.1\r\nHost: acme.io\r\n",                           form("/a#b")),
        ("GET /\u{e9} HTTP/1.1\r\nHost: acme.io\r\n",                        form("/\\xc3\\xa9")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: +5\r\n",       length("+5")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5, 5\r\n",     length("5, 5")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 05\r\n",       length("05")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 0x5\r\n",      length("0x5")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: -1\r\n",       length("-1")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length:\r\n",          length("")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 18446744073709551616\r\n", length("18446744073709551616")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5\r\nContent-Length: 5\r\n", twice("Content-Length")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent_Length: 5\r\n",        spelled("Content_Length: 5")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5 \r\n",       spelled("Content-Length: 5 ")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", both.to_owned()),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", both.to_owned()),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: gzip, chunked\r\n", coding("gzip, chunked")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: Chunked\r\n", coding("Chunked")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: identity\r\n", coding("identity")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: \"chunked\"\r\n", coding("\\\"chunked\\\"")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", twice("Transfer-Encoding")),
        ("POST / HTTP/1.0\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\n", "a request of HTTP/1.0 has a Transfer-Encoding".to_owned()),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5\r\n",         body("GET")),
        ("HEAD / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\n", body("HEAD")),
        ("DELETE / HTTP/1.1\r\nContent-Length: 5\r\nHost: acme.io\r\n",      body("DELETE")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nConnection: close, host\r\n",   hop("host")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nConnection: Content-Length\r\n", hop("Content-Length")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nUpgrade: h2c\r\n",              upgrade("h2c")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nUpgrade: websocket, H2C\r\n",   upgrade("H2C")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nUpgrade: HTTP/2.0\r\n",         upgrade("HTTP/2.0")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nUpgrade: TLS/1.2\r\n",          upgrade("TLS/1.2")),
        ("GET / HTTP/1.1\r\nHost: acme.io\r\nHTTP2-Settings: AAMAAABk\r\n",  upgrade("h2c")),
        ("POST / HTTP/1.1\r\nHost: acme.io\r\nUpgrade: websocket\r\nContent-Length: 5\r\n", "a request for an upgrade has a body".to_owned()),
        (&format!("GET / HTTP/1.1\r\nHost: acme.io\r\n{many}"),              "the request has more than 100 headers".to_owned()),
        (&format!("GET / HTTP/1.1\r\nX: {}\r\n", "y".repeat(70_000)),        "the head of the request is longer than 65536 bytes".to_owned()),
    ];
    for (head, sentence) in cases {
        let outcome = judge("acme.io:80", format!("{head}\r\n").as_bytes());
        assert_eq!(outcome.fault.map(|fault| fault.to_string()), Some(sentence), "{head}");
        assert_eq!((outcome.passed, outcome.requests), (Vec::new(), 0), "{head}");
        let later = judge("acme.io:80", format!("{GET}{head}\r\n").as_bytes());
        assert!(later.fault.is_some(), "{head}");
        assert_eq!((later.passed, later.requests), (GET.as_bytes().to_vec(), 1), "{head}");
    }
}

#[test]
fn an_address_is_named_in_its_canonical_spelling() {
    for (target, host) in [
        ("127.0.0.1:80", "0x7f.1"),
        ("127.0.0.1:80", "127.0.0.1."),
        ("127.0.0.1:80", "127.1"),
        ("127.0.0.1:80", "localhost"),
        ("[fd00::1]:80", "fd00::1"),
        ("[fd00::1]:80", "[fd00:0::1]"),
        ("[fd00::1]:80", "[fd00::1%25eth0]"),
    ] {
        let outcome = judge(target, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert!(matches!(outcome.fault, Some(HttpFault::Host { .. })), "{target} ~ {host}");
    }
}

#[test]
fn a_chunked_body_ends_where_every_server_ends_it() {
    let head = "POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = format!("5;{}\r\n", "x".repeat(260));
    let trailer = format!("0\r\nX: {}\r\n\r\n", "y".repeat(9_000));
    let fields = format!("0\r\n{}\r\n", "X: y\r\n".repeat(101));
    #[rustfmt::skip]
    let cases: &[(&str, &str, HttpFault)] = &[
        // body                             what passes of it     why no more does
        ("5\nhello\r\n",                    "",                   HttpFault::ChunkSize),
        ("\r\n",                            "",                   HttpFault::ChunkSize),
        (" 5\r\nhello\r\n",                 "",                   HttpFault::ChunkSize),
        ("5 \r\nhello\r\n",                 "",                   HttpFault::ChunkSize),
        ("5 ;a\r\nhello\r\n",               "",                   HttpFault::ChunkSize),
        ("0x5\r\nhello\r\n",                "",                   HttpFault::ChunkSize),
        ("+5\r\nhello\r\n",                 "",                   HttpFault::ChunkSize),
        ("-1\r\nhello\r\n",                 "",                   HttpFault::ChunkSize),
        ("5;\r\r\nhello\r\n",               "",                   HttpFault::ChunkSize),
        ("5;a\nb\r\nhello\r\n",             "",                   HttpFault::ChunkSize),
        ("5;\u{e9}\r\nhello\r\n",           "",                   HttpFault::ChunkSize),
        ("10000000000000000\r\nhello\r\n",  "",                   HttpFault::ChunkSize),
        (&long,                             "",                   HttpFault::ChunkSize),
        ("5\r\nhelloX\r\n",                 "5\r\nhello",         HttpFault::ChunkEnd),
        ("5\r\nhello\n0\r\n\r\n",           "5\r\nhello",         HttpFault::ChunkEnd),
        ("5\r\nhello\rX",                   "5\r\nhello",         HttpFault::ChunkEnd),
        ("0\r\nHost: evil.net\r\n\r\n",     "0\r\n",              HttpFault::Trailer { name: "Host".to_owned() }),
        ("0\r\ncontent-length: 1\r\n\r\n",  "0\r\n",              HttpFault::Trailer { name: "content-length".to_owned() }),
        ("0\r\nTransfer_Encoding: x\r\n\r\n", "0\r\n",            HttpFault::Trailer { name: "Transfer_Encoding".to_owned() }),
        ("0\r\nX: y\n\r\n",                 "0\r\n",              HttpFault::LineEnd),
        ("0\r\nX: y\r\n z\r\n\r\n",         "0\r\n",              HttpFault::Fold),
        ("0\r\nGET / HTTP/1.1\r\n\r\n",     "0\r\n",              HttpFault::Header),
        (&trailer,                          "0\r\n",              HttpFault::TrailerLong),
        (&fields,                           "0\r\n",              HttpFault::Headers),
    ];
    for (body, passed, fault) in cases {
        let outcome = judge("acme.io:80", format!("{head}{body}").as_bytes());
        assert_eq!(outcome.fault.as_ref(), Some(fault), "{body:?}");
        assert_eq!(outcome.passed, format!("{head}{passed}").into_bytes(), "{body:?}");
    }
}

#[test]
fn an_upgrade_waits_for_the_server() {
    let upgrade = "GET /chat HTTP/1.1\r\nHost: acme.io\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let text = format!("{upgrade}\u{0}\u{1}frames");
    let outcome = judge("acme.io:80", text.as_bytes());
    assert_eq!((outcome.passed, outcome.paused, outcome.fault), (upgrade.as_bytes().to_vec(), true, None));

    let mut agreed = requests("acme.io:80");
    play(&mut agreed, upgrade.as_bytes(), &[usize::MAX]);
    agreed.upgraded();
    let outcome = play(&mut agreed, b"\0\x01frames", &[2]);
    assert_eq!((outcome.passed, outcome.paused, outcome.fault), (b"\0\x01frames".to_vec(), false, None));

    let mut declined = requests("acme.io:80");
    play(&mut declined, upgrade.as_bytes(), &[usize::MAX]);
    declined.not_upgraded();
    declined.upgraded(); // too late: nothing is waited for
    assert_eq!(play(&mut declined, GET.as_bytes(), &[9]).passed, GET.as_bytes());
    let outcome = play(&mut declined, upgrade.as_bytes(), &[9]);
    assert_eq!((outcome.passed, outcome.fault), (Vec::new(), Some(HttpFault::UpgradeLate)));

    let mut never = requests("acme.io:80");
    never.upgraded(); // nothing was asked for
    assert!(play(&mut never, b"\0\x01frames", &[2]).fault.is_some());
}

#[test]
fn a_connection_may_end_between_requests() {
    for (text, ended) in [("", true), (GET, true), ("GET", false)] {
        let mut requests = requests("acme.io:80");
        play(&mut requests, text.as_bytes(), &[3]);
        assert_eq!(requests.ended(), ended, "{text}");
    }
    let mut body = requests("acme.io:80");
    play(&mut body, b"POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 2\r\n\r\na", &[3]);
    assert!(!body.ended());
}

#[test]
fn a_fault_stays_on_one_short_line() {
    let head = format!("GET / HTTP/1.1\r\nHost: \u{2028}`{}\r\n\r\n", "x".repeat(500));
    let sentence = judge("acme.io:80", head.as_bytes()).fault.unwrap().to_string();
    assert!(sentence.is_ascii() || sentence.contains('…'), "{sentence}");
    assert!(sentence.len() < 200, "{sentence}");
}

#[test]
fn the_status_of_the_final_answer_is_found() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "y".repeat(70_000));
    #[rustfmt::skip]
    let cases = [
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\0\x01",  Ok(Some(101))),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 101 \r\n\r\n", Ok(Some(101))),
        ("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nHTTP/1.1 101 \r\n\r\n", Ok(Some(404))),
        ("HTTP/1.1 200 OK\n\nbody",                                               Ok(Some(200))),
        ("HTTP/1.1 200 OK\n\r\nbody",                                             Ok(Some(200))),
        ("HTTP/1.1 101 Switching Protocols\r\n",                                  Ok(None)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1",                                   Ok(None)),
        ("",                                                                      Ok(None)),
        ("HTTP/2 200\r\n\r\n",                                                    Err(HttpFault::Answer)),
        ("SSH-2.0-x\r\n",                                                         Err(HttpFault::Answer)),
        ("\r\nHTTP/1.1 101 \r\n\r\n",                                             Err(HttpFault::Answer)),
        ("HTTP/1.1 abc OK\r\n\r\n",                                               Err(HttpFault::Answer)),
        (long.as_str(),                                                           Err(HttpFault::AnswerLong)),
    ];
    for (text, expected) in cases {
        assert_eq!(Answer::new().take(text.as_bytes()), expected, "{text}");
        for length in [1, 2, 7] {
            let mut answer = Answer::new();
            let mut last = Ok(None);
            for piece in text.as_bytes().chunks(length) {
                last = answer.take(piece);
            }
            assert_eq!(last, expected, "{text}");
        }
    }
}

#[test]
fn a_refusal_is_a_complete_answer() {
    let bytes = forbidden("HOST_NOT_ALLOWED: bücher.de");
    assert_eq!(Answer::new().take(&bytes), Ok(Some(403)));
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
    assert_eq!(body, "HOST_NOT_ALLOWED: bücher.de\n");
}

/// Pieces of which requests, good and bad, can be put together.
const PIECES: &[&str] = &[
    "GET / HTTP/1.1\r\n",
    "POST /a HTTP/1.1\r\n",
    "GET http://acme.io/ HTTP/1.1\r\n",
    "Host: acme.io\r\n",
    "Host: evil.net\r\n",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Upgrade: websocket\r\n",
    "\r\n",
    "hello",
    "5\r\n",
    "0\r\n",
    "X: y\r\n",
    GET,
    "POST / HTTP/1.1\r\nHost: acme.io\r\nContent-Length: 5\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: acme.io\r\nTransfer-Encoding: chunked\r\n\r\n",
    "\n",
    " ",
    "\0",
];

proptest! {
    #[test]
    fn any_cut_lets_the_same_bytes_pass(
        picks in prop::collection::vec(0..PIECES.len(), 0..14),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        lengths in prop::collection::vec(1..60_usize, 1..8),
    ) {
        let mut bytes = picks.iter().flat_map(|&pick| PIECES[pick].bytes()).collect::<Vec<u8>>();
        if let (Some((place, value)), false) = (damage, bytes.is_empty()) {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let whole = play(&mut requests("acme.io:80"), &bytes, &[usize::MAX]);
        let pieces = play(&mut requests("acme.io:80"), &bytes, &lengths);
        prop_assert!(bytes.starts_with(&whole.passed));
        prop_assert_eq!(whole, pieces);
    }
}
