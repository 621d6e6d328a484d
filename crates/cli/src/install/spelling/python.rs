//! `uvx`, `uv tool run` and `pipx run`.

use super::npm::is_file_name;
use super::{Install, Kind, SpellingError, Words, split};

/// Options that change nothing of what is installed or run.
const UV_HARMLESS: &[&str] =
    &["-q", "--quiet", "-v", "--verbose", "-n", "--no-cache", "--no-progress", "--isolated", "--no-config"];
const PIPX_HARMLESS: &[&str] = &["--no-cache", "--quiet", "-q", "--verbose", "-v"];

pub(super) fn uvx(program: &'static str, words: &[String]) -> Result<Install, SpellingError> {
    let mut words = Words { program, rest: words };
    let (mut from, mut with, mut first) = (None, Vec::new(), None);
    while let Some(word) = words.next() {
        match split(word) {
            ("--", None) => {
                first = words.next();
                break;
            }
            ("--from", inline) => from = Some(words.value(word, inline)?),
            ("--with" | "-w", inline) => {
                let listed = words.value(word, inline)?.split(',').map(str::trim);
                with.extend(
                    listed
                        .map(|own| requirement(own).map(|_| own.to_owned()))
                        .collect::<Result<Vec<_>, _>>()?,
                );
            }
            _ if UV_HARMLESS.contains(&word) => {}
            _ if word.starts_with('-') => return Err(words.refused(word)),
            _ => {
                first = Some(word);
                break;
            }
        }
    }
    let first = first.ok_or_else(|| words.nothing())?;
    let (package, version, command) = match from {
        Some(from) => {
            let (package, version) = at_version(from)?;
            (package, version, program_name(first)?)
        }
        None => {
            let (package, version) = at_version(first)?;
            let command = bare(&package).to_owned();
            (package, version, command)
        }
    };
    let arguments = words.rest.to_vec();
    Ok(Install { kind: Kind::PyPi, package, version, with, command: Some(command), arguments })
}

pub(super) fn pipx(words: &[String]) -> Result<Install, SpellingError> {
    let mut words = Words { program: "pipx run", rest: words };
    let (mut spec, mut first) = (None, None);
    while let Some(word) = words.next() {
        match split(word) {
            ("--", None) => {
                first = words.next();
                break;
            }
            ("--spec", inline) => spec = Some(words.value(word, inline)?),
            _ if PIPX_HARMLESS.contains(&word) => {}
            _ if word.starts_with('-') => return Err(words.refused(word)),
            _ => {
                first = Some(word);
                break;
            }
        }
    }
    let first = first.ok_or_else(|| words.nothing())?;
    let (package, version, command) = match spec {
        Some(spec) => {
            let (package, version) = requirement(spec)?;
            (package, version, program_name(first)?)
        }
        None => {
            let (package, version) = requirement(first)?;
            let command = bare(&package).to_owned();
            (package, version, command)
        }
    };
    let arguments = words.rest.to_vec();
    Ok(Install { kind: Kind::PyPi, package, version, with: Vec::new(), command: Some(command), arguments })
}

/// Reads `name@1.2` and `name@latest`, which only uv takes, beside requirements.
fn at_version(spec: &str) -> Result<(String, Option<String>), SpellingError> {
    let Some((name, version)) = spec.split_once('@') else { return requirement(spec) };
    let elsewhere = || SpellingError::Elsewhere { spec: spec.chars().take(120).collect() };
    let (package, none) = requirement(name)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-' | b'!' | b'_');
    match version {
        _ if none.is_some() || name.ends_with(' ') => Err(elsewhere()),
        "latest" => Ok((package, None)),
        _ if !version.is_empty() && version.bytes().all(plain) => Ok((package, Some(format!("=={version}")))),
        _ => Err(elsewhere()),
    }
}

/// Reads `name`, `name[extra]` and either with version specifiers, as `name>=1,<2`.
fn requirement(spec: &str) -> Result<(String, Option<String>), SpellingError> {
    let elsewhere = || SpellingError::Elsewhere { spec: spec.chars().take(120).collect() };
    let end = spec.find(['=', '<', '>', '~', '!', ' ', '@', ';', ':', '/']).unwrap_or(spec.len());
    let (package, rest) = spec.split_at_checked(end).ok_or_else(elsewhere)?;
    let (name, extras) = match package.split_once('[') {
        Some((name, extras)) => (name, Some(extras.strip_suffix(']').ok_or_else(elsewhere)?)),
        None => (package, None),
    };
    let word = |text: &str| {
        let ends = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
        ends(text.bytes().next())
            && ends(text.bytes().last())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let listed = extras.is_none_or(|extras| extras.split(',').map(str::trim).all(word));
    let is_file = [".py", ".whl", ".gz", ".zip"].iter().any(|end| name.ends_with(end));
    let specifier = |text: &str| {
        let operators = ["===", "==", "~=", "!=", "<=", ">=", "<", ">"];
        let version = operators.iter().find_map(|operator| text.trim().strip_prefix(operator));
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'*' | b'+' | b'-' | b'!' | b'_')
        };
        version.map(str::trim).is_some_and(|version| !version.is_empty() && version.bytes().all(plain))
    };
    let rest = rest.trim();
    if !word(name) || !listed || is_file || !(rest.is_empty() || rest.split(',').all(specifier)) {
        return Err(elsewhere());
    }
    Ok((package.to_owned(), Some(rest).filter(|rest| !rest.is_empty()).map(str::to_owned)))
}

fn program_name(word: &str) -> Result<String, SpellingError> {
    if is_file_name(word) {
        Ok(word.to_owned())
    } else {
        Err(SpellingError::Elsewhere { spec: word.to_owned() })
    }
}

/// The name without its extras.
fn bare(package: &str) -> &str {
    package.split('[').next().unwrap_or(package)
}
