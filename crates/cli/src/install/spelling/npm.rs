//! `npx` and `npm exec`.

use super::{Install, Kind, SpellingError, Words, split};

/// Options that change nothing of what is installed or run.
const HARMLESS: &[&str] = &[
    "-y",
    "--yes",
    "-q",
    "--quiet",
    "-s",
    "--silent",
    "--prefer-offline",
    "--prefer-online",
    "--ignore-existing",
];

pub(super) fn npx(words: &[String]) -> Result<Install, SpellingError> {
    let mut words = Words { program: "npx", rest: words };
    let Options { packages, first, .. } = options(&mut words)?;
    assembled(&words, &packages, first, words.rest.to_vec())
}

/// npm reads options until a `--`, also after the package.
pub(super) fn npm_exec(words: &[String]) -> Result<Install, SpellingError> {
    let mut words = Words { program: "npm exec", rest: words };
    let Options { packages, first, ended } = options(&mut words)?;
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        match word {
            word if ended => arguments.push(word.to_owned()),
            "--" => {
                arguments.extend(words.rest.iter().cloned());
                break;
            }
            word if word.starts_with('-') => return Err(words.refused(word)),
            word => arguments.push(word.to_owned()),
        }
    }
    assembled(&words, &packages, first, arguments)
}

/// What stands before a command's own arguments.
struct Options<'a> {
    packages: Vec<&'a str>,
    /// The first word that is no option.
    first: Option<&'a str>,
    /// Whether a `--` has ended them.
    ended: bool,
}

fn options<'a>(words: &mut Words<'a>) -> Result<Options<'a>, SpellingError> {
    let mut packages = Vec::new();
    while let Some(word) = words.next() {
        match split(word) {
            ("--", None) => return Ok(Options { packages, first: words.next(), ended: true }),
            ("-p" | "--package", inline) => packages.push(words.value(word, inline)?),
            _ if HARMLESS.contains(&word) => {}
            _ if word.starts_with('-') => return Err(words.refused(word)),
            _ => return Ok(Options { packages, first: Some(word), ended: false }),
        }
    }
    Ok(Options { packages, first: None, ended: false })
}

fn assembled(
    words: &Words<'_>,
    packages: &[&str],
    first: Option<&str>,
    arguments: Vec<String>,
) -> Result<Install, SpellingError> {
    let first = first.ok_or_else(|| words.nothing())?;
    let (main, with, command) = match packages.split_first() {
        Some((main, with)) => (*main, with, Some(first)),
        None => (first, packages, None),
    };
    let (package, version) = package(main)?;
    let with = with.iter().map(|other| self::package(other).map(|_| (*other).to_owned()));
    let command = match command {
        Some(command) if is_file_name(command) => Some(command.to_owned()),
        Some(command) => return Err(SpellingError::Elsewhere { spec: command.to_owned() }),
        None => None,
    };
    let with = with.collect::<Result<_, _>>()?;
    Ok(Install { kind: Kind::Npm, package, version, with, command, arguments })
}

/// Reads `name`, `@scope/name` and either with `@version`.
fn package(spec: &str) -> Result<(String, Option<String>), SpellingError> {
    let elsewhere = || SpellingError::Elsewhere { spec: spec.chars().take(120).collect() };
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(index, _)| index);
    let (name, version) = match at.and_then(|at| spec.split_at_checked(at)) {
        Some((name, version)) => (name, version.strip_prefix('@')),
        None => (spec, None),
    };
    let part = |text: &str| {
        !text.is_empty()
            && !text.starts_with(['.', '_', '-'])
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
    };
    let named = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(name) && !name.ends_with(".tgz") && !name.ends_with(".tar.gz"),
    };
    let versioned = version.is_none_or(|version| {
        !version.is_empty()
            && !version.starts_with(['.', '-'])
            && version.bytes().all(|byte| {
                byte.is_ascii_alphanumeric()
                    || matches!(
                        byte,
                        b'.' | b'-' | b'+' | b'^' | b'~' | b'*' | b'<' | b'>' | b'=' | b'|' | b' '
                    )
            })
    });
    if !named || !versioned || name.len() > 214 {
        return Err(elsewhere());
    }
    Ok((name.to_owned(), version.filter(|version| *version != "latest").map(str::to_owned)))
}

pub(super) fn is_file_name(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !text.is_empty() && !text.starts_with(['.', '-']) && text.bytes().all(legal)
}
