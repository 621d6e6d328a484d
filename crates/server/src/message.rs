//! JSON-RPC messages as they are passed on: looked into as far as needed, and otherwise left as they were written.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::raw::{Raw, RawObject, raw};

/// The largest message, either way.
pub const MAX_MESSAGE: usize = 16 << 20;

/// Numbers of JSON-RPC errors.
pub mod error_code {
    /// What was sent is not JSON.
    pub const PARSE: i64 = -32700;
    /// What was sent is no message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong on this side.
    pub const INTERNAL: i64 = -32603;
    /// A header says something else than the body.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client cannot do what the server needs.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The protocol version is not spoken here.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// One message.
#[derive(Clone, Debug)]
pub enum Message {
    /// Something that wants an answer.
    Request(Request),
    /// Something that wants none.
    Notification(Notification),
    /// An answer.
    Response(Response),
}

/// Something that wants an answer.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the answer is to carry.
    pub id: Id,
    /// What is wanted.
    pub method: String,
    /// The parameters; empty where there are none.
    pub params: RawObject,
}

/// Something that wants no answer.
#[derive(Clone, Debug)]
pub struct Notification {
    /// What happened.
    pub method: String,
    /// The parameters; empty where there are none.
    pub params: RawObject,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// What it answers; absent where the other side could not tell.
    pub id: Option<Id>,
    /// What came of it.
    pub answer: Answer,
}

/// What came of a request: a result, or an error as it was written.
pub type Answer = Result<Raw, Raw>;

/// What a request is known by: a number or a string.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A string.
    Text(String),
    /// A number that is not whole or too large, as it was written.
    Odd(String),
}

/// Why something that was sent is no message.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct MessageError {
    /// The number of the JSON-RPC error.
    pub code: i64,
    /// Why.
    pub message: String,
    /// The id, where it could be read.
    pub id: Option<Id>,
}

impl Message {
    /// Reads one message, or all the messages of a batch.
    ///
    /// # Errors
    ///
    /// It is not JSON, or no message. Where one of a batch is none, the whole batch is refused.
    pub fn parse(text: &str) -> Result<Vec<Self>, MessageError> {
        if text.trim_start().starts_with('[') {
            let all: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
            if all.is_empty() || all.len() > MOST_OF_A_BATCH {
                return Err(MessageError::invalid(None, "a batch has 1 to 256 messages"));
            }
            return all.into_iter().map(|one| Self::parse_one(one.get())).collect();
        }
        Self::parse_one(text).map(|one| vec![one])
    }

    fn parse_one(text: &str) -> Result<Self, MessageError> {
        let mut object: RawObject = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let id = match object.get("id").map(RawValue::get) {
            None | Some("null") => None,
            Some(text) => {
                let id = Id::parse(text);
                Some(id.ok_or_else(|| MessageError::invalid(None, "the id is no number and no string"))?)
            }
        };
        let is_answer = object.get("result").is_some() || object.get("error").is_some();
        if object.text("jsonrpc").as_deref() != Some("2.0") {
            return Err(MessageError::invalid(id, "`jsonrpc` is not \"2.0\""));
        }
        let Some(method) = object.get("method") else {
            return match (object.remove("result"), object.remove("error")) {
                (Some(result), None) => Ok(Self::Response(Response { id, answer: Ok(result) })),
                (None, Some(error)) => Ok(Self::Response(Response { id, answer: Err(error) })),
                _ => Err(MessageError::invalid(id, "it has neither a method nor one answer")),
            };
        };
        let method: String = serde_json::from_str(method.get())
            .map_err(|_| MessageError::invalid(id.clone(), "the method is no string"))?;
        if is_answer {
            return Err(MessageError::invalid(id, "it has a method and an answer"));
        }
        let params = match object.get("params") {
            None => RawObject::default(),
            Some(params) => RawObject::parse(params).map_err(|error| MessageError {
                code: error_code::INVALID_PARAMS,
                message: format!("the parameters are no object: {error}"),
                id: id.clone(),
            })?,
        };
        Ok(match id {
            Some(id) => Self::Request(Request { id, method, params }),
            None if object.get("id").is_some() => {
                return Err(MessageError::invalid(None, "the id is null"));
            }
            None => Self::Notification(Notification { method, params }),
        })
    }
}

/// How many messages one batch may hold.
const MOST_OF_A_BATCH: usize = 256;

fn unreadable(error: &serde_json::Error) -> MessageError {
    let code = if error.is_data() { error_code::INVALID_REQUEST } else { error_code::PARSE };
    MessageError { code, message: format!("it is no message: {error}"), id: None }
}

impl MessageError {
    fn invalid(id: Option<Id>, message: &str) -> Self {
        Self { code: error_code::INVALID_REQUEST, message: message.to_owned(), id }
    }

    /// Writes the answer that whoever sent it gets.
    pub fn to_line(&self) -> String {
        let error = rpc_error(self.code, &self.message);
        answer_line(self.id.as_ref(), &Err(error))
    }
}

impl Id {
    /// Reads an id as it was written.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('"') {
            return serde_json::from_str(text).ok().map(Self::Text);
        }
        let number: serde_json::Number = serde_json::from_str(text).ok()?;
        Some(number.as_i64().map_or_else(|| Self::Odd(text.to_owned()), Self::Number))
    }

    /// Writes it.
    pub fn to_raw(&self) -> Raw {
        raw(self)
    }
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Odd(text) => serde_json::from_str::<&RawValue>(text)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Raw::deserialize(deserializer)?;
        Self::parse(text.get()).ok_or_else(|| serde::de::Error::custom("an id is a number or a string"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_raw().get())
    }
}

/// Writes a request on one line.
pub fn request_line(id: &Id, method: &str, params: Option<&RawValue>) -> String {
    line(Some(id), Some(method), params, None)
}

/// Writes a notification on one line.
pub fn notification_line(method: &str, params: Option<&RawValue>) -> String {
    line(None, Some(method), params, None)
}

/// Writes an answer on one line. Without an id it has none.
pub fn answer_line(id: Option<&Id>, answer: &Answer) -> String {
    line(id, None, None, Some(answer))
}

fn line(id: Option<&Id>, method: Option<&str>, params: Option<&RawValue>, answer: Option<&Answer>) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Id>,
        #[serde(skip_serializing_if = "Option::is_none")]
        method: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a RawValue>,
    }
    let (result, error) = match answer {
        Some(Ok(result)) => (Some(&**result), None),
        Some(Err(error)) => (None, Some(&**error)),
        None => (None, None),
    };
    let line = Line { jsonrpc: "2.0", id, method, params, result, error };
    // The types hold nothing that JSON cannot express.
    let text = serde_json::to_string(&line).unwrap_or_default();
    // What was written over several lines is still one message.
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// Makes the error of an answer.
pub fn rpc_error(code: i64, message: &str) -> Raw {
    raw(&serde_json::json!({ "code": code, "message": message }))
}

/// Makes the error of an answer, with more about it.
pub fn rpc_error_with(code: i64, message: &str, data: &serde_json::Value) -> Raw {
    raw(&serde_json::json!({ "code": code, "message": message, "data": data }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_requests_notifications_and_answers_apart() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,                          "request"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}"#,            "request"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,            "notification"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,                              "answer"),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,         "answer"),
            (r#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#,                "answer"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,                       "error -32600"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,                          "error -32600"),
            (r#"{"id":1,"method":"ping"}"#,                                          "error -32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,                         "error -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,                   "error -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,              "error -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,                   "error -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,             "error -32602"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}"#,   "error -32602"),
            (r#"{"jsonrpc":"2.0","id":1"#,                                           "error -32700"),
            ("7",                                                                    "error -32600"),
            ("[]",                                                                   "error -32600"),
        ];
        for (text, expected) in cases {
            let found = match Message::parse(text) {
                Ok(all) => match &all[..] {
                    [Message::Request(_)] => "request".to_owned(),
                    [Message::Notification(_)] => "notification".to_owned(),
                    [Message::Response(_)] => "answer".to_owned(),
                    _ => "several".to_owned(),
                },
                Err(error) => format!("error {}", error.code),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn ids_come_back_as_they_were_written() {
        for text in ["1", "-7", "\"a\"", "1.5", "123456789012345678901", "\"\""] {
            assert_eq!(Id::parse(text).unwrap().to_raw().get(), text);
        }
        assert_eq!(Id::parse("\"\\u0061\""), Some(Id::Text("a".into())));
        assert_eq!(Id::parse("[1]"), None);
    }

    #[test]
    fn a_message_is_one_line() {
        let params: Raw = serde_json::from_str("{\n \"a\": [\r\n 1 ] }").unwrap();
        let line = request_line(&Id::Number(1), "x", Some(&params));
        assert!(!line.contains(['\n', '\r']), "{line}");
        assert!(Message::parse(&line).is_ok());
    }
}
