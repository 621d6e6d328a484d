//! A toolbox in JSON as the TOML that says the same at the same places.
//!
//! Tables of TOML 1.1 may span lines, and its strings take the escapes of JSON: the two differ in the sign after a key. So
//! whatever finds or changes a place in TOML does so in JSON too.
//!
//! INVARIANT: what [`JsonAsToml::back`] returns is JSON, and that of [`JsonAsToml::of`] where nothing was changed.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Places;
use crate::json::{JsonLimits, parse_json};

/// A text in JSON, as TOML.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JsonAsToml(String);

impl JsonAsToml {
    /// The key that the whole stands under.
    pub const KEY: &'static str = "x";

    /// What stands before the whole.
    pub(crate) const BEFORE: &'static str = "x=";

    /// Reads a text; nothing where it is no object, or says what TOML cannot say in the same place: `null`, `\/`, halves of characters.
    pub fn of(text: &str) -> Option<Self> {
        let mut toml = String::from(Self::BEFORE);
        toml.extend(
            told_apart(text).map(|(c, place)| if place == Within::Rest && c == ':' { '=' } else { c }),
        );
        let is_read = text.starts_with('{') && DeTable::parse(&toml).is_ok();
        (is_read && Self::back(&toml).as_deref() == Some(text)).then_some(Self(toml))
    }

    /// Returns the TOML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the places, as they are in the JSON.
    pub fn places(&self) -> Option<Places<'_>> {
        let text = self.0.strip_prefix(Self::BEFORE)?;
        Some(Places {
            text,
            document: DeTable::parse(&self.0).ok()?,
            under: Some(Self::KEY),
            before: Self::BEFORE.len(),
        })
    }

    /// Returns what the JSON says, at the places of the TOML.
    pub(crate) fn document(&self) -> Option<Spanned<DeTable<'_>>> {
        let whole = DeTable::parse(&self.0).ok()?.into_inner().remove(Self::KEY)?;
        let span = whole.span();
        match whole.into_inner() {
            DeValue::Table(table) => Some(Spanned::new(span, table)),
            _ => None,
        }
    }

    /// Returns the JSON of such a TOML, into which somebody may have written; nothing where there is none.
    pub fn back(toml: &str) -> Option<String> {
        let mut json = String::new();
        // Where a key without quotes begins, which JSON does not know.
        let mut bare = None;
        for (c, place) in told_apart(toml.strip_prefix(Self::BEFORE)?) {
            match c {
                _ if place == Within::Text => bare = None,
                '\'' | '#' => return None,
                '=' => {
                    if let Some(start) = bare.take() {
                        let key = json.split_off(start);
                        json.push_str(&format!("\"{}\"", key.trim_end()));
                    }
                    json.push(':');
                    continue;
                }
                ' ' => {}
                _ if c.is_ascii_alphanumeric() || c == '_' || c == '-' => {
                    bare = bare.or(Some(json.len()));
                }
                _ => bare = None,
            }
            json.push(c);
        }
        parse_json(&json, JsonLimits::DOCUMENT).ok()?;
        Some(json)
    }
}

/// Where a character stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Within {
    Rest,
    Text,
}

/// Tells the characters between quotes, and the quotes, from the rest.
fn told_apart(text: &str) -> impl Iterator<Item = (char, Within)> + '_ {
    let mut place = Within::Rest;
    let mut is_escaped = false;
    text.chars().map(move |c| {
        let was = place;
        match (place, c) {
            (Within::Rest, '"') => place = Within::Text,
            (Within::Text, '"') if !is_escaped => place = Within::Rest,
            _ => {}
        }
        is_escaped = was == Within::Text && c == '\\' && !is_escaped;
        (c, if was == Within::Text { was } else { place })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListKind, ListOwner};

    const TEXT: &str = r#"{
  "personality": {
    "id": "a: b = \"c\" 'd' # é",
    "network": {"allow": ["*.github.com"]},
    "secrets": [
      "A"
    ]
  },
  "tool": [
    {"name": "fetch", "capabilities": {"network": {"allowedHosts": ["api.github.com"]}}, "limits": {"memory": 1.5e3}}
  ]
}
"#;

    #[test]
    fn places_are_those_of_the_json() {
        let toml = JsonAsToml::of(TEXT).unwrap();
        let places = toml.places().unwrap();
        #[rustfmt::skip]
        let cases = [
            (places.list_place(ListOwner::Personality, ListKind::Hosts),   Some((4, 26))),
            (places.list_place(ListOwner::Personality, ListKind::Secrets), Some((5, 16))),
            (places.list_place(ListOwner::Personality, ListKind::Write),   Some((2, 18))),
            (places.list_place(ListOwner::Tool("fetch"), ListKind::Hosts), Some((10, 68))),
            (places.tool("fetch", "limits.memory"),                        Some((10, 111))),
            (places.tool("nobody", "class"),                               None),
        ];
        for (number, (found, wanted)) in cases.into_iter().enumerate() {
            assert_eq!(found, wanted, "case {number}");
        }
        let one_line = JsonAsToml::of(r#"{"personality": {"tools": ["a"]}}"#).unwrap();
        assert_eq!(one_line.places().unwrap().personality("tools"), Some((1, 27)));
    }

    #[test]
    fn what_is_written_into_it_becomes_json() {
        let toml = JsonAsToml::of(TEXT).unwrap();
        assert_eq!(JsonAsToml::back(toml.as_str()).as_deref(), Some(TEXT));
        #[rustfmt::skip]
        let cases = [
            (r#"x={"a"= 1, private = ["b"] }"#, Some(r#"{"a": 1, "private": ["b"] }"#)),
            (r#"x={ a-b= { c =true} }"#,        Some(r#"{ "a-b": { "c":true} }"#)),
            (r#"x={"a"= 'b'}"#,                 None),
            ("x={\"a\"= 1} # why",              None),
            (r#"x={"a"= 1,}"#,                  None),
            (r#"y={"a"= 1}"#,                   None),
        ];
        for (toml, json) in cases {
            assert_eq!(JsonAsToml::back(toml).as_deref(), json, "{toml}");
        }
    }

    #[test]
    fn what_toml_cannot_say_has_no_places() {
        for text in [
            r#"{"a": null}"#,
            r#"{"a": "\/"}"#,
            r#"{"a": "\ud83d\ude00"}"#,
            "[1]",
            " {}",
            "{",
            r#"{"a" = 1}"#,
        ] {
            assert_eq!(JsonAsToml::of(text), None, "{text}");
        }
    }
}
