//! Credentials by their place: headers, armour, addresses, commands, password files.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::value::{Strength, convinces, entropy, stands_in};
use super::{ARMOUR, CONTEXT, Found, PLACE, WEAK, decode};
use crate::trigger::Header;

/// Takes non-blank bytes that no notation ends with.
fn word(text: &str, start: usize) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find(ends_word).unwrap_or(rest.len());
    start..start + end
}

/// From a table, since the signs lie among letters and digits and no branch could be guessed.
#[expect(clippy::indexing_slicing, reason = "the list is as long as ASCII")]
fn ends_word(point: char) -> bool {
    const ENDS: [bool; 128] = {
        let mut ends = [false; 128];
        let signs = b"\"'`<>,;\\)} \t\n\x0B\x0C\r";
        let mut index = 0;
        while index < signs.len() {
            ends[signs[index] as usize] = true;
            index += 1;
        }
        ends
    };
    if point.is_ascii() { ENDS[point as usize] } else { point.is_whitespace() }
}

/// Returns the rest of the line from a place, at most 8 KiB.
fn line(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len()).min(8_192);
    rest.get(..rest.floor_char_boundary(end)).unwrap_or_default()
}

/// Headers and their schemes.
pub(super) fn header(text: &str, at: usize, header: Header, found: &mut Vec<Found>) {
    let get = |span: &Range<usize>| text.get(span.clone()).unwrap_or_default();
    match header {
        Header::Bearer => {
            let span = word(text, at + "bearer ".len());
            let value = get(&span);
            if value.len() >= 12 && convinces(value, Strength::Secret, false) {
                found.push(Found { span, label: "token", rank: CONTEXT });
            }
        }
        Header::Basic => {
            let span = word(text, at + "basic ".len());
            let value = get(&span);
            let pair = decode::decoded(value).and_then(|bytes| String::from_utf8(bytes).ok());
            if value.len() >= 8
                && pair.is_some_and(|pair| {
                    pair.split_once(':').is_some_and(|(user, password)| {
                        user.bytes().all(|byte| byte.is_ascii_graphic())
                            && !password.is_empty()
                            && password.bytes().all(|byte| matches!(byte, b' '..=b'~'))
                    })
                })
            {
                found.push(Found { span, label: "basic-auth", rank: CONTEXT });
            }
        }
        Header::Authorization => authorization(text, at, found),
        Header::Cookie => {
            let start = at + text.get(at..).and_then(|rest| rest.find(':')).unwrap_or(0) + 1;
            cookies(text, start, found);
        }
    }
}

/// `Authorization: <scheme> <value>`, in any notation.
fn authorization(text: &str, at: usize, found: &mut Vec<Found>) {
    const SCHEMES: &[&str] = &[
        "bearer",
        "basic",
        "token",
        "apikey",
        "bot",
        "digest",
        "negotiate",
        "ntlm",
        "splunk",
        "ssws",
        "genie",
        "key",
        "oauth",
        "snowflake",
        "zoho-oauthtoken",
        "aws4-hmac-sha256",
        "sharedkey",
        "discord",
        "pat",
    ];
    let start = at + "authorization".len();
    let rest = line(text, start);
    let skipped = rest
        .bytes()
        .take_while(|byte| {
            matches!(
                byte,
                b'"' | b'\'' | b' ' | b'\t' | b':' | b'=' | b'\\' | b']' | b'`' | b'*' | b'>' | b','
            )
        })
        .count();
    if !rest.get(..skipped).is_some_and(|sign| sign.contains([':', '=', ',', '>'])) {
        return;
    }
    let mut begin = start + skipped;
    let first = word(text, begin);
    let scheme = text.get(first.clone()).unwrap_or_default();
    let named = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if named {
        begin = first.end
            + text.get(first.end..).unwrap_or_default().bytes().take_while(|byte| *byte == b' ').count();
        if begin == first.end {
            return;
        }
    }
    let span = if named && scheme.eq_ignore_ascii_case("digest")
        || scheme.eq_ignore_ascii_case("aws4-hmac-sha256")
    {
        begin..begin + line(text, begin).find(['\'', '`']).unwrap_or(line(text, begin).len())
    } else {
        word(text, begin)
    };
    let value = text.get(span.clone()).unwrap_or_default();
    let enough = if named {
        value.len() >= 6
    } else {
        value.len() >= 12 && value.bytes().any(|byte| byte.is_ascii_digit())
    };
    if enough
        && !stands_in(value)
        && !value.contains("redacted")
        && (named || convinces(value, Strength::Secret, false))
    {
        let label = if scheme.eq_ignore_ascii_case("basic") { "basic-auth" } else { "authorization" };
        found.push(Found { span, label, rank: CONTEXT });
    }
}

/// The pairs of a cookie header whose values are more than settings.
fn cookies(text: &str, start: usize, found: &mut Vec<Found>) {
    let header = line(text, start);
    let mut at = start;
    for pair in header.split(';') {
        let from = at;
        at += pair.len() + 1;
        let Some(sign) = pair.find('=') else { continue };
        let (name, value) = (
            pair.get(..sign).unwrap_or_default().to_ascii_lowercase(),
            pair.get(sign + 1..).unwrap_or_default(),
        );
        let kept = value.find(['"', '\'', ' ', '\\', '`', '<']).unwrap_or(value.len());
        let value = value.get(..kept).unwrap_or_default();
        if matches!(name.trim(), "path" | "domain" | "expires" | "max-age" | "samesite" | "priority")
            || stands_in(value)
            || value.contains("redacted")
        {
            continue;
        }
        let speaks = [
            "sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember", "id", "key", "secret",
        ]
        .iter()
        .any(|word| name.contains(word));
        if speaks && value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit())
            || value.len() >= 20 && entropy(value) > 3.3
        {
            let begin = from + sign + 1;
            found.push(Found { span: begin..begin + value.len(), label: "cookie", rank: CONTEXT });
        }
    }
}

/// A private key in armour, up to its end or as far as it goes.
pub(super) fn armour(text: &str, at: usize) -> Option<Found> {
    let rest = text.get(at..)?;
    let putty = rest.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("putty"));
    let title = rest.get(..rest.floor_char_boundary(100))?;
    if !putty
        && !title
            .get(11..)
            .and_then(|title| title.split("-----").next())
            .is_some_and(|title| title.contains("PRIVATE KEY"))
    {
        return None;
    }
    let span = if putty {
        let end = rest.find("Private-MAC").map_or(rest.len(), |mac| mac + line(rest, mac).len());
        at..at + end
    } else if let Some(end) = memchr::memmem::find(rest.as_bytes(), b"-----END ") {
        let tail = rest.get(end + 9..)?;
        let close = tail.find("-----").filter(|close| *close < 60).map_or(0, |close| close + 5);
        at..at + end + 9 + close
    } else {
        // Cut off: as far as it looks like one.
        let head = title.get(11..)?.find("-----").map_or(title.len(), |close| 11 + close + 5);
        let body = rest.get(head..)?;
        let taken = body
            .bytes()
            .take_while(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\' | b':' | b',' | b'-')
            })
            .count();
        at..at + head + taken
    };
    // A name alone, as in a manual, opens nothing.
    let body = text.get(span.clone())?;
    (putty || body.len() > 80).then_some(Found { span, label: "private-key", rank: ARMOUR })
}

/// Passwords of addresses: `scheme://user:password@host`.
pub(super) fn addresses(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    for at in memchr_iter(b'@', bytes) {
        let head = bytes.get(at.saturating_sub(512)..at).unwrap_or_default();
        let back = head
            .iter()
            .rev()
            .take_while(|byte| {
                !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'"' | b'<' | b'>' | b'\'' | b'`')
            })
            .count();
        let start = at - back;
        if back == 0 || bytes.get(start.saturating_sub(3)..start) != Some(b"://") {
            continue;
        }
        // Nothing follows in a sentence about it.
        if !bytes.get(at + 1).is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'$' | b'{' | b'<' | b'*' | b'/' | b'_')
        }) {
            continue;
        }
        let Some(info) = text.get(start..at) else { continue };
        match info.split_once(':') {
            Some((user, password)) => {
                let loud = password.len() >= 3
                    && !stands_in(password)
                    && !matches!(password, "x-oauth-basic" | "x")
                    && !password.contains("redacted");
                if loud {
                    found.push(Found {
                        span: start + user.len() + 1..at,
                        label: "url-password",
                        rank: PLACE,
                    });
                }
                if user.len() >= 16 && convinces(user, Strength::Weak, false) {
                    found.push(Found { span: start..start + user.len(), label: "url-password", rank: PLACE });
                }
            }
            None if info.len() >= 16 && convinces(info, Strength::Secret, false) => {
                found.push(Found { span: start..at, label: "url-password", rank: PLACE });
            }
            None => {}
        }
    }
}

/// A parameter of an address.
pub(super) fn query(text: &str, at: usize, label: &'static str) -> Option<Found> {
    let rest = text.get(at..)?;
    let start = at + rest.find('=')? + 1;
    let body = text.get(start..)?;
    let end = body
        .find(|point: char| {
            point.is_whitespace()
                || matches!(point, '&' | '"' | '\'' | '`' | '<' | '>' | ')' | ']' | '#' | '\\' | ',' | ';')
        })
        .unwrap_or(body.len());
    let value = body.get(..end)?;
    convinces(value, Strength::Weak, false).then_some(Found { span: start..start + end, label, rank: WEAK })
}

/// An argument of a command.
pub(super) fn command(text: &str, at: usize, option: &str) -> Option<Found> {
    let rest = line(text, at);
    let chosen = |value: &str| {
        value.len() >= 4 && !stands_in(value) && !value.starts_with('-') && !value.contains("redacted")
    };
    let argument = |from: usize| {
        let quote = rest.as_bytes().get(from).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        let start = from + usize::from(quote.is_some());
        let body = rest.get(start..)?;
        let end = match quote {
            Some(quote) => body.bytes().position(|byte| byte == quote),
            None => body
                .find(|point: char| point.is_whitespace() || matches!(point, '"' | '\'' | '`' | '\\' | '|')),
        };
        Some(start..start + end.unwrap_or(body.len()))
    };
    let span = match option {
        "user" => {
            let mut words = rest.split(' ').skip(2);
            let (user, password) = (words.next()?, words.next()?);
            let start = "net user ".len() + user.len() + 1;
            (!password.starts_with('/')).then(|| start..start + password.len())?
        }
        "|" => {
            // `echo user:password | chpasswd`
            let head = text.get(..at)?;
            let before = head.rsplit('\n').next()?;
            let pair = before.rsplit("echo ").next()?;
            let colon = pair.find(':')?;
            let start = at - pair.len() + colon + 1;
            let length = pair.get(colon + 1..)?.find([' ', '"', '\'', '|'])?;
            let value = text.get(start..start + length)?;
            return (before.contains("echo ") && chosen(value)).then_some(Found {
                span: start..start + length,
                label: "password",
                rank: CONTEXT,
            });
        }
        "/" => {
            let pair = rest.get("sqlplus ".len()..)?;
            let slash = pair.find('/')?;
            let end = pair.find('@').filter(|end| *end > slash)?;
            let start = "sqlplus ".len();
            start + slash + 1..start + end
        }
        "--user" => argument("--user ".len())?,
        "-b" => {
            let words: Vec<&str> = rest.split(' ').collect();
            let place = words.iter().position(|word| word.starts_with('-') && word.contains('b'))?;
            let password = words.get(place + 3).or_else(|| words.last())?;
            let start = words.iter().take(place + 3).map(|word| word.len() + 1).sum::<usize>();
            start..start + password.len()
        }
        _ => {
            let place = rest.match_indices(option).map(|(place, _)| place).find(|place| {
                rest.as_bytes().get(place.wrapping_sub(1)) == Some(&b' ')
                    && rest.as_bytes().get(place + option.len()) != Some(&b'-')
            })?;
            let after = place + option.len();
            let gap = rest.get(after..)?.bytes().take_while(|byte| matches!(byte, b' ' | b'=')).count();
            // `mysql -p database` asks for the password.
            if gap > 0 && (rest.starts_with("mysql") || rest.starts_with("mariadb")) {
                return None;
            }
            argument(after + gap)?
        }
    };
    let mut span = span;
    // A name and a password in one.
    if matches!(option, "-u" | "--user" | "-U" | "-a") && !rest.starts_with("redis") {
        let pair = rest.get(span.clone())?;
        let sign = pair.find([':', '%'])?;
        span.start += sign + 1;
    }
    let value = rest.get(span.clone())?;
    chosen(value).then_some(Found { span: at + span.start..at + span.end, label: "password", rank: CONTEXT })
}

/// A line `host:port:database:user:password`.
pub(super) fn pgpass(text: &str, at: usize) -> Option<Found> {
    let head = text.get(..at)?;
    let start = head.rfind('\n').map_or(0, |end| end + 1);
    let whole = line(text, start);
    let fields: Vec<&str> = whole.split(':').collect();
    let [host, _, database, user, password] = fields.as_slice() else { return None };
    let plain = |field: &str| {
        !field.is_empty()
            && field
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*'))
    };
    let password = password.trim_end();
    let span = start + whole.rfind(':')? + 1;
    (plain(host)
        && plain(database)
        && plain(user)
        && password.len() >= 4
        && !password.contains(' ')
        && !stands_in(password))
    .then(|| Found { span: span..span + password.len(), label: "password", rank: CONTEXT })
}
