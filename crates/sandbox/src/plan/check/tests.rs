//! What a chooser with a mistake would let pass.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::Plan;
use super::*;
use crate::host::{Companion, Platform, Role, find};

/// A home with a project in it, which is granted, and a script there.
struct Machine {
    _folder: tempfile::TempDir,
    home: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(folder.path()).unwrap().join("me");
        let machine = Self { _folder: folder, home };
        machine.program("project/run", "#!/bin/sh\n");
        machine
    }

    fn program(&self, path: &str, content: &str) -> PathBuf {
        let path = self.write(path, content);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn spec(&self, program: &Path) -> Spec {
        Spec::new(program).tree(self.home.join("project"), Access::READ).home(&self.home)
    }

    /// Checks a plan in which the script has chosen this program, with these companions, whatever a chooser says of it.
    fn is_explained(&self, asked: &Path, companions: &[&str]) -> bool {
        let spec = self.spec(&self.home.join("project/run"));
        let mut seen = Seen::look(&spec, Platform::of_this_machine()).unwrap();
        let companion =
            |path: &&str| Companion { found: find(&self.home.join(path)).unwrap(), role: Role::Library };
        let chosen = crate::host::Program {
            asked: asked.to_path_buf(),
            found: find(asked).unwrap(),
            companions: companions.iter().map(companion).collect(),
            interpreters: Vec::new(),
        };
        seen.programs.first_mut().unwrap().interpreters.push(chosen);
        Plan::new(&spec, &seen).is_ok()
    }
}

#[test]
fn a_script_chooses_no_installation_but_that_of_a_version_manager() {
    let machine = Machine::new();
    for (place, is_explained) in [
        ("tools/py", false),
        (".pyenv/versions/3.12", true),
        (".pyenv/other/3.12", false),
        ("project/../.nvm/versions/x", true),
    ] {
        let program = machine.program(&format!("{place}/bin/python3.12"), "");
        let library = format!("{place}/lib/python3.12");
        machine.write(&format!("{library}/os.py"), "");
        let program = fs::canonicalize(program).unwrap();
        assert_eq!(machine.is_explained(&program, &[&library]), is_explained, "{place}");
    }
    // The shape is that of the program, and no home has it.
    let other = machine.program(".pyenv/versions/other/bin/python3.12", "");
    machine.write(".pyenv/versions/other/include/node/node.h", "");
    machine.write(".pyenv/versions/other/lib/x", "");
    assert!(!machine.is_explained(&other, &[".pyenv/versions/other/lib"]));
    machine.write(".pyenv/versions/3.12/.ssh/id", "");
    let library = ".pyenv/versions/3.12/lib/python3.12";
    assert!(!machine.is_explained(&machine.home.join(".pyenv/versions/3.12/bin/python3.12"), &[library]));
}

#[test]
fn a_command_starts_where_it_is_granted_or_in_what_the_sandbox_makes() {
    let machine = Machine::new();
    machine.write("private/diary", "");
    machine.write("project/src/x", "");
    symlink("../private", machine.home.join("project/link")).unwrap();
    symlink("/.old/root/etc", machine.home.join("project/dangling")).unwrap();
    let spec = machine.spec(&machine.home.join("project/run"));
    let seen = Seen::look(&spec, Platform::of_this_machine()).unwrap();
    let plan = Plan::new(&spec, &seen).unwrap();
    for (directory, is_explained) in [
        (machine.home.join("project"), true),
        (machine.home.join("project/src"), true),
        ("/tmp".into(), true),
        ("/".into(), true),
        ("/usr/lib".into(), true),
        // Made for what is granted below it, with nothing else in it.
        (machine.home.clone(), true),
        (machine.home.join("private"), false),
        (machine.home.join("project/link"), false),
        (machine.home.join("project/dangling"), false),
        (machine.home.join("project/missing"), false),
        ("/root".into(), false),
        ("/tmp/other".into(), false),
        ("/.old/root".into(), false),
    ] {
        let checked = check(&Plan { directory: directory.clone(), ..plan.clone() }, &spec, &seen);
        assert_eq!(checked.is_ok(), is_explained, "{}", directory.display());
    }
}

#[test]
fn neither_a_script_nor_a_link_chooses_an_environment() {
    let Ok(python) = fs::canonicalize("/usr/bin/python3") else { return };
    let name = python.file_name().unwrap().to_str().unwrap().to_owned();
    let machine = Machine::new();
    let called = machine.home.join("env/bin/python3");
    machine.write("env/pyvenv.cfg", "home = /usr/bin\n");
    machine.write(&format!("env/lib/{name}/x.py"), "");
    fs::create_dir_all(called.parent().unwrap()).unwrap();
    symlink(&python, &called).unwrap();
    assert!(!machine.is_explained(&called, &["env/pyvenv.cfg"]));
    symlink("../env", machine.home.join("project/env")).unwrap();
    assert!(!machine.is_explained(&machine.home.join("project/env/bin/python3"), &["env/pyvenv.cfg"]));
    // Who names it has it.
    let spec = machine.spec(&called);
    let seen = Seen::look(&spec, Platform::of_this_machine()).unwrap();
    let plan = Plan::new(&spec, &seen).unwrap();
    assert!(plan.root.iter().any(|entry| entry.path() == machine.home.join("env/pyvenv.cfg")), "{plan:?}");
}
