//! What well-known programs need beside themselves: git's helpers, Python's library, a compiler's parts.

use std::path::{Path, PathBuf};

use super::path::{Found, find};

/// Something that comes with a program, as it was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Companion {
    pub(crate) found: Found,
    pub(crate) role: Role,
}

/// Something that comes with a program, if it exists.
struct Wanted {
    path: PathBuf,
    role: Role,
}

/// What a companion is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// Read.
    Data,
    /// Read, and mapped for execution by the program.
    Library,
    /// Started by the program.
    Programs,
}

/// One program and what it needs; `{prefix}` is the folder above the program's own, `{version}` what follows its name.
struct Known {
    name: &'static str,
    needs: &'static [(Role, &'static str)],
}

use Role::{Data, Library, Programs};

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    Known { name: "git", needs: &[
        (Programs, "{prefix}/libexec/git-core"), (Programs, "{prefix}/lib/git-core"), (Data, "{prefix}/share/git-core"),
    ] },
    Known { name: "python", needs: &[
        (Library, "{prefix}/lib/python{version}"), (Library, "{prefix}/lib/python3"),
        (Library, "/usr/local/lib/python{version}"), (Data, "/etc/python{version}"), (Data, "/usr/share/python3"),
    ] },
    Known { name: "node", needs: &[
        (Library, "{prefix}/lib/node_modules"), (Library, "{prefix}/share/nodejs"), (Data, "{prefix}/share/node_modules"),
    ] },
    Known { name: "perl", needs: &[
        (Library, "{prefix}/share/perl"), (Library, "{prefix}/share/perl5"), (Data, "/etc/perl"), (Library, "{prefix}/lib/perl5"),
    ] },
    Known { name: "ruby", needs: &[(Library, "{prefix}/lib/ruby"), (Library, "{prefix}/share/rubygems-integration")] },
    Known { name: "php", needs: &[(Library, "{prefix}/lib/php"), (Data, "/etc/php")] },
    Known { name: "cc", needs: COMPILER },
    Known { name: "gcc", needs: COMPILER },
    Known { name: "g++", needs: COMPILER },
    Known { name: "x86_64-linux-gnu-gcc", needs: COMPILER },
    Known { name: "x86_64-linux-gnu-g++", needs: COMPILER },
    Known { name: "aarch64-linux-gnu-gcc", needs: COMPILER },
    Known { name: "java", needs: JAVA },
    Known { name: "javac", needs: JAVA },
    Known { name: "jar", needs: JAVA },
    Known { name: "jq", needs: &[] },
    Known { name: "vim", needs: &[(Data, "{prefix}/share/vim")] },
    Known { name: "file", needs: &[(Data, "{prefix}/share/misc"), (Data, "{prefix}/lib/file"), (Data, "/etc/magic")] },
];

const COMPILER: &[(Role, &str)] = &[
    (Programs, "/usr/lib/gcc"),
    (Programs, "/usr/libexec/gcc"),
    (Data, "/usr/include"),
    (Data, "/usr/local/include"),
    (Programs, "/usr/bin/as"),
    (Programs, "/usr/bin/ld"),
    (Programs, "/usr/bin/ar"),
];
const JAVA: &[(Role, &str)] = &[(Library, "{prefix}/lib"), (Data, "{prefix}/conf")];

/// Returns what exists of a program's companions. Where the program was asked for by a link, both names count.
pub(super) fn companions(asked: &Path, real: &Path) -> Vec<Companion> {
    let mut all = Vec::new();
    for path in [asked, real] {
        for Wanted { path, role } in of(path).into_iter().chain(environment(path)).chain(toolchain(path)) {
            if let Ok(found) = find(&path)
                && !all.iter().any(|known: &Companion| known.found.real == found.real)
            {
                all.push(Companion { found, role });
            }
        }
    }
    all
}

fn of(path: &Path) -> Vec<Wanted> {
    let (Some(name), Some(prefix)) = (path.file_name().and_then(|name| name.to_str()), prefix(path)) else {
        return Vec::new();
    };
    // `python3.11` is `python` of version `3.11`; `gcc-12` is `gcc`.
    let stem =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || matches!(character, '.' | '-'));
    let version = name.strip_prefix(stem).unwrap_or_default();
    let known = KNOWN.iter().find(|known| known.name == name || known.name == stem);
    let place = |need: &str| {
        PathBuf::from(need.replace("{prefix}", &prefix.to_string_lossy()).replace("{version}", version))
    };
    known
        .into_iter()
        .flat_map(|known| known.needs)
        .map(|(role, need)| Wanted { path: place(need), role: *role })
        // `python3` without a minor version would mean a folder that is already there.
        .filter(|wanted| !wanted.path.ends_with("python"))
        .collect()
}

/// The folder above the one that holds the program.
fn prefix(path: &Path) -> Option<&Path> {
    path.parent()?.parent()
}

/// A Python virtual environment around the program, and the shared library of a Python built elsewhere.
fn environment(path: &Path) -> Vec<Wanted> {
    let Some(prefix) = prefix(path) else { return Vec::new() };
    if prefix.join("pyvenv.cfg").is_file() {
        return vec![Wanted { path: prefix.to_path_buf(), role: Library }];
    }
    let is_python = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"));
    let elsewhere = !["/", "/usr", "/usr/local"].iter().any(|system| prefix == Path::new(system));
    let libraries = || Wanted { path: prefix.join("lib"), role: Library };
    if is_python && elsewhere { vec![libraries()] } else { Vec::new() }
}

/// Returns the program that a rustup proxy would start: the one of the default toolchain.
///
/// The proxy itself reads the home folder and the environment to decide, and has neither inside.
pub(super) fn behind_proxy(asked: &Path, real: &Path) -> Option<PathBuf> {
    let name = asked.file_name().filter(|name| *name != "rustup" && *name != "rustup-init")?;
    if real.file_name()? != "rustup" {
        return None;
    }
    let home = prefix(asked)?.parent()?.join(".rustup");
    let settings = std::fs::read_to_string(home.join("settings.toml")).ok()?;
    let line = settings.lines().find_map(|line| line.trim().strip_prefix("default_toolchain"))?;
    let toolchain = line.trim_start_matches([' ', '=']).trim().trim_matches('"');
    let program = home.join("toolchains").join(toolchain).join("bin").join(name);
    program.is_file().then_some(program)
}

/// The Rust toolchain around a compiler or cargo.
fn toolchain(path: &Path) -> Vec<Wanted> {
    let Some(prefix) = prefix(path) else { return Vec::new() };
    let is_toolchain = prefix.join("lib/rustlib").is_dir();
    if is_toolchain { vec![Wanted { path: prefix.to_path_buf(), role: Programs }] } else { Vec::new() }
}
