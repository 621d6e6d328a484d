//! A JSON object whose members are kept as they were written.
//!
//! INVARIANT: no two members have the same name, so that every reader of what is passed on sees the same object.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Any JSON value, as it was written.
pub type Raw = Box<RawValue>;

/// An object whose members are passed on as they were written, in their order.
#[derive(Clone, Debug, Default)]
pub struct RawObject(Vec<(String, Raw)>);

impl RawObject {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// It is no object, or a member appears twice.
    pub fn parse(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    /// Returns a member.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// Returns a member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Returns a member that is an object.
    pub fn object(&self, name: &str) -> Option<Self> {
        self.get(name).and_then(|raw| Self::parse(raw).ok())
    }

    /// Sets a member in its place, or at the end.
    pub fn set(&mut self, name: &str, value: Raw) {
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Raw> {
        let place = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.remove(place).1)
    }

    /// Goes through the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// Says whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes it.
    pub fn to_raw(&self) -> Raw {
        raw(self)
    }
}

impl FromIterator<(String, Raw)> for RawObject {
    /// The last of several members with one name stays.
    fn from_iter<I: IntoIterator<Item = (String, Raw)>>(members: I) -> Self {
        let mut object = Self::default();
        for (name, value) in members {
            object.set(&name, value);
        }
        object
    }
}

/// Writes any value that JSON can express; what it cannot is `null`.
pub fn raw(value: &(impl Serialize + ?Sized)) -> Raw {
    serde_json::value::to_raw_value(value).unwrap_or_default()
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members: Vec<(String, Raw)> = Vec::with_capacity(4);
                while let Some((name, value)) = map.next_entry::<String, Raw>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("the member `{name}` appears twice")));
                    }
                    if members.len() == MOST_MEMBERS {
                        return Err(A::Error::custom("it has too many members"));
                    }
                    members.push((name, value));
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// Looking for a name goes through all members.
const MOST_MEMBERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_as_they_were_written() {
        let text = r#"{"b":1.0e2,"a":"\u0041","n":12345678901234567890123,"x":{"y":[ 1 ]}}"#;
        let object: RawObject = serde_json::from_str(text).unwrap();
        assert_eq!(object.to_raw().get(), text);
        assert_eq!(object.text("a").as_deref(), Some("A"));
        assert!(object.get("c").is_none());
    }

    #[test]
    fn a_member_that_appears_twice_is_refused() {
        for text in [r#"{"id":1,"id":2}"#, r#"{"id":1,"\u0069d":2}"#, "[1]", "3"] {
            assert!(serde_json::from_str::<RawObject>(text).is_err(), "{text}");
        }
    }
}
