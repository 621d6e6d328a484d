//! The digests that tie a record to the outputs kept beside it, so that no output can be swapped for another.
//!
//! A record is in the tree, its outputs are not: raw ones may be deleted when their time is up.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::OutputError;
use super::hash::Hash;

/// What a record says of its outputs, under its key `outputs`: their SHA-256 digests in base64.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{OutputDigests, OutputError, check_outputs};
///
/// let digests = OutputDigests::of(Some(b"raw"), Some(b"clean"));
/// let record = serde_json::to_vec(&serde_json::json!({ "call": 1, "outputs": digests }))?;
///
/// assert_eq!(check_outputs(&record, Some(b"raw"), Some(b"clean")), Ok(()));
/// assert_eq!(check_outputs(&record, None, Some(b"clean")), Ok(())); // no longer kept
/// assert_eq!(check_outputs(&record, Some(b"clean"), Some(b"raw")), Err(OutputError::Raw));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutputDigests {
    /// What the tool returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Hash>,
    /// What the model saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<Hash>,
}

impl OutputDigests {
    /// Computes the digests of the outputs that a call has.
    pub fn of(raw: Option<&[u8]>, clean: Option<&[u8]>) -> Self {
        Self { raw: raw.map(Hash::of), clean: clean.map(Hash::of) }
    }

    /// Reads the digests of a record. A record without the key has no outputs.
    ///
    /// # Errors
    ///
    /// The record is not a JSON object, or the key holds something else.
    pub fn read(record: &[u8]) -> Result<Self, OutputError> {
        let unreadable = |why: String| OutputError::Record(why.escape_debug().to_string().into());
        let text = std::str::from_utf8(record).map_err(|_| unreadable("it is not text".into()))?;
        serde_json::from_str(text).map(|Head(outputs)| outputs).map_err(|error| unreadable(error.to_string()))
    }
}

/// The part of a record that is looked at. Logs are long, so that the rest is passed over and not built.
struct Head(OutputDigests);

impl<'de> Deserialize<'de> for Head {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Head;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let mut outputs = None;
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Other => drop(map.next_value::<IgnoredAny>()?),
                Key::Outputs if outputs.is_some() => return Err(de::Error::duplicate_field("outputs")),
                Key::Outputs => outputs = Some(map.next_value::<Object>()?.0),
            }
        }
        Ok(Head(outputs.unwrap_or_default()))
    }
}

/// The keys of a record, as far as they matter here.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Outputs,
    #[serde(other)]
    Other,
}

/// Digests in an object. A list would be read as the fields in their order.
struct Object(OutputDigests);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digests;

        impl<'de> Visitor<'de> for Digests {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object, A::Error> {
                OutputDigests::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Digests)
    }
}

/// Checks the outputs that are kept beside a record; `None` is one that is not kept.
///
/// # Errors
///
/// An output is not the one that the record was written with, or the record cannot be read.
pub fn check_outputs(record: &[u8], raw: Option<&[u8]>, clean: Option<&[u8]>) -> Result<(), OutputError> {
    let recorded = OutputDigests::read(record)?;
    let found = OutputDigests::of(raw, clean);
    if found.raw.is_some() && found.raw != recorded.raw {
        return Err(OutputError::Raw);
    }
    if found.clean.is_some() && found.clean != recorded.clean {
        return Err(OutputError::Clean);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_any_swap() {
        let record = json!({ "outputs": OutputDigests::of(Some(b"raw"), Some(b"clean")) }).to_string();
        let only_clean = json!({ "outputs": OutputDigests::of(None, Some(b"clean")) }).to_string();
        let (raw, clean, other) =
            (Some(b"raw".as_slice()), Some(b"clean".as_slice()), Some(b"other".as_slice()));
        #[rustfmt::skip]
        let cases = [
            (record.as_str(),     raw,   clean, Ok(())),
            (record.as_str(),     None,  None,  Ok(())),
            (record.as_str(),     other, clean, Err(OutputError::Raw)),
            (record.as_str(),     raw,   other, Err(OutputError::Clean)),
            (record.as_str(),     clean, raw,   Err(OutputError::Raw)),
            (only_clean.as_str(), None,  clean, Ok(())),
            (only_clean.as_str(), clean, clean, Err(OutputError::Raw)),
            ("{}",                None,  None,  Ok(())),
            ("{}",                None,  clean, Err(OutputError::Clean)),
        ];
        for (record, raw, clean, expected) in cases {
            assert_eq!(check_outputs(record.as_bytes(), raw, clean), expected, "{record}");
        }
    }

    #[test]
    fn does_not_guess_what_a_record_says() {
        for record in [
            b"".as_slice(),
            b"\xff",
            b"[]",
            br#"{"outputs": {}, "outputs": {}}"#,
            br#"{"outputs": {}, "\u006futputs": {}}"#,
            br#"{"outputs": {"raw": null, "raw": null}}"#,
            br#"{"outputs": []}"#,
            br#"{"outputs": null}"#,
            br#"{"outputs": {}} x"#,
            br#"{"outputs": {"raw": "AAAA"}}"#,
            br#"{"outputs": {"extra": null}}"#,
        ] {
            assert!(matches!(check_outputs(record, None, None), Err(OutputError::Record(_))), "{record:?}");
        }
    }
}
