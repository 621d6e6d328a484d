//! Reading a value from a string where it stands in a file.
//!
//! Only an error raised while the string is visited keeps the line of that string; one raised afterwards would be
//! reported at the start of the list or table around it.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{self, Visitor};

/// Deserialises a string and parses it; `what` completes "expected …".
pub(crate) fn visited<'de, D, T, E>(
    deserializer: D,
    what: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: Display,
{
    deserializer.deserialize_str(Text { what, parse, made: PhantomData })
}

struct Text<F, T> {
    what: &'static str,
    parse: F,
    made: PhantomData<T>,
}

impl<T, E: Display, F: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<F, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<X: de::Error>(self, text: &str) -> Result<T, X> {
        (self.parse)(text).map_err(X::custom)
    }
}
