//! Reading a git configuration as git reads it.
//!
//! INVARIANT: whatever git reads from a file, [`parse`] reads too. Where versions of git differ, or text ends at a NUL for
//! git, the result is marked as odd, and nobody takes it for plain.

/// What a file sets, in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Config {
    pub(crate) settings: Vec<Setting>,
    /// Whether git would read it to its end, and every version of git the same.
    pub(crate) is_regular: bool,
}

/// One line of a configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Setting {
    /// `section.key` or `section.part.key`; the part as it stands, the rest in lower case.
    pub(crate) name: Vec<u8>,
    /// Absent where the line is only a key, which means true.
    pub(crate) value: Option<Vec<u8>>,
}

impl Setting {
    /// Returns the name before the first dot.
    pub(crate) fn section(&self) -> &[u8] {
        self.name.split(|byte| *byte == b'.').next().unwrap_or_default()
    }

    /// Returns the name after the last dot.
    pub(crate) fn key(&self) -> &[u8] {
        self.name.rsplit(|byte| *byte == b'.').next().unwrap_or_default()
    }

    /// Returns what is between the section and the key, where there is something.
    pub(crate) fn part(&self) -> Option<&[u8]> {
        let (section, key) = (self.section().len(), self.key().len());
        self.name.get(section + 1..self.name.len().checked_sub(key + 1)?)
    }
}

/// Reads a configuration. Where git would stop with an error, what stands before is returned.
pub(crate) fn parse(bytes: &[u8]) -> Config {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut source = Source { bytes, at: 0, ended: false };
    let mut config = Config::default();
    let whole = read(&mut source, &mut config.settings).is_some();
    let is_odd = |byte: &u8| *byte == 0 || *byte == 0x0b || *byte == 0x0c;
    config.is_regular = whole && !bytes.iter().any(is_odd);
    config
}

/// The characters as git sees them: CR LF is one line end, and so is the end of the file.
struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl Source<'_> {
    fn next(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        match byte {
            None => {
                self.ended = true;
                b'\n'
            }
            Some(b'\r') if self.bytes.get(self.at) == Some(&b'\n') => {
                self.at += 1;
                b'\n'
            }
            Some(byte) => byte,
        }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Text that git keeps as a string of C ends at a NUL.
fn until_nul(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

fn read(source: &mut Source<'_>, settings: &mut Vec<Setting>) -> Option<()> {
    let mut section = Vec::new();
    let mut is_comment = false;
    loop {
        let byte = source.next();
        match byte {
            b'\n' if source.ended => return Some(()),
            b'\n' => is_comment = false,
            _ if is_comment || is_space(byte) => {}
            b'#' | b';' => is_comment = true,
            b'[' => {
                section = section_name(source)?;
                section.push(b'.');
            }
            _ if byte.is_ascii_alphabetic() => {
                let mut name = section.clone();
                name.push(byte.to_ascii_lowercase());
                let value = key_and_value(source, &mut name)?;
                settings
                    .push(Setting { name: until_nul(&name), value: value.map(|value| until_nul(&value)) });
            }
            _ => return None,
        }
    }
}

fn section_name(source: &mut Source<'_>) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    loop {
        let byte = source.next();
        match byte {
            _ if source.ended => return None,
            b']' => return Some(name),
            _ if is_space(byte) => {
                part(source, byte, &mut name)?;
                return Some(name);
            }
            _ if is_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
            _ => return None,
        }
    }
}

/// Reads ` "part"]`.
fn part(source: &mut Source<'_>, first: u8, name: &mut Vec<u8>) -> Option<()> {
    let mut byte = first;
    while is_space(byte) {
        if byte == b'\n' {
            return None;
        }
        byte = source.next();
    }
    if byte != b'"' {
        return None;
    }
    name.push(b'.');
    loop {
        match source.next() {
            b'\n' => return None,
            b'"' => break,
            b'\\' => match source.next() {
                b'\n' => return None,
                escaped => name.push(escaped),
            },
            byte => name.push(byte),
        }
    }
    (source.next() == b']').then_some(())
}

fn key_and_value(source: &mut Source<'_>, name: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
    let mut byte = source.next();
    while !source.ended && is_key(byte) {
        name.push(byte.to_ascii_lowercase());
        byte = source.next();
    }
    while matches!(byte, b' ' | b'\t') {
        byte = source.next();
    }
    match byte {
        b'\n' => Some(None),
        b'=' => value(source).map(Some),
        _ => None,
    }
}

fn value(source: &mut Source<'_>) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    // How much of it stays when only space follows.
    let mut trimmed = 0;
    let (mut is_quoted, mut is_comment) = (false, false);
    loop {
        let byte = source.next();
        match byte {
            b'\n' if is_quoted => return None,
            b'\n' => {
                if trimmed > 0 {
                    value.truncate(trimmed);
                }
                return Some(value);
            }
            _ if is_comment => continue,
            _ if is_space(byte) && !is_quoted => {
                if trimmed == 0 {
                    trimmed = value.len();
                }
                if !value.is_empty() {
                    value.push(byte);
                }
                continue;
            }
            b';' | b'#' if !is_quoted => {
                is_comment = true;
                continue;
            }
            _ => {}
        }
        trimmed = 0;
        match byte {
            b'\\' => match source.next() {
                b'\n' => {}
                b't' => value.push(b'\t'),
                b'b' => value.push(0x08),
                b'n' => value.push(b'\n'),
                escaped @ (b'\\' | b'"') => value.push(escaped),
                _ => return None,
            },
            b'"' => is_quoted = !is_quoted,
            byte => value.push(byte),
        }
    }
}

#[cfg(test)]
mod tests;
