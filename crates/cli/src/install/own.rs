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
    if let Some(script) = script_of(program, arguments) {
        found.extend(package_of(&script));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the folder of the interpreter that a virtual environment was made of, where it is not one of the platform.
pub(super) fn base_of(venv: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(venv.join("pyvenv.cfg")).ok()?;
    let home =
        text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "home")?.1.trim();
    let home = Path::new(home).canonicalize().ok()?;
    let prefix = home.parent()?.to_path_buf();
    let is_platform = ["/usr", "/usr/local"].iter().any(|own| prefix == Path::new(own));
    (!is_platform && is_fit(&prefix)).then_some(prefix)
}

/// Says whether a folder may be given to a program as its own.
pub(super) fn is_fit(folder: &Path) -> bool {
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
    // The link in the environment leads out of it: where it stands is what matters.
    let root = program.parent()?.parent()?;
    (root.join("pyvenv.cfg").is_file() && is_fit(root)).then(|| root.to_path_buf())
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

/// Returns the package that a script is of, with the folder of packages that it lies in; the script itself where it is of none.
fn package_of(script: &Path) -> Vec<PathBuf> {
    let above = || script.ancestors().skip(1).take(DEPTH).take_while(|folder| is_fit(folder));
    let is_package =
        |folder: &&Path| ["package.json", "pyproject.toml"].iter().any(|file| folder.join(file).is_file());
    let mut found: Vec<PathBuf> = above().find(is_package).map(Path::to_path_buf).into_iter().collect();
    // What it needs may lie beside it.
    found.extend(above().filter(|folder| folder.ends_with("node_modules")).last().map(Path::to_path_buf));
    if found.is_empty() {
        found.push(script.to_path_buf());
    }
    found
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
            ("/bin/node".to_owned(),      vec![path("app/build/index.js")],                      vec!["app"]),
            ("/bin/node".to_owned(),      vec!["--inspect".into(), path("link.js"), "x".into()], vec!["app"]),
            ("/bin/node".to_owned(),      vec![path("app/node_modules/dep/cli.js")],             vec!["app/node_modules", "app/node_modules/dep"]),
            ("/bin/node".to_owned(),      vec!["-e".into(), "1".into(), path("app/build/index.js")], vec![]),
            ("/bin/node".to_owned(),      vec![path("me/y.js")],                                 vec!["me/y.js"]),
            ("/bin/python3.11".to_owned(), vec![path("py/src/server.py")],                       vec!["py"]),
            ("/bin/python3".to_owned(),   vec!["-m".into(), "server".into()],                    vec![]),
            ("/bin/python3".to_owned(),   vec![path("alone/x.py")],                              vec!["alone/x.py"]),
            (path("venv/bin/python3"),    vec!["-m".into(), "server".into()],                    vec!["venv"]),
            (path("venv/bin/server"),     vec![],                                                vec!["venv", "venv/bin/server"]),
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
