//! The second pair of eyes by itself: plans that a broken chooser could make, each with one path that nothing explains.

use std::os::unix::fs::symlink;

use super::super::super::landlock::Rule;
use super::*;

/// A home with a project, and the plan of a run that may write the project's `out` and read the rest.
struct Home {
    _folder: tempfile::TempDir,
    home: PathBuf,
    spec: Spec,
    seen: Seen,
    plan: Plan,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = std::fs::canonicalize(folder.path()).unwrap().join("me");
        for file in [
            "private/diary",
            "private/bin/tool",
            ".ssh/id_rsa",
            "project/notes",
            "project/.ssh/config",
            "project/out/x",
            "venv/lib/python3/a.py",
        ] {
            let path = home.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "#!/bin/sh\n").unwrap();
        }
        symlink(home.join("private"), home.join("project/link")).unwrap();
        symlink("../private", home.join("venv/lib64")).unwrap();
        std::fs::hard_link(home.join("private/diary"), home.join("project/out/shared")).unwrap();
        let spec = Spec::new("/usr/bin/env")
            .home(&home)
            .tree(home.join("project"), Access::READ)
            .tree(home.join("project/out"), Access::WRITE);
        let seen = Seen::look(&spec, Platform::of_this_machine()).unwrap();
        let plan = Plan::join(&spec, &seen).unwrap();
        Self { _folder: folder, home, spec, seen, plan }
    }

    /// Checks the plan after a change.
    fn check(&self, change: impl FnOnce(&mut Plan)) -> Result<(), SandboxError> {
        let mut plan = self.plan.clone();
        change(&mut plan);
        check(&plan, &self.spec, &self.seen)
    }

    fn bind(&self, path: &str, access: Access, protected: bool) -> Entry {
        let path = self.home.join(path);
        let file = path.is_file();
        let identity = find(&path).unwrap().identity;
        Entry::Bind { path, access, file, identity, protected }
    }
}

const ONLY_EXECUTE: Access = Access { read: false, write: false, execute: true };

#[test]
fn the_plan_itself_is_explained() {
    let home = Home::new();
    home.check(|_| {}).unwrap();
    // What the changes below add is refused for its path, and for nothing else.
    for (path, access, protected) in [
        ("project/notes", Access::READ, false),
        ("project/out/x", Access::WRITE, false),
        ("project/out/shared", Access::READ, true),
    ] {
        home.check(|plan| plan.root.push(home.bind(path, access, protected))).unwrap();
    }
}

#[test]
fn no_path_without_a_reason_is_mounted() {
    let home = Home::new();
    #[rustfmt::skip]
    let cases = [
        // what a mistake would take it for     path                     access           protected
        ("a companion",                         "venv/lib/python3",      Access::EXECUTE, false),
        ("a companion behind a link",           "private",               Access::READ,    false),
        ("an interpreter",                      "private/bin/tool",      Access::EXECUTE, false),
        ("a tree behind a link",                "project/link/diary",    Access::READ,    false),
        ("another name of a file of a tree",    "private/diary",         Access::WRITE,   false),
        ("the working directory",               ".",                     Access::READ,    false),
        ("something to protect",                "private/diary",         Access::READ,    true),
        ("something to protect, for writing",   "project/notes",         Access::WRITE,   true),
        ("a tree that may be written",          "project/notes",         Access::WRITE,   false),
        ("something of a tree",                 "project/.ssh",          Access::READ,    false),
        ("a key",                               ".ssh/id_rsa",           Access::READ,    false),
    ];
    for (what, path, access, protected) in cases {
        let refused = home.check(|plan| plan.root.push(home.bind(path, access, protected))).unwrap_err();
        let SandboxError::Path { path: at, .. } = &refused else { panic!("{what}: {refused}") };
        assert_eq!(*at, home.home.join(path), "{what}");
        assert!(refused.to_string().contains("no grant and no folder of the system explains"), "{refused}");
    }
}

#[test]
fn no_link_leads_to_what_is_not_mounted() {
    let home = Home::new();
    for path in ["project/link", "venv/lib64"] {
        let path = home.home.join(path);
        let link = Entry::Link { path: path.clone(), to: home.home.join("private") };
        assert!(home.check(|plan| plan.root.push(link)).is_err(), "{}", path.display());
    }
}

#[test]
fn no_rule_goes_beyond_what_is_mounted_and_named() {
    let home = Home::new();
    #[rustfmt::skip]
    let cases = [
        // path                        access           file
        ("private/diary",              Access::READ,    true),
        ("private/bin/tool",           ONLY_EXECUTE,    true),
        ("project/notes",              Access::WRITE,   true),
        ("project",                    ONLY_EXECUTE,    false),
        ("venv/lib/python3",           ONLY_EXECUTE,    false),
        ("/usr/bin",                   ONLY_EXECUTE,    false),
        ("/usr",                       ONLY_EXECUTE,    false),
        ("/",                          ONLY_EXECUTE,    false),
        ("/",                          Access::WRITE,   false),
        ("/etc",                       Access::WRITE,   false),
    ];
    for (path, access, file) in cases {
        let path = home.home.join(path);
        let rule = Rule { path: path.clone(), access, file, identity: None };
        let checked = home.check(|plan| plan.landlock.rules.push(rule));
        assert!(checked.is_err(), "{} {access:?}", path.display());
    }
}

#[test]
fn nothing_is_started_that_was_not_named() {
    let home = Home::new();
    let tool = home.home.join("private/bin/tool");
    assert!(home.check(|plan| plan.program = tool).is_err());
}

#[test]
fn no_interpreter_is_started_because_a_script_names_it() {
    let mut home = Home::new();
    let tool = home.home.join("private/bin/tool");
    // As if nobody had judged what the first line of a script says.
    let found = find(&tool).unwrap();
    let (companions, interpreters) = (Vec::new(), Vec::new());
    home.seen.programs[0].interpreters.push(Program { asked: tool.clone(), found, companions, interpreters });
    assert!(Plan::new(&home.spec, &home.seen).is_err());
    let bind = home.bind("private/bin/tool", Access::EXECUTE, false);
    assert!(home.check(|plan| plan.root.push(bind)).is_err());
    let rule = Rule { path: tool, access: ONLY_EXECUTE, file: true, identity: None };
    assert!(home.check(|plan| plan.landlock.rules.push(rule)).is_err());
}
