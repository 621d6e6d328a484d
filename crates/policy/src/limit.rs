//! Limits of a call: how long, how much memory, how many processes, how much output, how much network.
//!
//! Durations are written `500ms`, `30s`, `2m`, `1h`, `7d`; sizes `512K`, `64M`, `1G` (powers of 1,024) or plain bytes. Every limit can
//! be `unlimited`, which is more than any number and is not enforced.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, IntoDeserializer as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::visited::visited;

/// The limits of a call. What is absent is not limited by this side.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Wall-clock time.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub wall: Option<Span>,
    /// Processor time.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Span>,
    /// Memory.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Processes and threads.
    #[serde(with = "count", skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Open files of one process.
    #[serde(
        with = "count",
        alias = "openFiles",
        alias = "open-files",
        skip_serializing_if = "Option::is_none"
    )]
    pub open_files: Option<u32>,
    /// Size of one written file.
    #[serde(
        deserialize_with = "or_unlimited",
        alias = "fileSize",
        alias = "file-size",
        skip_serializing_if = "Option::is_none"
    )]
    pub file_size: Option<Size>,
    /// Output kept of one call.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub output: Option<Size>,
    /// Scratch space.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub scratch: Option<Size>,
    /// Network connections open at the same time.
    #[serde(with = "count", skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Bytes sent over the network by one call.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub sent: Option<Size>,
    /// Bytes received over the network by one call.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub received: Option<Size>,
    /// How long a network connection may be silent.
    #[serde(deserialize_with = "or_unlimited", skip_serializing_if = "Option::is_none")]
    pub idle: Option<Span>,
    /// How long a network connection may last.
    #[serde(
        deserialize_with = "or_unlimited",
        alias = "connectionTime",
        alias = "connection-time",
        skip_serializing_if = "Option::is_none"
    )]
    pub connection_time: Option<Span>,
    /// Network requests in a minute: a connection is one, and so is each further HTTP request that can be seen on it.
    #[serde(
        with = "count",
        alias = "requestsPerMinute",
        alias = "requests-per-minute",
        skip_serializing_if = "Option::is_none"
    )]
    pub requests_per_minute: Option<u32>,
    /// Different names in a minute that only a pattern with `*` admits.
    #[serde(
        with = "count",
        alias = "namesPerMinute",
        alias = "names-per-minute",
        skip_serializing_if = "Option::is_none"
    )]
    pub names_per_minute: Option<u32>,
}

impl Limits {
    /// Returns the limits of a component where nobody says otherwise. A component may ask for less; only an operator gives more.
    pub const fn of_components() -> Self {
        Self {
            wall: None,
            cpu: None,
            memory: Some(Size::new(64 << 20)),
            processes: None,
            open_files: Some(256),
            file_size: None,
            output: Some(Size::new(4 << 20)),
            scratch: None,
            connections: None,
            sent: None,
            received: None,
            idle: None,
            connection_time: None,
            requests_per_minute: None,
            names_per_minute: None,
        }
    }

    /// Returns the limits of the network where nobody says otherwise. An operator gives more or less.
    pub const fn of_network() -> Self {
        Self {
            wall: None,
            cpu: None,
            memory: None,
            processes: None,
            open_files: None,
            file_size: None,
            output: None,
            scratch: None,
            connections: Some(256),
            sent: None,
            received: None,
            idle: Some(Span::new(Duration::from_secs(5 * 60))),
            connection_time: None,
            requests_per_minute: None,
            names_per_minute: Some(120),
        }
    }

    /// Returns, for each limit, this one where there is one, and the other's otherwise.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self {
            wall: self.wall.or(other.wall),
            cpu: self.cpu.or(other.cpu),
            memory: self.memory.or(other.memory),
            processes: self.processes.or(other.processes),
            open_files: self.open_files.or(other.open_files),
            file_size: self.file_size.or(other.file_size),
            output: self.output.or(other.output),
            scratch: self.scratch.or(other.scratch),
            connections: self.connections.or(other.connections),
            sent: self.sent.or(other.sent),
            received: self.received.or(other.received),
            idle: self.idle.or(other.idle),
            connection_time: self.connection_time.or(other.connection_time),
            requests_per_minute: self.requests_per_minute.or(other.requests_per_minute),
            names_per_minute: self.names_per_minute.or(other.names_per_minute),
        }
    }

    /// Returns the limits that there is something to enforce of: those that are not `unlimited`.
    #[must_use]
    pub fn enforced(&self) -> Self {
        let span = |limit: Option<Span>| limit.filter(|limit| *limit != Span::UNLIMITED);
        let size = |limit: Option<Size>| limit.filter(|limit| *limit != Size::UNLIMITED);
        let count = |limit: Option<u32>| limit.filter(|limit| *limit != UNLIMITED_COUNT);
        Self {
            wall: span(self.wall),
            cpu: span(self.cpu),
            memory: size(self.memory),
            processes: count(self.processes),
            open_files: count(self.open_files),
            file_size: size(self.file_size),
            output: size(self.output),
            scratch: size(self.scratch),
            connections: self.connections,
            sent: size(self.sent),
            received: size(self.received),
            idle: self.idle,
            connection_time: span(self.connection_time),
            requests_per_minute: count(self.requests_per_minute),
            names_per_minute: self.names_per_minute,
        }
    }

    /// Returns, for each limit, the tighter of both.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            wall: tighter(self.wall, other.wall),
            cpu: tighter(self.cpu, other.cpu),
            memory: tighter(self.memory, other.memory),
            processes: tighter(self.processes, other.processes),
            open_files: tighter(self.open_files, other.open_files),
            file_size: tighter(self.file_size, other.file_size),
            output: tighter(self.output, other.output),
            scratch: tighter(self.scratch, other.scratch),
            connections: tighter(self.connections, other.connections),
            sent: tighter(self.sent, other.sent),
            received: tighter(self.received, other.received),
            idle: tighter(self.idle, other.idle),
            connection_time: tighter(self.connection_time, other.connection_time),
            requests_per_minute: tighter(self.requests_per_minute, other.requests_per_minute),
            names_per_minute: tighter(self.names_per_minute, other.names_per_minute),
        }
    }
}

fn tighter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A length of time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Span(Duration);

/// How a limit says that there is none.
const UNLIMITED: &str = "unlimited";

/// A number of processes, files or connections that is not limited.
pub const UNLIMITED_COUNT: u32 = u32::MAX;

impl Span {
    /// No limit: longer than any other.
    pub const UNLIMITED: Self = Self(Duration::MAX);

    /// Wraps a duration.
    pub const fn new(duration: Duration) -> Self {
        Self(duration)
    }

    /// Returns the duration.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Size(u64);

impl Size {
    /// No limit: larger than any other.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// Wraps a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// A limit that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a {what}")]
pub struct LimitError {
    text: String,
    what: &'static str,
}

impl FromStr for Span {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        let what = "duration such as `500ms`, `30s`, `2m` or `1h`";
        let error = || LimitError { text: text.to_owned(), what };
        let millis = scaled(text, &units).ok_or_else(error)?;
        if millis == 0 { Err(error()) } else { Ok(Self(Duration::from_millis(millis))) }
    }
}

impl FromStr for Size {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let units = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("", 1)];
        let what = "size such as `512K`, `64M`, `1G` or plain bytes";
        let error = || LimitError { text: text.to_owned(), what };
        scaled(text, &units).map(Self).ok_or_else(error)
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        digits.parse::<u64>().ok()?.checked_mul(*factor)
    })
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        match millis {
            _ if *self == Self::UNLIMITED => f.write_str(UNLIMITED),
            _ if !millis.is_multiple_of(1_000) => write!(f, "{millis}ms"),
            _ => write!(f, "{}s", millis / 1_000),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        let unit = units.iter().find(|(factor, _)| self.0 != 0 && self.0.is_multiple_of(*factor));
        match unit {
            _ if *self == Self::UNLIMITED => f.write_str(UNLIMITED),
            Some((factor, name)) => write!(f, "{}{name}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        visited(deserializer, "a duration, as a string", str::parse)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// A duration or size that has a value for no limit. Elsewhere there is none: a wait or a buffer has an end.
trait Unlimited: Sized {
    const EXPECTED: &'static str;
    const UNLIMITED: Self;
}

impl Unlimited for Span {
    const EXPECTED: &'static str = "a duration, as a string";
    const UNLIMITED: Self = Self::UNLIMITED;
}

impl Unlimited for Size {
    const EXPECTED: &'static str = "a size such as `64M`, or a number of bytes";
    const UNLIMITED: Self = Self::UNLIMITED;
}

fn or_unlimited<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Unlimited + Deserialize<'de>,
{
    deserializer.deserialize_any(OrUnlimited(std::marker::PhantomData)).map(Some)
}

struct OrUnlimited<T>(std::marker::PhantomData<T>);

impl<'de, T: Unlimited + Deserialize<'de>> Visitor<'de> for OrUnlimited<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        if text == UNLIMITED { Ok(T::UNLIMITED) } else { T::deserialize(text.into_deserializer()) }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        T::deserialize(number.into_deserializer())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::deserialize(number.into_deserializer())
    }
}

/// Limits that are numbers, or `unlimited`.
mod count {
    use std::fmt;

    use serde::de::{self, Visitor};
    use serde::{Deserializer, Serializer};

    use super::{UNLIMITED, UNLIMITED_COUNT};

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it like this")]
    pub(super) fn serialize<S: Serializer>(count: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        match count {
            None => serializer.serialize_none(),
            Some(UNLIMITED_COUNT) => serializer.serialize_some(UNLIMITED),
            Some(count) => serializer.serialize_some(count),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        deserializer.deserialize_any(CountVisitor).map(Some)
    }

    struct CountVisitor;

    impl Visitor<'_> for CountVisitor {
        type Value = u32;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number, or `unlimited`")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<u32, E> {
            if text == UNLIMITED {
                Ok(UNLIMITED_COUNT)
            } else {
                Err(E::custom(format!("`{text}` is not a number or `unlimited`")))
            }
        }

        fn visit_u64<E: de::Error>(self, count: u64) -> Result<u32, E> {
            let within = u32::try_from(count).ok().filter(|count| *count != UNLIMITED_COUNT);
            within.ok_or_else(|| E::custom(format!("{count} is too large; write `unlimited` for no limit")))
        }

        fn visit_i64<E: de::Error>(self, count: i64) -> Result<u32, E> {
            let count = u64::try_from(count).map_err(|_| E::custom("a limit cannot be negative"))?;
            self.visit_u64(count)
        }
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as `64M`, or a number of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(de::Error::custom)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        Ok(Size(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
        u64::try_from(bytes).map(Size).map_err(|_| de::Error::custom("a size cannot be negative"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_durations_and_sizes() {
        for (text, millis) in
            [("500ms", 500), ("30s", 30_000), ("2m", 120_000), ("1h", 3_600_000), ("7d", 604_800_000)]
        {
            assert_eq!(text.parse::<Span>().unwrap().duration().as_millis(), millis, "{text}");
        }
        for (text, bytes) in [("0", 0), ("512", 512), ("4K", 4096), ("512M", 512 << 20), ("1G", 1 << 30)] {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.bytes(), bytes, "{text}");
            assert_eq!(size.to_string(), text);
        }
        for text in ["", "s", "-1s", "1.5s", "0s", "10", "1w", "unlimited", "99999999999999999999s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        for text in ["", "M", "-1", "1.5M", "1T", "99999999999999999999"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_limit_can_be_unlimited() {
        let all = "wall cpu memory processes open_files file_size output scratch connections sent received idle \
            connection_time requests_per_minute names_per_minute";
        let written: serde_json::Map<_, _> =
            all.split_whitespace().map(|name| (name.to_owned(), UNLIMITED.into())).collect();
        let written = serde_json::Value::Object(written);
        let limits: Limits = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(limits).unwrap(), written);
        let enforced = limits.enforced();
        assert_eq!((enforced.wall, enforced.memory, enforced.processes), (None, None, None));

        // It is more than any number, so that whoever says a number is tighter.
        let some = Limits { wall: Some("7d".parse().unwrap()), processes: Some(3), ..Limits::default() };
        assert_eq!((limits.meet(&some).wall, limits.meet(&some).processes), (some.wall, some.processes));
        for wrong in [r#"{"processes":4294967295}"#, r#"{"processes":-1}"#, r#"{"processes":"many"}"#] {
            assert!(serde_json::from_str::<Limits>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_tighter_limit_wins() {
        let tool = Limits { wall: Some("10s".parse().unwrap()), processes: Some(4), ..Limits::default() };
        let operator =
            Limits { wall: Some("30s".parse().unwrap()), output: Some(Size(10)), ..Limits::default() };
        let both = tool.meet(&operator);
        assert_eq!((both.wall, both.processes, both.output), (tool.wall, Some(4), Some(Size(10))));
    }
}
