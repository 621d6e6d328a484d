//! Requests of HTTP/1: the same bytes pass however they are cut, and a simple reader finds only requests for the
//! target in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_egress::wire::http::{Answer, HttpFault, Requests};
use ringfence_policy::Target;

fuzz_target!(|bytes: &[u8]| {
    let whole = play(bytes, |_| usize::MAX);
    assert_eq!(play(bytes, |_| 1), whole);
    assert_eq!(play(bytes, |first| 1 + usize::from(first) % 41), whole);
    let (passed, count, fault, ended) = whole;
    assert!(bytes.starts_with(&passed));
    if let Some(fault) = fault {
        let sentence = fault.to_string();
        assert!(sentence.len() < 400 && !sentence.contains(['\r', '\n']), "{sentence}");
    } else if passed.len() == bytes.len() && ended {
        assert_eq!(read(bytes), Some(count), "every request is for the target");
    }
    let status = Answer::new().take(bytes);
    let mut answer = Answer::new();
    let last = bytes.chunks(3).map(|piece| answer.take(piece)).last();
    assert_eq!(last.unwrap_or(Ok(None)), status);
});

/// Plays the caller: what passes, how many requests it is, why no more passes, and whether the client may stop.
fn play(mut bytes: &[u8], length: impl Fn(u8) -> usize) -> (Vec<u8>, u32, Option<HttpFault>, bool) {
    let mut requests = Requests::new(Target::from_authority("acme.io:80").expect("a target"));
    let (mut pending, mut passed, mut count) = (Vec::new(), Vec::new(), 0);
    while let Some(&first) = bytes.first() {
        let (piece, rest) = bytes.split_at(length(first).min(bytes.len()));
        pending.extend_from_slice(piece);
        bytes = rest;
        loop {
            match requests.judge(&pending) {
                Err(fault) => return (passed, count, Some(fault), requests.ended()),
                Ok(judged) => {
                    passed.extend(pending.drain(..judged.forward));
                    count += judged.requests;
                    if judged.forward == 0 || pending.is_empty() {
                        break;
                    }
                }
            }
        }
    }
    (passed, count, None, requests.ended())
}

/// Counts the requests as a careless server would read them: lines end at LF, and names and values are trimmed.
fn read(mut bytes: &[u8]) -> Option<u32> {
    let mut count = 0;
    while !bytes.is_empty() {
        let (mut hosts, mut length, mut chunked) = (0, 0, false);
        let mut first = true;
        loop {
            let line = line(&mut bytes)?;
            if line.is_empty() {
                break;
            }
            if std::mem::take(&mut first) {
                continue;
            }
            let (name, value) = line.split_once(':')?;
            let value = value.trim().to_ascii_lowercase();
            match name.trim().to_ascii_lowercase().replace('_', "-").as_str() {
                "host" => {
                    hosts += 1;
                    let host = value.strip_suffix(":80").unwrap_or(&value);
                    assert!(matches!(host, "acme.io" | "acme.io."), "{host}");
                }
                "content-length" => length = value.parse::<usize>().ok()?,
                "transfer-encoding" => chunked = value.contains("chunked"),
                _ => {}
            }
        }
        assert_eq!(hosts, 1);
        assert!(length == 0 || !chunked);
        bytes = bytes.get(length..)?;
        while chunked {
            let size = line(&mut bytes)?;
            let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
            if size == 0 {
                while !line(&mut bytes)?.is_empty() {}
                break;
            }
            bytes = bytes.get(size..)?;
            assert_eq!(line(&mut bytes)?, "");
        }
        count += 1;
    }
    Some(count)
}

/// Takes one line from the front.
fn line(bytes: &mut &[u8]) -> Option<String> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
    *bytes = &bytes[end + 1..];
    Some(line.strip_suffix('\r').unwrap_or(&line).to_owned())
}
