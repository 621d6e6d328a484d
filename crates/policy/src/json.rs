//! A strict JSON reader with limits, for everything that comes from outside.
//!
//! Two readers of one text must never see different values, so what other parsers silently resolve is refused
//! here: duplicate keys, integers beyond 64 bits, decimals that round to an integer, lone surrogates.
//!
//! INVARIANT: a [`Value`] made here is no deeper, larger or more numerous than its [`JsonLimits`].

use serde_json::{Map, Number, Value};

/// How large a text may be before it is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JsonLimits {
    /// Bytes of text.
    pub bytes: usize,
    /// Levels of nesting.
    pub depth: usize,
    /// Values, containers and keys' values counted alike.
    pub values: usize,
}

impl JsonLimits {
    /// What a tool's arguments may be: 4 MiB, 128 levels, 100,000 values.
    pub const ARGUMENTS: Self = Self { bytes: 4 << 20, depth: 128, values: 100_000 };
    /// What a policy file or a schema file may be.
    pub const DOCUMENT: Self = Self { bytes: 16 << 20, depth: 128, values: 500_000 };

    /// Refuses a value that is already in memory and over these limits.
    ///
    /// The size is that of the strings and keys plus one byte a value, which never exceeds the size of the text.
    ///
    /// # Errors
    ///
    /// Names the limit that was passed.
    pub fn check(&self, value: &Value) -> Result<(), JsonError> {
        let mut spent = Spent::default();
        self.spend(value, 1, &mut spent)
    }

    fn spend(&self, value: &Value, depth: usize, spent: &mut Spent) -> Result<(), JsonError> {
        spent.values += 1;
        spent.bytes += 1;
        if let Value::String(text) = value {
            spent.bytes += text.len();
        }
        if depth > self.depth {
            return Err(JsonError::nowhere(format!("nested deeper than {} levels", self.depth)));
        }
        if spent.values > self.values {
            return Err(JsonError::nowhere(format!("more than {} values", self.values)));
        }
        if spent.bytes > self.bytes {
            return Err(JsonError::nowhere(format!("larger than {} bytes", self.bytes)));
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.spend(item, depth + 1, spent)),
            Value::Object(map) => map.iter().try_for_each(|(key, item)| {
                spent.bytes += key.len();
                self.spend(item, depth + 1, spent)
            }),
            Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

#[derive(Default)]
struct Spent {
    bytes: usize,
    values: usize,
}

/// Why a text was refused, and where.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}{}", place(*.line, *.column))]
pub struct JsonError {
    /// Line from 1, or 0 when the value was not read from text.
    pub line: usize,
    /// Column in characters from 1.
    pub column: usize,
    /// What is wrong, without the place.
    pub message: String,
}

impl JsonError {
    const fn nowhere(message: String) -> Self {
        Self { line: 0, column: 0, message }
    }
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" at line {line} column {column}") }
}

/// Reads exactly one JSON value.
///
/// # Errors
///
/// The first problem, with its line and column. Nothing of a bad text is returned.
///
/// # Examples
///
/// ```
/// use ringfence_policy::{JsonLimits, parse_json};
///
/// let error = parse_json(r#"{"amount": 1, "amount": 2}"#, JsonLimits::ARGUMENTS).unwrap_err();
/// assert_eq!(error.to_string(), "key `amount` appears twice at line 1 column 15");
/// ```
pub fn parse_json(text: &str, limits: JsonLimits) -> Result<Value, JsonError> {
    let mut reader = Reader { text, at: 0, limits, values: 0 };
    if text.len() > limits.bytes {
        return Err(JsonError::nowhere(format!("larger than {} bytes", limits.bytes)));
    }
    reader.space();
    let value = reader.value(1)?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.error("text after the value")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    limits: JsonLimits,
    values: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: impl Into<String>) -> JsonError {
        self.error_at(self.at, message)
    }

    fn error_at(&self, at: usize, message: impl Into<String>) -> JsonError {
        let (line, column) = line_and_column(self.text, at);
        JsonError { line, column, message: message.into() }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(self.error(format!("more than {} values", self.limits.values)));
        }
        if depth > self.limits.depth {
            return Err(self.error(format!("nested deeper than {} levels", self.limits.depth)));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.error("expected a JSON value")),
            None => Err(self.error("the text ends where a value should be")),
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(self.error("expected a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                _ => return Err(self.error("expected `,` or `]`")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut map = Map::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(map));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let key_at = self.at;
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected `:` after a key"));
            }
            self.at += 1;
            self.space();
            if map.contains_key(&key) {
                return Err(self.error_at(key_at, format!("key `{key}` appears twice")));
            }
            let value = self.value(depth + 1)?;
            map.insert(key, value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Object(map));
                }
                _ => return Err(self.error("expected `,` or `}`")),
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            // Only ASCII bytes stop the loop above, so both ends are character boundaries.
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("a control character in a string must be escaped")),
                None => return Err(self.error("a string is not closed")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => return Err(self.error_at(start, "unknown escape in a string")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        let first = self.hex4(start)?;
        let scalar = match first {
            0xd800..=0xdbff => {
                let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                if !rest.starts_with(b"\\u") {
                    return Err(self.error_at(start, "half of a surrogate pair"));
                }
                self.at += 2;
                let second = self.hex4(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.error_at(start, "half of a surrogate pair"));
                }
                0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        char::from_u32(scalar).ok_or_else(|| self.error_at(start, "half of a surrogate pair"))
    }

    fn hex4(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.error_at(start, "`\\u` needs four hexadecimal digits"))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(self.error_at(start, "malformed number"));
        }
        let mut fraction = false;
        let mut exponent = false;
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = true;
            if self.digits() == 0 {
                return Err(self.error_at(start, "malformed number"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            exponent = true;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.error_at(start, "malformed number"));
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let number = if fraction || exponent { decimal(text) } else { integer(text) };
        number
            .map(Value::Number)
            .ok_or_else(|| self.error_at(start, format!("number `{}` cannot be held exactly", shorten(text))))
    }
}

fn integer(text: &str) -> Option<Number> {
    // As other readers see it: only a double has a negative zero.
    if text == "-0" {
        return Number::from_f64(-0.0);
    }
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// A decimal whose double is an integer where the text is not (100.0000000000000000001 → 100), another integer
/// (9007199254740993.0 → …992) or zero where the text is not (1e-400 → 0) is refused: a schema would then judge a
/// number that nobody wrote. Other rounding is what doubles are.
fn decimal(text: &str) -> Option<Number> {
    const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;
    let number: f64 = text.parse().ok()?;
    let (digits, exponent) = significant(text)?;
    if digits.is_empty() {
        return Number::from_f64(number);
    }
    let is_integer = exponent >= 0;
    let becomes_integer = number.fract() == 0.0;
    // The shortest spelling of the double is the one that was meant, unless it differs from what was written.
    let as_written =
        || significant(&format!("{number:e}")).is_some_and(|shortest| shortest == (digits, exponent));
    if number == 0.0
        || is_integer != becomes_integer
        || (is_integer && number.abs() >= EXACT_INTEGERS && !as_written())
    {
        return None;
    }
    Number::from_f64(number)
}

/// Returns the digits of a number without leading and trailing zeros, and the power of ten of the last one.
fn significant(text: &str) -> Option<(String, i64)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let digits = digits.trim_start_matches('0');
    let trimmed = digits.trim_end_matches('0');
    if trimmed.is_empty() {
        return Some((String::new(), 0));
    }
    // An exponent beyond any double makes the number infinite or zero, which is refused on its own.
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let dropped = i64::try_from(digits.len() - trimmed.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    Some((trimmed.to_owned(), exponent.checked_sub(places)?.checked_add(dropped)?))
}

fn shorten(text: &str) -> &str {
    text.get(..40).unwrap_or(text)
}

/// Turns a byte offset into a line and a column, both from 1, the column in characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&character| character != '\n').count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests;
