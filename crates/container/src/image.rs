//! An image by digest, and whether the engine has exactly that one.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::client::{Client, Question};
use crate::error::ContainerError;

/// An image that was named by digest.
///
/// INVARIANT: a digest is `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Reference {
    /// The name before the digest; nothing where the engine's own identifier was given.
    name: Option<String>,
    digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    id: String,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
    #[serde(default)]
    config: Option<Config>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    #[serde(default)]
    volumes: Option<BTreeMap<String, IgnoredAny>>,
}

impl Reference {
    /// Reads `name@sha256:…` or `sha256:…`.
    pub(crate) fn parse(text: &str) -> Result<Self, ContainerError> {
        let wrong = |why: String| Err(ContainerError::Image { image: text.to_owned(), why });
        let (name, digest) = match text.rsplit_once('@') {
            Some((name, digest)) => (Some(name), digest),
            None => (None, text),
        };
        let is_hex = |one: char| one.is_ascii_digit() || ('a'..='f').contains(&one);
        let is_digest =
            digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex));
        if !is_digest {
            return wrong(format!(
                "a tag can be moved to another image, so it is named by digest: `podman image inspect --format \
                 '{{{{index .RepoDigests 0}}}}' {text}` says it"
            ));
        }
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "._-/:".contains(one);
        if name.is_some_and(|name| name.is_empty() || !name.chars().all(is_plain)) {
            return wrong("its name has characters that no image's name has".into());
        }
        Ok(Self { name: name.map(str::to_owned), digest: digest.to_owned() })
    }

    /// Finds it at an engine and returns the engine's identifier of it. Nothing is fetched from elsewhere.
    pub(crate) async fn find(&self, client: &Client, api: &str) -> Result<String, ContainerError> {
        let question = Question {
            place: "looking for the image",
            method: Method::GET,
            path: format!("/v{api}/images/{self}/json"),
            body: None,
            within: Duration::from_secs(10),
        };
        let wrong = |why: String| ContainerError::Image { image: self.to_string(), why };
        let found: Found = match client.ask(question).await {
            Err(error) if error.is_missing() => {
                return Err(wrong("the engine does not have it; pull it there first".into()));
            }
            found => found?,
        };
        if !self.is_of(&found) {
            return Err(wrong("the engine answered with another image".into()));
        }
        let volumes = found.config.and_then(|config| config.volumes).unwrap_or_default();
        if let Some(volume) = volumes.keys().next() {
            let shown: String = volume.chars().filter(|one| !one.is_control()).take(80).collect();
            return Err(wrong(format!(
                "it declares the volume `{shown}`, a writable place that nobody granted"
            )));
        }
        Ok(full(&found.id))
    }

    fn is_of(&self, found: &Found) -> bool {
        match self.name {
            None => full(&found.id) == self.digest,
            Some(_) => {
                let digests = found.repo_digests.as_deref().unwrap_or_default();
                digests
                    .iter()
                    .any(|known| known.rsplit_once('@').is_some_and(|(_, known)| known == self.digest))
            }
        }
    }
}

/// Some engines leave the algorithm out.
fn full(id: &str) -> String {
    if id.contains(':') { id.to_owned() } else { format!("sha256:{id}") }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            None => f.write_str(&self.digest),
            Some(name) => write!(f, "{name}@{}", self.digest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "42d38b6237a0b9831a9844d77bba10498f65bfa03f6fdf1403fc9d400d8597c3";

    #[test]
    fn takes_digests_only() {
        let cases = [
            (format!("sha256:{HEX}"), true),
            (format!("docker.io/library/busybox@sha256:{HEX}"), true),
            (format!("localhost:5000/a/b:1@sha256:{HEX}"), true),
            (format!("busybox@sha512:{HEX}"), false),
            (format!("busybox@sha256:{}", HEX.to_uppercase()), false),
            (format!("busybox@sha256:{}", HEX.split_at(63).0), false),
            (format!("@sha256:{HEX}"), false),
            (format!("a b@sha256:{HEX}"), false),
            (format!("a?x=1@sha256:{HEX}"), false),
            (HEX.to_owned(), false),
            ("busybox".to_owned(), false),
            ("busybox:latest".to_owned(), false),
            (String::new(), false),
        ];
        for (text, taken) in cases {
            assert_eq!(Reference::parse(&text).map(|one| one.to_string()).ok(), taken.then_some(text));
        }
    }

    #[test]
    fn is_compared_with_what_the_engine_has() {
        let found = |id: &str, digest: &str| Found {
            id: id.to_owned(),
            repo_digests: Some(vec![format!("docker.io/library/x@{digest}")]),
            config: None,
        };
        let other = format!("sha256:{}", "0".repeat(64));
        let by_name = Reference::parse(&format!("x@sha256:{HEX}")).unwrap();
        assert!(by_name.is_of(&found(&other, &format!("sha256:{HEX}"))));
        assert!(!by_name.is_of(&found(&format!("sha256:{HEX}"), &other)));
        let by_id = Reference::parse(&format!("sha256:{HEX}")).unwrap();
        assert!(by_id.is_of(&found(HEX, &other)));
        assert!(!by_id.is_of(&found(&other, &format!("sha256:{HEX}"))));
    }
}
