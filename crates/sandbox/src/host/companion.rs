//! What well-known programs need beside themselves: git's helpers, Python's library, a compiler's parts.
//!
//! INVARIANT: companions are those of the real program's own installation. Nothing is looked for beside a link, and no link leads
//! out of the installation: a repository could bring such a link, and choose what a program may read.

use std::path::{Path, PathBuf};

use super::judge::Judge;
use super::path::{Found, Kind, find};
use super::system::{is_system, is_system_link};

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

/// One program and what it needs; `{version}` is what follows its name. A relative path is below the folder above the program's own.
struct Known {
    names: &'static [&'static str],
    needs: &'static [(Role, &'static str)],
    /// What shows that a folder which is not the system's is an installation: one of these is there, as a folder or a plain file.
    landmarks: &'static [&'static str],
}

use Role::{Data, Library, Programs};

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    Known { names: &["git"], landmarks: &["libexec/git-core"], needs: &[
        (Programs, "libexec/git-core"), (Programs, "lib/git-core"), (Data, "share/git-core"),
    ] },
    Known { names: &["python"], landmarks: &["lib/python{version}/os.py"], needs: &[
        (Library, "lib/python{version}"), (Library, "lib/python3"),
        (Library, "/usr/local/lib/python{version}"), (Data, "/etc/python{version}"), (Data, "/usr/share/python3"),
    ] },
    Known { names: &["node"], landmarks: &["include/node/node.h", "lib/node_modules/npm/package.json"], needs: &[
        (Library, "lib/node_modules"), (Library, "share/nodejs"), (Data, "share/node_modules"),
    ] },
    Known { names: &["perl"], landmarks: &["lib/perl5"], needs: &[
        (Library, "share/perl"), (Library, "share/perl5"), (Data, "/etc/perl"), (Library, "lib/perl5"),
    ] },
    Known { names: &["ruby"], landmarks: &["lib/ruby"], needs: &[
        (Library, "lib/ruby"), (Library, "share/rubygems-integration"),
    ] },
    Known { names: &["php"], landmarks: &[], needs: &[(Library, "lib/php"), (Data, "/etc/php")] },
    Known { names: &["cc", "gcc", "g++", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++", "aarch64-linux-gnu-gcc"], landmarks: &[], needs: &[
        (Programs, "/usr/lib/gcc"), (Programs, "/usr/libexec/gcc"), (Data, "/usr/include"), (Data, "/usr/local/include"),
        (Programs, "/usr/bin/as"), (Programs, "/usr/bin/ld"), (Programs, "/usr/bin/ar"),
    ] },
    Known { names: &["java", "javac", "jar"], landmarks: &["lib/modules"], needs: &[(Library, "lib"), (Data, "conf")] },
    Known { names: &["vim"], landmarks: &[], needs: &[(Data, "share/vim")] },
    Known { names: &["file"], landmarks: &[], needs: &[(Data, "share/misc"), (Data, "lib/file"), (Data, "/etc/magic")] },
    Known { names: RUST, landmarks: &["lib/rustlib"], needs: &[(Programs, "bin"), (Programs, "lib"), (Programs, "libexec")] },
];
const RUST: &[&str] = &[
    "cargo",
    "cargo-clippy",
    "cargo-fmt",
    "cargo-miri",
    "clippy-driver",
    "rls",
    "rust-analyzer",
    "rust-gdb",
    "rust-gdbgui",
    "rust-lldb",
    "rustc",
    "rustdoc",
    "rustfmt",
];
/// Prefixes that many programs share: what is there is not one program's own.
const SHARED: &[&str] = &["/", "/usr", "/usr/local"];
/// The largest settings of a virtual environment or of rustup that are looked at.
const MOST_SETTINGS: u64 = 64 << 10;
/// Files of a Java installation that are links where the system keeps settings elsewhere.
const JAVA_SETTINGS: &[&str] = &["lib/jvm.cfg", "conf/net.properties", "lib/security/cacerts"];
/// In a longer list of libraries nothing is looked for.
const MOST_LISTED: usize = 4_096;

/// Returns what exists of a program's companions.
///
/// `script` is the file that names the program, where one does: it brings no environment but the one that it lies in.
pub(super) fn companions(
    asked: &Path,
    program: &Found,
    script: Option<&Path>,
    judge: &Judge<'_>,
) -> Vec<Companion> {
    let mut all: Vec<Companion> = Vec::new();
    let own = own(asked, program, judge).into_iter().chain(environment(asked, program, script, judge));
    for one in own {
        if !all.iter().any(|known| known.found.real == one.found.real) {
            all.push(one);
        }
    }
    all
}

/// Tells whether a program lies in an installation that is known by its shape.
pub(super) fn is_installed(real: &Path, judge: &Judge<'_>) -> bool {
    let Some((prefix, name)) = prefix_and_name(real) else { return false };
    Named::of(name).is_some_and(|named| named.is_at(prefix, judge))
}

fn own(asked: &Path, program: &Found, judge: &Judge<'_>) -> Vec<Companion> {
    let Some((prefix, name)) = prefix_and_name(&program.real) else { return Vec::new() };
    let place = if is_system(&program.real) { Place::System } else { Place::Own };
    // The system calls one program by several names; what anybody else calls it says nothing.
    let alias = asked.file_name().and_then(|name| name.to_str());
    let by_system = place == Place::System && program.links.iter().all(|(at, _)| is_system_link(at));
    let names = std::iter::once(name).chain(alias.filter(|alias| by_system && *alias != name));
    let mut all = Vec::new();
    for named in names.filter_map(Named::of) {
        let shared = SHARED.iter().any(|shared| prefix == Path::new(shared));
        if named.is_rust() && shared {
            continue;
        }
        let place = if place == Place::Own && named.is_at(prefix, judge) { Place::Installed } else { place };
        let wanted = named.wanted(prefix);
        all.extend(wanted.iter().filter_map(|wanted| resolve(wanted, prefix, place, judge)));
    }
    all
}

/// Where a program lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// In an installation that is known by its shape.
    Installed,
    /// In a folder of somebody's: only what is granted there is given.
    Own,
    /// In a folder of the system.
    System,
}

/// Follows a companion, as long as that stays where it belongs.
fn resolve(wanted: &Wanted, prefix: &Path, place: Place, judge: &Judge<'_>) -> Option<Companion> {
    let found = find(&wanted.path).ok()?;
    let stays = found.real.starts_with(prefix)
        && found.real != prefix
        && found.links.iter().all(|(at, _)| at.starts_with(prefix));
    let is_the_systems = || is_system(&found.real) && found.links.iter().all(|(at, _)| is_system_link(at));
    let is_fit = || place == Place::Installed && judge.refuse_floor(&found.real).is_ok();
    let is_given = if place == Place::System || !wanted.path.starts_with(prefix) {
        is_the_systems()
    } else {
        stays && (judge.is_granted(&found.real) || is_fit())
    };
    let is_plain = matches!(found.kind, Kind::Directory | Kind::File);
    (is_given && is_plain).then_some(Companion { found, role: wanted.role })
}

/// A program that is known, with the version in its name.
struct Named {
    known: &'static Known,
    version: String,
}

impl Named {
    fn of(name: &str) -> Option<Self> {
        // `python3.11` is `python` of version `3.11`; `gcc-12` is `gcc`.
        let stem = name
            .trim_end_matches(|character: char| character.is_ascii_digit() || matches!(character, '.' | '-'));
        let known = KNOWN.iter().find(|known| known.names.contains(&name) || known.names.contains(&stem))?;
        let version = name.strip_prefix(stem).unwrap_or_default();
        Some(Self { known, version: version.to_owned() })
    }

    fn is_rust(&self) -> bool {
        self.known.names == RUST
    }

    fn is_python(&self) -> bool {
        self.known.names == ["python"]
    }

    fn place(&self, prefix: &Path, need: &str) -> PathBuf {
        prefix.join(need.replace("{version}", &self.version))
    }

    fn wanted(&self, prefix: &Path) -> Vec<Wanted> {
        let needs = self.known.needs.iter();
        let mut wanted: Vec<Wanted> =
            needs.map(|(role, need)| Wanted { path: self.place(prefix, need), role: *role }).collect();
        // `python3` without a minor version would mean a folder that is already there.
        wanted.retain(|wanted| !wanted.path.ends_with("python"));
        if self.is_python() {
            let libraries = libraries(&prefix.join("lib"));
            // Conda's programs have the libraries of the whole installation to themselves.
            let whole =
                std::fs::symlink_metadata(prefix.join("conda-meta")).is_ok_and(|found| found.is_dir());
            let whole = whole.then(|| prefix.join("lib"));
            wanted.extend(libraries.chain(whole).map(|path| Wanted { path, role: Library }));
        }
        if self.known.names.contains(&"java") {
            // Debian keeps settings in folders of `/etc`, and a link to each file in the installation.
            let led_to = JAVA_SETTINGS.iter().filter_map(|file| find(&prefix.join(file)).ok());
            let folders = led_to.filter_map(|found| found.real.parent().map(Path::to_path_buf));
            let elsewhere = folders.filter(|folder| !folder.starts_with(prefix));
            wanted.extend(elsewhere.map(|path| Wanted { path, role: Data }));
        }
        wanted
    }

    /// Tells whether a folder that is not the system's holds an installation of it.
    fn is_at(&self, prefix: &Path, judge: &Judge<'_>) -> bool {
        let is_there = |landmark: &str| {
            let path = self.place(prefix, landmark);
            find(&path).is_ok_and(|found| {
                found.links.is_empty() && matches!(found.kind, Kind::Directory | Kind::File)
            })
        };
        judge.is_fit(prefix)
            && !judge.is_in_a_tree(prefix)
            && self.known.landmarks.iter().any(|landmark| is_there(landmark))
    }
}

/// The shared libraries of Python that lie beside its folder.
fn libraries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().take(MOST_LISTED).flatten();
    listed
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"libpython"))
        .map(|entry| entry.path())
}

/// The folder above the one that holds a program, where that is one of programs, and the program's name.
fn prefix_and_name(real: &Path) -> Option<(&Path, &str)> {
    let folder = real.parent()?;
    let name = real.file_name()?.to_str()?;
    let of_programs = ["bin", "sbin"].iter().any(|known| folder.ends_with(known));
    Some((folder.parent().filter(|_| of_programs)?, name))
}

/// The packages of a virtual environment: the folder of the link that it calls Python by is what makes it one, so that nothing in it
/// may be a link.
fn environment(asked: &Path, program: &Found, script: Option<&Path>, judge: &Judge<'_>) -> Vec<Companion> {
    let called = asked.file_name().and_then(|name| name.to_str()).and_then(Named::of);
    let real = program.real.file_name().and_then(|name| name.to_str()).and_then(Named::of);
    let (Some(_), Some(real)) = (called.filter(Named::is_python), real.filter(Named::is_python)) else {
        return Vec::new();
    };
    let Some(folder) = asked.parent().and_then(|folder| find(folder).ok()) else { return Vec::new() };
    let Some(prefix) = folder.real.parent().filter(|_| folder.real.ends_with("bin")) else {
        return Vec::new();
    };
    let plain = |path: PathBuf, kind: Kind| {
        find(&path).ok().filter(|found| found.links.is_empty() && found.kind == kind)
    };
    let settings = plain(prefix.join("pyvenv.cfg"), Kind::File);
    let settings = settings.filter(|found| {
        std::fs::symlink_metadata(&found.real).is_ok_and(|metadata| metadata.len() <= MOST_SETTINGS)
    });
    // A copy has no library of its own, and not the version in its name.
    let is_copy = program.real.parent() == Some(folder.real.as_path());
    let original = settings.as_ref().filter(|_| is_copy).and_then(|settings| original(settings, program));
    let name = original.as_ref().and_then(|found| found.real.file_name()?.to_str());
    let real = name.and_then(Named::of).filter(Named::is_python).unwrap_or(real);
    let mut library = original.map(|found| own(&found.real, &found, judge)).unwrap_or_default();
    let packages = plain(real.place(prefix, "lib/python{version}"), Kind::Directory);
    let (Some(settings), Some(packages)) = (settings, packages) else { return Vec::new() };
    // A link in a granted folder, or a script elsewhere, does not choose an environment that is not granted.
    let is_chosen = folder.links.iter().any(|(at, _)| judge.is_in_a_tree(at))
        || script.is_some_and(|script| script.parent() != Some(folder.real.as_path()));
    let fit = !is_chosen && !is_system(prefix) && !judge.is_in_a_tree(prefix) && judge.is_fit(prefix);
    let given =
        |found: &Found| judge.is_granted(&found.real) || fit && judge.refuse_floor(&found.real).is_ok();
    let all = [(settings, Data), (packages, Library)].into_iter();
    let given = all.filter(|(found, _)| given(found)).map(|(found, role)| Companion { found, role });
    library.extend(given);
    library
}

/// Returns the Python of the system that an environment says it was copied from.
fn original(settings: &Found, program: &Found) -> Option<Found> {
    let text = super::path::read_small(&settings.real, MOST_SETTINGS)?;
    let mut pairs = text.lines().filter_map(|line| line.split_once('='));
    let home = pairs.find(|(name, _)| name.trim() == "home").map(|(_, home)| Path::new(home.trim()))?;
    let path = home.join(program.real.file_name()?);
    let found = find(&path).ok().filter(|_| path.is_absolute())?;
    let is_systems = is_system(&found.real) && found.links.iter().all(|(at, _)| is_system_link(at));
    is_systems.then_some(found)
}

/// Returns the program that a rustup proxy would start: the one of the default toolchain of whoever owns the proxy.
///
/// The proxy itself reads the home folder and the environment to decide, and has neither inside.
pub(super) fn behind_proxy(asked: &Path, real: &Path, judge: &Judge<'_>) -> Option<PathBuf> {
    let name = asked.file_name().filter(|name| *name != "rustup" && *name != "rustup-init")?;
    if real.file_name()? != "rustup" {
        return None;
    }
    let (prefix, _) = prefix_and_name(real)?;
    // Where it is the system's, it reads the settings of whoever calls it.
    let home = if is_system(real) { judge.home? } else { prefix.parent()? };
    let home = home.join(".rustup");
    let settings = super::path::read_small(&home.join("settings.toml"), MOST_SETTINGS)?;
    let line = settings.lines().find_map(|line| line.trim().strip_prefix("default_toolchain"))?;
    let toolchain = line.trim_start_matches([' ', '=']).trim().trim_matches('"');
    let is_name = !toolchain.is_empty() && !toolchain.contains('/') && !matches!(toolchain, "." | "..");
    let program = home.join("toolchains").join(toolchain).join("bin").join(name);
    (is_name && program.is_file()).then_some(program)
}

#[cfg(test)]
mod tests;
