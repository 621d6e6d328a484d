//! DNS queries, and the four answers that the gate gives to them.
//!
//! Only the header and the one question are read. Whatever else a query carries (EDNS, cookies, signatures) does not
//! change the answer, so it is not looked at.
//!
//! INVARIANT: an address is answered only to a question for the addresses of a [`HostName`], and that name is made of
//! the raw octets of the labels, never of a text with escapes in it.

mod message;

use std::net::Ipv4Addr;

use ringfence_policy::HostName;

use self::message::{Header, Name, Question, ResponseCode};

/// How many characters of a name are shown at most.
const LONGEST_SHOWN: usize = 256;

/// What a query asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Asked {
    /// The IPv4 addresses of a name.
    Address(HostName),
    /// Something else about a name, of which nothing is known.
    Nothing(HostName),
    /// Something that is no question about a host: another class or operation, or a name that no host has.
    Unnamed,
}

/// A query that deserves an answer.
#[derive(Clone, Debug)]
pub struct Query {
    header: Header,
    question: Option<Question>,
    asked: Asked,
    refusal: ResponseCode,
}

impl Query {
    /// Reads a message. None is what no server answers: a fragment of a header, or a response.
    ///
    /// A header without exactly one readable question is a query whose answers all say what is wrong with it.
    pub fn read(message: &[u8]) -> Option<Self> {
        let (header, body) = Header::read(message)?;
        if header.is_response() {
            return None;
        }
        let wrong = |refusal| Some(Self { header, question: None, asked: Asked::Unnamed, refusal });
        if !header.is_standard_query() {
            return wrong(ResponseCode::NotImplemented);
        }
        if header.questions() != 1 {
            return wrong(ResponseCode::FormatError);
        }
        let Some(question) = Question::read(body) else { return wrong(ResponseCode::FormatError) };
        let (asked, refusal) = if question.is_internet() {
            let asked = match host_name(question.name()) {
                Some(name) if question.is_for_addresses() => Asked::Address(name),
                Some(name) => Asked::Nothing(name),
                None => Asked::Unnamed,
            };
            (asked, ResponseCode::NoSuchName)
        } else {
            (Asked::Unnamed, ResponseCode::Refused)
        };
        Some(Self { header, question: Some(question), asked, refusal })
    }

    /// Returns what is asked for.
    pub const fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Tells whether the addresses of a name are asked for.
    pub const fn is_address_question(&self) -> bool {
        matches!(self.asked, Asked::Address(_))
    }

    /// Returns the name as asked, for a reader: octets that no host name has are escaped, and the length is bounded.
    pub fn shown_name(&self) -> String {
        self.question.as_ref().map(|question| shown(question.name())).unwrap_or_default()
    }

    /// Answers with one address. A question for something else gets the answer that it would get otherwise.
    pub fn address(&self, address: Ipv4Addr, ttl: u32) -> Vec<u8> {
        match self.asked {
            Asked::Address(_) => self.answer(ResponseCode::NoError, Some((address, ttl))),
            Asked::Nothing(_) => self.empty(),
            Asked::Unnamed => self.refused(),
        }
    }

    /// Answers that the name exists and that nothing of this kind is known of it.
    pub fn empty(&self) -> Vec<u8> {
        match self.asked {
            Asked::Address(_) | Asked::Nothing(_) => self.answer(ResponseCode::NoError, None),
            Asked::Unnamed => self.refused(),
        }
    }

    /// Answers that there is no such name.
    ///
    /// To a proper question this is NXDOMAIN and not REFUSED: it is final for every resolver, while REFUSED makes
    /// glibc report a temporary failure and musl wait for its whole timeout.
    pub fn refused(&self) -> Vec<u8> {
        self.answer(self.refusal, None)
    }

    /// Answers that no answer can be given now.
    pub fn overloaded(&self) -> Vec<u8> {
        self.answer(ResponseCode::ServerFailure, None)
    }

    fn answer(&self, code: ResponseCode, address: Option<(Ipv4Addr, u32)>) -> Vec<u8> {
        self.header.answer(code, self.question.as_ref(), address)
    }
}

/// Makes a host name of the octets of the labels, if every one of them may be part of one.
fn host_name(name: &Name) -> Option<HostName> {
    let mut text = String::new();
    for label in name.labels() {
        if !text.is_empty() {
            text.push('.');
        }
        for &octet in label {
            if !is_plain(octet) {
                return None;
            }
            text.push(char::from(octet));
        }
    }
    let host: HostName = text.parse().ok()?;
    // INVARIANT: the name judged is the name asked, up to case; nothing was mapped on the way.
    host.as_str().eq_ignore_ascii_case(&text).then_some(host)
}

fn shown(name: &Name) -> String {
    let mut text = String::new();
    for label in name.labels() {
        for &octet in label {
            if is_plain(octet) {
                text.push(char::from(octet));
            } else {
                text.push_str(&format!("\\{octet:03}"));
            }
        }
        text.push('.');
    }
    if text.len() > 1 {
        text.pop();
    }
    if text.is_empty() {
        text.push('.');
    }
    if text.len() > LONGEST_SHOWN {
        text.truncate(LONGEST_SHOWN - 1); // the text is ASCII
        text.push('…');
    }
    text
}

const fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_')
}

#[cfg(test)]
mod tests;
