//! DNS queries, and the four answers that the gate gives to them.
//!
//! Only the header and the one question are read. Whatever else a query carries (EDNS, cookies, signatures) does not
//! change the answer, so it is not looked at.
//!
//! INVARIANT: an address is answered only to a question for the addresses of a [`HostName`], and that name is made of
//! the raw octets of the labels, never of a text with escapes in it.

use std::net::Ipv4Addr;

use hickory_proto::op::{self, Header, Message, MessageType, Metadata, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};
use ringfence_policy::HostName;

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
    metadata: Metadata,
    question: Option<op::Query>,
    asked: Asked,
    refusal: ResponseCode,
}

impl Query {
    /// Reads a message. None is what no server answers: a fragment of a header, or a response.
    ///
    /// A header without exactly one readable question is a query whose answers all say what is wrong with it.
    pub fn read(message: &[u8]) -> Option<Self> {
        let mut decoder = BinDecoder::new(message);
        let header = Header::read(&mut decoder).ok()?;
        let metadata = header.metadata;
        if metadata.message_type != MessageType::Query {
            return None;
        }
        let wrong = |refusal| Some(Self { metadata, question: None, asked: Asked::Unnamed, refusal });
        if metadata.op_code != OpCode::Query {
            return wrong(ResponseCode::NotImp);
        }
        if header.counts.queries != 1 {
            return wrong(ResponseCode::FormErr);
        }
        let Ok(question) = op::Query::read(&mut decoder) else { return wrong(ResponseCode::FormErr) };
        let (asked, refusal) = match (question.query_class, host_name(&question.name)) {
            (DNSClass::IN, Some(name)) if question.query_type == RecordType::A => {
                (Asked::Address(name), ResponseCode::NXDomain)
            }
            (DNSClass::IN, Some(name)) => (Asked::Nothing(name), ResponseCode::NXDomain),
            (DNSClass::IN, None) => (Asked::Unnamed, ResponseCode::NXDomain),
            (_, _) => (Asked::Unnamed, ResponseCode::Refused),
        };
        Some(Self { metadata, question: Some(question), asked, refusal })
    }

    /// Returns what is asked for.
    pub const fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Tells whether the addresses of a name are asked for.
    pub const fn is_address_question(&self) -> bool {
        matches!(self.asked, Asked::Address(_))
    }

    /// Returns the kind of record that is asked for, as people write it: `A`, `AAAA`, `TYPE4711`.
    pub fn kind_name(&self) -> String {
        match self.question.as_ref().map(|question| question.query_type) {
            Some(RecordType::Unknown(number)) => format!("TYPE{number}"),
            Some(kind) => kind.to_string(),
            None => "none".to_owned(),
        }
    }

    /// Returns the name as asked, for a reader: octets that no host name has are escaped, and the length is bounded.
    pub fn shown_name(&self) -> String {
        self.question.as_ref().map(|question| shown(&question.name)).unwrap_or_default()
    }

    /// Answers with one address. A question for something else gets the answer that it would get otherwise.
    pub fn address(&self, address: Ipv4Addr, ttl: u32) -> Vec<u8> {
        match (&self.asked, &self.question) {
            (Asked::Address(_), Some(question)) => {
                let record = Record::from_rdata(question.name.clone(), ttl, RData::A(A(address)));
                self.answer(ResponseCode::NoError, Some(record))
            }
            (Asked::Nothing(_), _) => self.empty(),
            (Asked::Address(_) | Asked::Unnamed, _) => self.refused(),
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
        self.answer(ResponseCode::ServFail, None)
    }

    fn answer(&self, code: ResponseCode, record: Option<Record>) -> Vec<u8> {
        let mut message = Message::response(self.metadata.id, self.metadata.op_code);
        message.metadata = Metadata::response_from_request(&self.metadata);
        message.metadata.recursion_available = true;
        message.metadata.response_code = code;
        message.queries.extend(self.question.clone());
        message.answers.extend(record);
        // A name that was read can be written. Were it otherwise, an empty message is one that every client drops.
        message.to_vec().unwrap_or_default()
    }
}

/// Makes a host name of the octets of the labels, if every one of them may be part of one.
fn host_name(name: &Name) -> Option<HostName> {
    let mut text = String::new();
    for label in name.iter() {
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
    for label in name.iter() {
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
