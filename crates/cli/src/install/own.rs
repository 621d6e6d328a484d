//! What of the machine is a program's own install: the folders it must read to be itself.
//!
//! INVARIANT: never the root, a home folder or one above it, and never a folder that is itself on the always-deny floor or has the
//! look of a home.

use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor};

/// Programs that run a script that their first argument names.
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "nodejs", "perl", "python", "ruby", "tsx"];
/// Folders that nobody has but at home.
const OF_A_HOME: &[&str] = &[".ssh", ".gnupg", ".aws", ".config", ".kube", ".mozilla"];
/// How far above a script its package is looked for.
const DEPTH: usize = 12;

/// Returns the read-only paths that are the own install of a program, which is an absolute path.
pub(crate) fn own_install(program: &Path, arguments: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(venv) = venv_of(program) {
        found.extend(base_of(&venv));
        found.push(venv);
    }
    // A script of a virtual environment is of that, and of nothing above it.
    if let Some(script) = script_of(program, arguments)
        && !found.iter().any(|own| script.starts_with(own))
    {
        found.extend(package_of(&script));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the folder of the interpreter that a virtual environment was made of, where it is not one of the platform.
///
/// The environment only says where that is, and whoever made it may say anything: its interpreter must really lie there.
fn base_of(venv: &Path) -> Option<PathBuf> {
    let settings = venv.join("pyvenv.cfg");
    let is_small =
        std::fs::symlink_metadata(&settings).is_ok_and(|found| found.is_file() && found.len() < 64 << 10);
    let text = std::fs::read_to_string(settings).ok().filter(|_| is_small)?;
    let home =
        text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "home")?.1.trim();
    let home = Path::new(home).canonicalize().ok()?;
    let called = ["python3", "python"].map(|name| venv.join("bin").join(name).canonicalize());
    let lies_there = called.into_iter().flatten().any(|real| real.parent() == Some(home.as_path()));
    let prefix = home.parent().filter(|_| lies_there)?.to_path_buf();
    let is_platform = ["/usr", "/usr/local"].iter().any(|own| prefix == Path::new(own));
    (!is_platform && is_fit(&prefix)).then_some(prefix)
}

/// Says whether a folder may be given to a program as its own.
pub(crate) fn is_fit(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    is_fit_beside(folder, home.as_deref())
}

fn is_fit_beside(folder: &Path, home: Option<&Path>) -> bool {
    let none: [&Path; 0] = [];
    let homes =
        home.map(|home| [home.to_path_buf(), home.canonicalize().unwrap_or_else(|_| home.to_path_buf())]);
    let is_home = homes.is_some_and(|homes| homes.iter().any(|home| home.starts_with(folder)));
    let is_shared = folder.components().count() <= 2 || folder.parent() == Some(Path::new("/home"));
    folder.is_absolute()
        && !is_home
        && !is_shared
        && Floor::denies_unless_named(folder, Direction::Read, &none.into_iter()).is_none()
        && !OF_A_HOME.iter().any(|name| folder.join(name).exists())
}

fn venv_of(program: &Path) -> Option<PathBuf> {
    // The link in the environment leads out of it: where it stands is what matters, and that without links.
    let folder = program.parent()?.canonicalize().ok()?;
    let root = folder.parent()?;
    let is_marked = std::fs::symlink_metadata(root.join("pyvenv.cfg")).is_ok_and(|found| found.is_file());
    (is_marked && is_fit(root)).then(|| root.to_path_buf())
}

/// Returns the script that runs, without links.
fn script_of(program: &Path, arguments: &[String]) -> Option<PathBuf> {
    if super::is_script(program) {
        return program.canonicalize().ok();
    }
    let name = program.file_name()?.to_str()?;
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&stem) {
        return None;
    }
    for word in arguments {
        match word.as_str() {
            // A module, or a text that is the program.
            "-m" | "-c" | "-e" | "--eval" | "-p" => return None,
            "run" if matches!(stem, "bun" | "deno") => {}
            word if word.starts_with('-') => {}
            word => return Path::new(word).canonicalize().ok().filter(|path| path.is_file()),
        }
    }
    None
}

/// Returns what of a package a script needs: the code that lies with it, and the packages that its own has installed. Never a
/// whole project or whatever else lies beside it: that may be anybody's. A script that is of no package is alone.
fn package_of(script: &Path) -> Vec<PathBuf> {
    let above = || script.ancestors().skip(1).take(DEPTH).take_while(|folder| is_fit(folder));
    // An installed package lies among others, and needs them.
    if let Some(modules) = above().filter(|folder| folder.ends_with("node_modules")).last() {
        return vec![modules.to_path_buf()];
    }
    let mut found = vec![script.to_path_buf()];
    let is_package = |folder: &&Path| PACKAGES.iter().any(|file| folder.join(file).is_file());
    let Some(root) = above().take(LEVELS).find(is_package) else {
        // Of no package: the code that it may import lies beside it.
        let beside = script.parent().filter(|folder| is_fit(folder));
        found.extend(beside.map(|folder| modules_beside(folder, script)).unwrap_or_default());
        return found;
    };
    found.extend(
        ["package.json", "node_modules"].map(|name| root.join(name)).into_iter().filter(|path| path.exists()),
    );
    let below = script.strip_prefix(root).ok().and_then(|rest| rest.components().next());
    match below.map(|first| root.join(first)) {
        // In a folder of code.
        Some(folder) if folder.is_dir() && is_code_folder(&folder) => found.push(folder),
        _ => found.extend(script.parent().map(code_in).unwrap_or_default()),
    }
    found
}

/// What makes a folder a package.
const PACKAGES: &[&str] = &["package.json", "pyproject.toml"];
/// How far below its package a script may lie.
const LEVELS: usize = 4;
/// How much code may lie with a script.
const MOST_BESIDE: usize = 64;

/// Returns the code in a folder: files of code, and folders that hold nothing else.
fn code_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let code: Vec<PathBuf> = listed
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        // A link leads elsewhere.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| if path.is_dir() { is_code_folder(path) } else { is_code(path) })
        .take(MOST_BESIDE + 1)
        .collect();
    if code.len() > MOST_BESIDE { Vec::new() } else { code }
}

/// Returns the code that a script of no package may import: files of its own language beside it, and folders with nothing else.
fn modules_beside(folder: &Path, script: &Path) -> Vec<PathBuf> {
    let Some(ending) = script.extension() else { return Vec::new() };
    let is_own = |path: &Path| path.extension() == Some(ending);
    let holds_own = |path: &Path| {
        let Ok(listed) = std::fs::read_dir(path) else { return false };
        let mut files = listed.flatten().filter(|entry| entry.file_name() != "__pycache__").peekable();
        files.peek().is_some() && files.take(MOST_BESIDE).all(|entry| is_own(&entry.path()))
    };
    let code = code_in(folder);
    let mut found: Vec<PathBuf> = code.into_iter().filter(|path| path.is_dir() || is_own(path)).collect();
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = listed.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).take(MOST_BESIDE);
    let folders = folders.map(|entry| entry.path());
    let is_hidden = |path: &Path| {
        path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b".") || name == "__pycache__")
    };
    found.extend(folders.filter(|path| !is_hidden(path) && holds_own(path)));
    found
}

fn is_code(path: &Path) -> bool {
    let known = ["js", "mjs", "cjs", "ts", "py", "wasm", "node", "so", "rb", "pl", "pm"];
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| known.contains(&extension))
}

/// Says whether a folder is one of code, by its name or because it can be imported, and is nothing else beside.
fn is_code_folder(folder: &Path) -> bool {
    let named = folder.file_name().and_then(|name| name.to_str());
    let named = named.is_some_and(|name| matches!(name, "src" | "lib" | "dist" | "build" | "out"));
    (named || folder.join("__init__.py").is_file())
        && ![".env", ".git"].iter().any(|hidden| folder.join(hidden).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "home = /usr/bin\n").unwrap();
        }
    }

    #[test]
    fn finds_what_is_the_programs_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(
            &root,
            &[
                "app/package.json",
                "app/build/index.js",
                "app/node_modules/dep/package.json",
                "app/node_modules/dep/cli.js",
                "py/pyproject.toml",
                "py/src/server.py",
                "venv/pyvenv.cfg",
                "alone/x.py",
                "beside/server.py",
                "beside/helper.py",
                "beside/page.js",
                "beside/.hidden.py",
                "beside/secrets.env",
                "beside/package/__init__.py",
                "beside/space/tool.py",
                "beside/data/notes.txt",
                "me/.ssh/id",
                "me/package.json",
                "me/y.js",
            ],
        );
        std::fs::create_dir_all(root.join("venv/bin")).unwrap();
        std::os::unix::fs::symlink("/bin/true", root.join("venv/bin/python3")).unwrap();
        std::fs::write(root.join("venv/bin/server"), "#!/venv/bin/python3\n").unwrap();
        std::os::unix::fs::symlink(root.join("app/build/index.js"), root.join("link.js")).unwrap();
        let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
        #[rustfmt::skip]
        let cases = [
            ("/bin/node".to_owned(),      vec![path("app/build/index.js")],                      vec!["app/build", "app/build/index.js", "app/node_modules", "app/package.json"]),
            ("/bin/node".to_owned(),      vec!["--inspect".into(), path("link.js"), "x".into()], vec!["app/build", "app/build/index.js", "app/node_modules", "app/package.json"]),
            ("/bin/node".to_owned(),      vec![path("app/node_modules/dep/cli.js")],             vec!["app/node_modules"]),
            ("/bin/node".to_owned(),      vec!["-e".into(), "1".into(), path("app/build/index.js")], vec![]),
            ("/bin/node".to_owned(),      vec![path("me/y.js")],                                 vec!["me/y.js"]),
            ("/bin/python3.11".to_owned(), vec![path("py/src/server.py")],                       vec!["py/src", "py/src/server.py"]),
            ("/bin/python3".to_owned(),   vec!["-m".into(), "server".into()],                    vec![]),
            ("/bin/python3".to_owned(),   vec![path("beside/server.py")],                        vec!["beside/helper.py", "beside/package", "beside/server.py", "beside/space"]),
            ("/bin/python3".to_owned(),   vec![path("alone/x.py")],                              vec!["alone/x.py"]),
            (path("venv/bin/python3"),    vec!["-m".into(), "server".into()],                    vec!["venv"]),
            (path("venv/bin/server"),     vec![],                                                vec!["venv"]),
            (path("venv/bin/python3"),    vec![path("alone/x.py")],                              vec!["alone/x.py", "venv"]),
            ("/bin/true".to_owned(),      vec![path("app/build/index.js")],                      vec![]),
        ];
        for (program, arguments, wanted) in cases {
            let wanted: Vec<PathBuf> = wanted.iter().map(|name| root.join(name)).collect();
            assert_eq!(own_install(Path::new(&program), &arguments), wanted, "{program} {arguments:?}");
        }
    }

    #[test]
    fn a_home_is_nobodys_install() {
        let home = Some(Path::new("/home/me"));
        #[rustfmt::skip]
        let cases = [
            ("/home/me/app", true), ("/opt/app/x", true), ("/home/me", false), ("/home", false), ("/", false), ("/srv", false),
            ("/home/other", false), ("/home/me/.ssh", false), ("relative", false),
        ];
        for (folder, fits) in cases {
            assert_eq!(is_fit_beside(Path::new(folder), home), fits, "{folder}");
        }
    }
}
