use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::host::path::Identity;
use crate::host::program::Program;
use crate::spec::Access;
use crate::spec::NamedPaths;

/// A home with a secret in it and a project beside that.
struct Machine {
    _folder: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap().join("me");
        let project = home.join("project");
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::write(home.join(".ssh/id_rsa"), "canary").unwrap();
        Self { _folder: folder, home, project }
    }

    fn program(&self, path: &str, content: &str) -> PathBuf {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) -> PathBuf {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, &path).unwrap();
        path
    }

    fn folder(&self, path: &str) {
        fs::create_dir_all(self.project.join(path)).unwrap();
    }

    /// Finds a program, with trees granted.
    fn find(&self, program: &Path, trees: &[(&Path, Access)]) -> Result<Program, String> {
        let found = |(path, access): &(&Path, Access)| {
            let found = Found {
                real: fs::canonicalize(path).unwrap(),
                kind: Kind::Directory,
                identity: Identity { device: 0, inode: 0 },
                links: Vec::new(),
            };
            (found, *access)
        };
        let trees: Vec<(Found, Access)> = trees.iter().map(found).collect();
        let judge =
            Judge { trees: &trees, named: &NamedPaths::default(), programs: &[], home: Some(&self.home) };
        Program::find(program, &judge).map_err(|error| error.to_string())
    }

    /// What of a program's companions is not the system's.
    fn own(&self, program: &Path, trees: &[(&Path, Access)]) -> Vec<PathBuf> {
        let found = self.find(program, trees).unwrap();
        let all = found.all().into_iter().flat_map(|program| &program.companions);
        let own = all.map(|one| one.found.real.clone()).filter(|real| !is_system(real));
        own.map(|real| real.strip_prefix(&self.project).map_or(real.clone(), Path::to_path_buf)).collect()
    }
}

/// The name that this machine's Python really has.
fn python() -> Option<(PathBuf, String)> {
    let real = fs::canonicalize("/usr/bin/python3").ok()?;
    let name = real.file_name()?.to_str()?.to_owned();
    Some((real, name))
}

#[test]
fn what_lies_beside_a_link_is_nobodys() {
    let machine = Machine::new();
    let Some((real, version)) = python() else { return };
    let called = machine.link(".venv/bin/python3", &real);
    fs::write(machine.project.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    machine.link(".venv/lib64", "../../..");
    machine.link(".venv/lib", "../../..");
    let grants: [&[(&Path, Access)]; 3] =
        [&[], &[(&machine.project, Access::READ)], &[(&machine.project, Access::WRITE)]];
    for trees in grants {
        assert_eq!(machine.own(&called, trees), Vec::<PathBuf>::new(), "{trees:?}");
    }
    fs::remove_file(machine.project.join(".venv/lib")).unwrap();
    machine.link(&format!(".venv/lib/{version}"), "../../../.ssh");
    assert_eq!(machine.own(&called, &[(&machine.project, Access::READ)]), Vec::<PathBuf>::new());
}

#[test]
fn an_environment_has_its_packages() {
    let machine = Machine::new();
    let Some((real, version)) = python() else { return };
    let called = machine.link(".venv/bin/python3", &real);
    machine.folder(&format!(".venv/lib/{version}/site-packages"));
    fs::write(machine.project.join(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let own = ["pyvenv.cfg".into(), format!("lib/{version}")].map(|name| Path::new(".venv").join(name));
    assert_eq!(machine.own(&called, &[]), own);
    assert_eq!(machine.own(&called, &[(&machine.project, Access::READ)]), own);
    // Settings without an end, or that are no file, make no environment.
    fs::write(machine.project.join(".venv/pyvenv.cfg"), vec![b' '; 100 << 10]).unwrap();
    assert_eq!(machine.own(&called, &[]), Vec::<PathBuf>::new());
}

#[test]
fn a_home_is_no_installation() {
    let machine = Machine::new();
    let Some((real, version)) = python() else { return };
    fs::create_dir_all(machine.home.join(format!("lib/{version}"))).unwrap();
    fs::create_dir_all(machine.home.join("bin")).unwrap();
    fs::write(machine.home.join(format!("lib/{version}/os.py")), "").unwrap();
    fs::write(machine.home.join("pyvenv.cfg"), "").unwrap();
    let copied = machine.home.join("bin").join(&version);
    fs::write(&copied, "").unwrap();
    fs::set_permissions(&copied, PermissionsExt::from_mode(0o755)).unwrap();
    let linked = machine.home.join("bin/python");
    symlink(real, &linked).unwrap();
    for program in [copied, linked] {
        assert_eq!(machine.own(&program, &[]), Vec::<PathBuf>::new(), "{}", program.display());
    }
}

#[test]
fn an_installation_is_known_by_its_shape() {
    #[rustfmt::skip]
    let cases: [(&str, &str, &[&str]); 6] = [
        // program                landmark                            given
        ("py/bin/python3.12",     "py/lib/python3.12/os.py",          &["py/lib/python3.12"]),
        ("py/bin/python3.12",     "py/lib/python3.12/other.py",       &[]),
        ("rust/bin/cargo",        "rust/lib/rustlib/x",               &["rust/bin", "rust/lib"]),
        ("rust/bin/cargo",        "rust/lib/x",                       &[]),
        ("git/bin/git",           "git/libexec/git-core/git-x",       &["git/libexec/git-core"]),
        ("git/tools/git",         "git/libexec/git-core/git-x",       &[]),
    ];
    for (program, landmark, given) in cases {
        let machine = Machine::new();
        let path = machine.program(program, "");
        machine.program(landmark, "");
        let given: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
        assert_eq!(machine.own(&path, &[]), given, "{program} {landmark}");
        // What is around a folder that a command writes could be its work.
        let own = machine.own(&path, &[(path.parent().unwrap(), Access::WRITE)]);
        assert!(own.iter().all(|one| one.ends_with("bin")), "{program} {landmark}: {own:?}");
    }
}

#[test]
fn a_part_of_an_installation_leads_nowhere_else() {
    let machine = Machine::new();
    let path = machine.program("git/bin/git", "");
    machine.program("git/libexec/git-core/git-x", "");
    machine.link("git/share/git-core", "/etc");
    machine.link("git/lib", "../../../.ssh");
    assert_eq!(machine.own(&path, &[]), [Path::new("git/libexec/git-core")]);
    fs::rename(machine.project.join("git/libexec/git-core"), machine.project.join("git/inside")).unwrap();
    machine.link("git/libexec/git-core", "/usr/bin");
    assert_eq!(machine.own(&path, &[(&machine.project, Access::READ)]), Vec::<PathBuf>::new());
    let all = machine.find(&path, &[(&machine.project, Access::READ)]).unwrap();
    assert!(all.companions.is_empty(), "{all:?}");
}

#[test]
fn an_interpreter_is_judged_like_a_grant() {
    let machine = Machine::new();
    machine.link("t/bin/python3", "/usr/bin/python3");
    machine.program("t/bin/tool", "");
    let private = machine.home.join("private");
    fs::write(&private, "#!/bin/sh\ntoken\n").unwrap();
    fs::set_permissions(&private, PermissionsExt::from_mode(0o755)).unwrap();
    machine.link("t/bin/to-private", &private);
    machine.link("t/here", "/proc/self/cwd");
    machine.link("t/root", "/proc/self/root");
    let project = machine.project.display();
    let cases = [
        (format!("{project}/t/bin/python3"), None),
        (format!("{project}/t/bin/tool"), None),
        ("/proc/self/root/usr/bin/python3".to_owned(), Some("goes through `/proc`")),
        ("/dev/../usr/bin/python3".to_owned(), Some("goes through `/dev`")),
        (format!("{project}/t/here/Cargo.toml"), Some("cannot be started")),
        (format!("{project}/t/root/usr/bin/python3"), Some("goes through `/proc`")),
        ("t/bin/python3".to_owned(), Some("not an absolute path")),
        (private.display().to_string(), Some("neither the system's nor granted")),
        (format!("{project}/t/bin/to-private"), Some("neither the system's nor granted")),
    ];
    for (interpreter, refused) in cases {
        let first = machine.program("first", &format!("#!{interpreter}\n"));
        let second = machine.program("second", &format!("#!{}\n", first.display()));
        for script in [first, second] {
            let found = machine.find(&script, &[(&machine.project, Access::READ)]);
            match refused {
                Some(why) => assert!(
                    found.as_ref().is_err_and(|error| error.contains(why)),
                    "{interpreter}: {found:?}"
                ),
                None => assert!(found.is_ok(), "{interpreter}: {found:?}"),
            }
        }
    }
    // The same link, where somebody names it as a program.
    let named = machine.project.join("t/bin/to-private");
    assert!(machine.find(&named, &[(&machine.project, Access::READ)]).is_err());
    let key = machine.home.join(".ssh/tool");
    fs::copy(&private, &key).unwrap();
    assert!(machine.find(&key, &[]).is_err_and(|error| error.contains("always-deny floor")));
}

#[test]
fn a_proxy_of_rustup_names_a_toolchain_and_nothing_else() {
    let machine = Machine::new();
    machine.program(".cargo/bin/rustup", "");
    let cargo = machine.link(".cargo/bin/cargo", "rustup");
    let real = machine.program(".rustup/toolchains/stable/bin/cargo", "");
    machine.folder(".rustup/toolchains/stable/lib/rustlib");
    machine.program("elsewhere/bin/cargo", "");
    machine.link(".rustup/toolchains/away", "../../elsewhere");
    let settings = machine.project.join(".rustup/settings.toml");
    let proxy = machine.project.join(".cargo/bin/rustup");
    #[rustfmt::skip]
    let cases = [
        ("stable",          Ok(&real)),
        ("../../elsewhere", Ok(&proxy)),
        ("..",              Ok(&proxy)),
        ("",                Ok(&proxy)),
        ("missing",         Ok(&proxy)),
        ("away",            Err("neither the system's nor granted")),
    ];
    for (toolchain, leads_to) in cases {
        fs::write(&settings, format!("default_toolchain = \"{toolchain}\"\n")).unwrap();
        match (machine.find(&cargo, &[]), leads_to) {
            (Ok(found), Ok(real)) => assert_eq!(found.found.real, *real, "{toolchain}"),
            (Err(error), Err(why)) => assert!(error.contains(why), "{toolchain}: {error}"),
            (found, _) => panic!("{toolchain}: {found:?}"),
        }
    }
    // Settings that have no end, and none that can be read: neither is waited for.
    fs::write(&settings, vec![b'\n'; 100 << 10]).unwrap();
    assert_eq!(machine.find(&cargo, &[]).unwrap().found.real, proxy);
    fs::remove_file(&settings).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &settings,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_eq!(machine.find(&cargo, &[]).unwrap().found.real, proxy);
    fs::remove_file(&settings).unwrap();
    symlink("/dev/zero", &settings).unwrap();
    assert_eq!(machine.find(&cargo, &[]).unwrap().found.real, proxy);
}

#[test]
fn a_copied_environment_has_the_library_of_the_system() {
    let machine = Machine::new();
    let Some((_, version)) = python() else { return };
    let called = machine.program(".venv/bin/python3", "");
    machine.folder(&format!(".venv/lib/{version}/site-packages"));
    let given = |home: &Path| -> Vec<PathBuf> {
        fs::write(machine.project.join(".venv/pyvenv.cfg"), format!("home = {}\n", home.display())).unwrap();
        let found = machine.find(&called, &[]).unwrap();
        found.companions.into_iter().map(|one| one.found.real).collect()
    };
    let library = Path::new("/usr/lib").join(&version);
    let own = machine.project.join(".venv/lib").join(&version);
    let all = given(Path::new("/usr/bin"));
    assert!(all.contains(&library) && all.contains(&own), "{all:?}");
    // Nothing that is not the system's is chosen by the settings.
    let planted = machine.program("planted/bin/python3", "");
    machine.program("planted/lib/python3/os.py", "");
    for home in [planted.parent().unwrap(), Path::new("../planted/bin"), &machine.home] {
        let all = given(home);
        assert!(!all.contains(&library) && all.iter().all(|real| is_system(real)), "{all:?}");
    }
}

#[test]
fn java_of_debian_has_its_settings() {
    let java = Path::new("/usr/lib/jvm/java-17-openjdk-amd64/bin/java");
    if !java.exists() {
        return;
    }
    let found = Machine::new().find(java, &[]).unwrap();
    let all: Vec<_> = found.companions.iter().map(|one| one.found.real.as_path()).collect();
    assert!(all.contains(&Path::new("/etc/java-17-openjdk")), "{all:?}");
}

#[test]
fn neither_a_link_nor_a_script_chooses_what_is_not_granted() {
    let machine = Machine::new();
    let Some((real, version)) = python() else { return };
    // An environment elsewhere.
    fs::create_dir_all(machine.home.join(format!("env/lib/{version}"))).unwrap();
    fs::create_dir_all(machine.home.join("env/bin")).unwrap();
    fs::write(machine.home.join("env/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let called = machine.home.join("env/bin/python3");
    symlink(&real, &called).unwrap();
    let project: &[(&Path, Access)] = &[(&machine.project, Access::READ)];
    assert_eq!(machine.own(&called, project).len(), 2, "who names it has it");
    let script = machine.program("run.py", &format!("#!{}\n", called.display()));
    assert_eq!(machine.own(&script, project), Vec::<PathBuf>::new());
    machine.link("env", machine.home.join("env"));
    assert_eq!(machine.own(&machine.project.join("env/bin/python3"), project), Vec::<PathBuf>::new());

    // An installation elsewhere, and one where only a version manager puts any.
    for (place, is_given) in [("tools", false), (".pyenv/versions/3.12", true)] {
        let prefix = machine.home.join(place);
        fs::create_dir_all(prefix.join("bin")).unwrap();
        fs::create_dir_all(prefix.join("lib/python3.12")).unwrap();
        fs::write(prefix.join("lib/python3.12/os.py"), "").unwrap();
        let program = prefix.join("bin/python3.12");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let script = machine.program("run.py", &format!("#!{}\n", program.display()));
        assert_eq!(machine.find(&script, project).is_ok(), is_given, "{place}");
        let link = machine.link(&format!("link-{is_given}"), &program);
        assert_eq!(machine.find(&link, project).is_ok(), is_given, "{place}");
        assert!(machine.find(&program, project).is_ok(), "who names it has it");
    }
}
