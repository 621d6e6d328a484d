//! Sets of names: secret refs, binaries and environment variables.
//!
//! The three surfaces share one algebra and differ only in which spellings are legal, which a [`NameKind`] says.
//!
//! INVARIANT: a pattern holds no wildcard but the ones its kind allows, so a wildcard is never a literal name.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::visited::visited;

/// One entry of a [`NameSet`].
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum NamePattern {
    /// `*`: in a declaration, whatever the personality allows; in a personality, every name.
    Any,
    /// `prefix/*`: every name below the prefix. The text ends with the slash.
    Below(Arc<str>),
    /// One name.
    Exact(Arc<str>),
}

impl NamePattern {
    /// Says whether the pattern admits `name`.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Below(prefix) => name.len() > prefix.len() && name.starts_with(&**prefix),
            Self::Exact(exact) => **exact == *name,
        }
    }

    /// Says whether every name that `other` admits is admitted here.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (_, Self::Exact(name)) => self.matches(name),
            (Self::Below(wide), Self::Below(narrow)) => narrow.starts_with(&**wide),
            (Self::Below(_) | Self::Exact(_), Self::Any) | (Self::Exact(_), Self::Below(_)) => false,
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(prefix) => write!(f, "{prefix}*"),
            Self::Exact(name) => f.write_str(name),
        }
    }
}

/// What kind of name a set holds, and which spellings it takes.
pub trait NameKind {
    /// What one entry is called in a sentence.
    const NOUN: &'static str;
    /// Whether a lone `*` is an entry.
    const ANY: bool;
    /// Whether `prefix/*` is an entry.
    const BELOW: bool;

    /// Returns what is wrong with one concrete name.
    fn fault(name: &str) -> Option<&'static str>;
}

/// Names of secrets: `WEATHER_API_KEY`, `prod/db/*`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SecretRef {}

impl NameKind for SecretRef {
    const NOUN: &'static str = "secret ref";
    const ANY: bool = false;
    const BELOW: bool = true;

    fn fault(name: &str) -> Option<&'static str> {
        if name.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
            return Some("has an empty, `.` or `..` part");
        }
        unprintable(name).or((name.len() > 255).then_some("is longer than 255 bytes"))
    }
}

/// Names of programs: `git`, `/usr/bin/rg`, `*`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Binary {}

impl NameKind for Binary {
    const NOUN: &'static str = "binary";
    const ANY: bool = true;
    const BELOW: bool = false;

    fn fault(name: &str) -> Option<&'static str> {
        let normal = !name.starts_with('-') && name != "." && name != "..";
        let absolute = name
            .strip_prefix('/')
            .is_some_and(|rest| rest.split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
        // The programs of an image are one thing to start, named by its digest.
        let image = name.parse::<crate::Image>().is_ok();
        if !normal || (name.contains('/') && !absolute && !image) {
            return Some("is neither a bare name nor a normal absolute path");
        }
        unprintable(name)
    }
}

/// Names of environment variables: `LANG`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Variable {}

impl NameKind for Variable {
    const NOUN: &'static str = "environment variable";
    const ANY: bool = false;
    const BELOW: bool = false;

    fn fault(name: &str) -> Option<&'static str> {
        if name.contains('=') { Some("contains `=`") } else { unprintable(name) }
    }
}

fn unprintable(name: &str) -> Option<&'static str> {
    let odd = |character: char| character.is_control() || character.is_whitespace();
    name.chars().any(odd).then_some("contains white space or a control character")
}

/// A set of names and name patterns of one kind.
///
/// Read from a list, or from a table with the one key `allow`.
///
/// # Examples
///
/// ```
/// use ringfence_policy::SecretSet;
///
/// let declared = SecretSet::new(["prod/*"])?;
/// let permitted = SecretSet::new(["prod/db", "dev/db"])?;
/// let granted = declared.meet(&permitted);
///
/// assert!(granted.admits("prod/db"));
/// assert!(!granted.admits("dev/db"));
/// assert!(!declared.admits("prod/")); // the prefix itself is not below itself
/// # Ok::<(), ringfence_policy::NameError>(())
/// ```
pub struct NameSet<K> {
    patterns: Arc<[NamePattern]>,
    kind: PhantomData<fn() -> K>,
}

/// Secret refs that are declared, permitted or granted.
pub type SecretSet = NameSet<SecretRef>;
/// Binaries that are declared, permitted or granted.
pub type BinarySet = NameSet<Binary>;
/// Environment variables that are declared, permitted or granted.
pub type VariableSet = NameSet<Variable>;

impl<K: NameKind> NameSet<K> {
    /// Makes a set of names and patterns.
    ///
    /// # Errors
    ///
    /// The first entry that the kind does not take.
    pub fn new(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, NameError> {
        let patterns = names.into_iter().map(|name| Self::parse(name.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self::from_patterns(patterns))
    }

    /// Says whether some entry admits `name`. A name the kind calls malformed is never admitted.
    pub fn admits(&self, name: &str) -> bool {
        !name.is_empty()
            && !name.contains('*')
            && K::fault(name).is_none()
            && self.patterns.iter().any(|pattern| pattern.matches(name))
    }

    /// Says whether every name that `pattern` admits is admitted here.
    pub fn covers(&self, pattern: &NamePattern) -> bool {
        self.patterns.iter().any(|own| own.covers(pattern))
    }

    /// Returns the names in both sets: the greatest set that each covers.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        // A declaration mostly lies within its ceiling, and then it is the meet.
        if self.patterns.iter().all(|pattern| other.covers(pattern)) {
            return self.clone();
        }
        let mut both: Vec<NamePattern> = Vec::with_capacity(self.patterns.len().min(other.patterns.len()));
        let narrow_here = self.patterns.iter().filter(|pattern| other.covers(pattern));
        let narrow_there = other.patterns.iter().filter(|pattern| self.covers(pattern));
        for pattern in narrow_here.chain(narrow_there) {
            if !both.contains(pattern) {
                both.push(pattern.clone());
            }
        }
        Self::from_patterns(both)
    }

    /// Returns the set without `*`: what a wildcard is worth when no personality says what it stands for.
    #[must_use]
    pub fn without_any(&self) -> Self {
        if !self.patterns.contains(&NamePattern::Any) {
            return self.clone();
        }
        Self::from_patterns(
            self.patterns.iter().filter(|pattern| **pattern != NamePattern::Any).cloned().collect(),
        )
    }

    /// Goes through the entries in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = &NamePattern> {
        self.patterns.iter()
    }

    /// Says whether the set admits nothing.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    fn from_patterns(patterns: Vec<NamePattern>) -> Self {
        Self { patterns: patterns.into(), kind: PhantomData }
    }

    fn parse(text: &str) -> Result<NamePattern, NameError> {
        let error = |fault| NameError { noun: K::NOUN, text: text.to_owned(), fault };
        if text == "*" {
            return if K::ANY { Ok(NamePattern::Any) } else { Err(error("may not be a lone `*`")) };
        }
        let (name, below) = match text.strip_suffix("/*") {
            Some(prefix) if K::BELOW => (prefix, true),
            _ => (text, false),
        };
        if name.is_empty() {
            return Err(error("is empty"));
        }
        if name.contains('*') {
            return Err(error(if K::BELOW {
                "may hold `*` only as a final `/*`"
            } else {
                "may not contain `*`"
            }));
        }
        if let Some(fault) = K::fault(name) {
            return Err(error(fault));
        }
        Ok(if below {
            NamePattern::Below(format!("{name}/").into())
        } else {
            NamePattern::Exact(name.into())
        })
    }
}

/// A name or pattern that no set of its kind takes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{noun} `{text}` {fault}")]
pub struct NameError {
    noun: &'static str,
    text: String,
    fault: &'static str,
}

impl<K> Clone for NameSet<K> {
    fn clone(&self) -> Self {
        Self { patterns: Arc::clone(&self.patterns), kind: PhantomData }
    }
}

impl<K: NameKind> Default for NameSet<K> {
    fn default() -> Self {
        Self::from_patterns(Vec::new())
    }
}

impl<K> fmt::Debug for NameSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.patterns.iter().map(ToString::to_string)).finish()
    }
}

impl<K> PartialEq for NameSet<K> {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl<K> Eq for NameSet<K> {}

impl<K> Serialize for NameSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.patterns.iter().map(ToString::to_string))
    }
}

impl<'de, K: NameKind> Deserialize<'de> for NameSet<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SetVisitor(PhantomData))
    }
}

struct SetVisitor<K>(PhantomData<K>);

impl<'de, K: NameKind> Visitor<'de> for SetVisitor<K> {
    type Value = NameSet<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} names, or a table with the key `allow`", K::NOUN)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut patterns = Vec::new();
        while let Some(Entry(pattern, _)) = seq.next_element::<Entry<K>>()? {
            patterns.push(pattern);
        }
        Ok(NameSet::from_patterns(patterns))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut set = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "allow" {
                return Err(de::Error::unknown_field(&key, &["allow"]));
            }
            if set.is_some() {
                return Err(de::Error::duplicate_field("allow"));
            }
            let Entries(patterns, _) = map.next_value::<Entries<K>>()?;
            set = Some(NameSet::from_patterns(patterns));
        }
        set.ok_or_else(|| de::Error::missing_field("allow"))
    }
}

/// One entry, parsed where it stands so that an error carries its place.
struct Entry<K>(NamePattern, PhantomData<K>);

impl<'de, K: NameKind> Deserialize<'de> for Entry<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a name, as a string", NameSet::<K>::parse)
            .map(|pattern| Self(pattern, PhantomData))
    }
}

struct Entries<K>(Vec<NamePattern>, PhantomData<K>);

impl<'de, K: NameKind> Deserialize<'de> for Entries<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<Entry<K>>::deserialize(deserializer)?;
        Ok(Self(entries.into_iter().map(|Entry(pattern, _)| pattern).collect(), PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(names: &[&str]) -> SecretSet {
        SecretSet::new(names).unwrap()
    }

    #[test]
    fn admits_only_what_was_named() {
        #[rustfmt::skip]
        let cases = [
            // pattern     asked        admitted
            ("API_KEY",    "API_KEY",   true),
            ("API_KEY",    "API_KEY2",  false),
            ("API_KEY",    "api_key",   false),
            ("prod/*",     "prod/db",   true),
            ("prod/*",     "prod/a/b",  true),
            ("prod/*",     "prod",      false),
            ("prod/*",     "prod/",     false),
            ("prod/*",     "production/db", false),
            ("prod/*",     "prod/../dev/db", false),
            ("prod/*",     "prod/*",    false),
        ];
        for (pattern, asked, admitted) in cases {
            assert_eq!(secrets(&[pattern]).admits(asked), admitted, "{pattern} ~ {asked}");
        }
    }

    #[test]
    fn refuses_spellings_of_another_kind() {
        #[rustfmt::skip]
        let cases = [
            (SecretSet::parse("*").err(),         "secret ref `*` may not be a lone `*`"),
            (SecretSet::parse("a*").err(),        "secret ref `a*` may hold `*` only as a final `/*`"),
            (SecretSet::parse("").err(),          "secret ref `` is empty"),
            (SecretSet::parse("/*").err(),        "secret ref `/*` is empty"),
            (SecretSet::parse("a//b").err(),      "secret ref `a//b` has an empty, `.` or `..` part"),
            (BinarySet::parse("./git").err(),     "binary `./git` is neither a bare name nor a normal absolute path"),
            (BinarySet::parse("/usr/../git").err(), "binary `/usr/../git` is neither a bare name nor a normal absolute path"),
            (BinarySet::parse("gi*").err(),       "binary `gi*` may not contain `*`"),
            (VariableSet::parse("A=B").err(),     "environment variable `A=B` contains `=`"),
            (VariableSet::parse("*").err(),       "environment variable `*` may not be a lone `*`"),
        ];
        for (error, message) in cases {
            assert_eq!(error.unwrap().to_string(), message);
        }
    }

    #[test]
    fn reads_a_list_or_a_table() {
        let list: BinarySet = serde_json::from_str(r#"["git", "*"]"#).unwrap();
        let table: BinarySet = serde_json::from_str(r#"{"allow": ["git", "*"]}"#).unwrap();
        assert_eq!(list, table);
        assert_eq!(serde_json::to_string(&list).unwrap(), r#"["git","*"]"#);
        let typo = serde_json::from_str::<BinarySet>(r#"{"alow": []}"#).unwrap_err();
        assert_eq!(typo.to_string(), "unknown field `alow`, expected `allow` at line 1 column 7");
    }

    #[test]
    fn a_wildcard_without_a_ceiling_is_worth_nothing() {
        let declared = BinarySet::new(["git", "*"]).unwrap();
        assert!(declared.without_any().admits("git"));
        assert!(!declared.without_any().admits("rm"));
    }
}
