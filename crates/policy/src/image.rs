//! Images of a container engine, by what they are and not by what they are called.

use std::fmt;
use std::str::FromStr;

const ALGORITHM: &str = "@sha256:";
const HEX: usize = 64;
/// The longest name that engines take.
const LONGEST: usize = 255;

/// An image by its digest: `localhost/tools@sha256:…`. A tag can mean another image tomorrow and is not one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    text: String,
    /// How much of the text is the name.
    name: usize,
}

impl Image {
    /// Returns the name, without the digest.
    pub fn name(&self) -> &str {
        self.text.get(..self.name).unwrap_or_default()
    }

    /// Returns the digest, as `sha256:…`.
    pub fn digest(&self) -> &str {
        self.text.get(self.name + 1..).unwrap_or_default()
    }

    /// Returns the whole reference.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A text that is not an image by its digest.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not an image by its digest, `name@sha256:…` with 64 hexadecimal digits")]
pub struct ImageError(String);

impl FromStr for Image {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let fault = || ImageError(text.chars().take(LONGEST).collect());
        let (name, hex) = text.split_once(ALGORITHM).ok_or_else(fault)?;
        let is_hex = hex.len() == HEX && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b':');
        let part = |part: &str| {
            part.bytes().all(plain) && part.starts_with(|first: char| first.is_ascii_alphanumeric())
        };
        if is_hex && name.len() <= LONGEST && name.split('/').all(part) {
            Ok(Self { text: text.to_owned(), name: name.len() })
        } else {
            Err(fault())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_names_an_image() {
        let hex = "0123456789abcdef".repeat(4);
        #[rustfmt::skip]
        let cases = [
            (format!("localhost/tools@sha256:{hex}"),             true),
            (format!("tools@sha256:{hex}"),                       true),
            (format!("registry.example:5000/a/b-c_d@sha256:{hex}"), true),
            ("localhost/tools".into(),                            false),
            ("localhost/tools:latest".into(),                     false),
            (format!("@sha256:{hex}"),                            false),
            (format!("../tools@sha256:{hex}"),                    false),
            (format!("a//b@sha256:{hex}"),                        false),
            (format!("-v@sha256:{hex}"),                          false),
            (format!("a b@sha256:{hex}"),                         false),
            (format!("Tools@sha256:{hex}"),                       false),
            (format!("tools@sha256:{}", hex.to_uppercase()),      false),
            (format!("tools@sha256:{hex}0"),                      false),
            (format!("tools@sha256:{hex}@sha256:{hex}"),          false),
            (format!("{}@sha256:{hex}", "a".repeat(256)),         false),
        ];
        for (text, is_image) in cases {
            assert_eq!(text.parse::<Image>().is_ok(), is_image, "{text}");
        }
        let image: Image = format!("a/b@sha256:{hex}").parse().unwrap();
        assert_eq!((image.name(), image.digest()), ("a/b", format!("sha256:{hex}").as_str()));
    }
}
