//! Plans of a machine that exists only here, so that they are the same everywhere.

mod unexplained;

use super::*;
use crate::host::{Found, Identity, Sensitive};

fn found(path: &str, kind: Kind) -> Found {
    let inode = path.bytes().map(u64::from).sum();
    Found { real: path.into(), kind, identity: Identity { device: 1, inode }, links: Vec::new() }
}

fn program(path: &str, companions: &[(&str, Role)]) -> Program {
    let companions = companions
        .iter()
        .map(|(path, role)| crate::host::Companion { found: found(path, Kind::Directory), role: *role })
        .collect();
    Program { asked: path.into(), found: found(path, Kind::File), companions, interpreters: Vec::new() }
}

fn machine() -> Platform {
    Platform {
        libraries: vec![found("/usr/lib/x86_64-linux-gnu", Kind::Directory)],
        data: vec![found("/etc/ssl/certs", Kind::Directory)],
        loaders: vec!["/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2".into()],
        hidden: vec!["/proc/keys".into()],
        links: vec![("/lib".into(), "usr/lib".into())],
    }
}

fn seen(spec: &Spec) -> Seen {
    Seen {
        platform: machine(),
        programs: vec![program("/usr/bin/git", &[("/usr/lib/git-core", Role::Programs)])],
        trees: spec
            .trees
            .iter()
            .map(|tree| (found(&tree.path.to_string_lossy(), Kind::Directory), tree.access))
            .collect(),
        folders: Vec::new(),
        sensitive: Vec::new(),
        hard_links: crate::host::HardLinks::default(),
        pins: Vec::new(),
        passing: Vec::new(),
        pointed: Vec::new(),
        resolver: None,
        left_out: Vec::new(),
        eyes: crate::plan::check::Eyes::Closed,
    }
}

/// A plan for the tests of the renderers.
pub(crate) fn example() -> Plan {
    let spec = Spec::new("/usr/bin/git")
        .arguments(["log", "it's"])
        .tree("/srv/data", Access::READ)
        .tree("/srv/data/out", Access::WRITE)
        .directory("/srv/data/out")
        .variable("LANG", "C");
    let mut seen = seen(&spec);
    let sensitive = |path: &str, kind, treatment| Sensitive {
        path: path.into(),
        kind,
        identity: Identity { device: 1, inode: 7 },
        made: None,
        treatment,
    };
    seen.sensitive = vec![
        sensitive("/srv/data/.ssh", Kind::Directory, Treatment::Hide),
        sensitive("/srv/data/out/.git/config", Kind::File, Treatment::ReadOnly),
    ];
    Plan::new(&spec, &seen).unwrap()
}

fn shown(entries: &[Entry]) -> Vec<String> {
    let access = |access: &Access| {
        let letters = [(access.read, "r"), (access.write, "w"), (access.execute, "x")];
        letters.iter().filter(|(has, _)| *has).map(|(_, letter)| *letter).collect::<String>()
    };
    let one = |entry: &Entry| {
        let path = entry.path().display();
        match entry {
            Entry::Bind { access: own, .. } => format!("{} {path}", access(own)),
            Entry::Cover { .. } => format!("cover {path}"),
            Entry::Device { .. } => format!("device {path}"),
            Entry::Directory { .. } => format!("folder {path}"),
            Entry::File { .. } => format!("file {path}"),
            Entry::Hidden { .. } => format!("hidden {path}"),
            Entry::Link { to, .. } => format!("link {path} -> {}", to.display()),
            Entry::Proc => "proc".to_owned(),
            Entry::Scratch { .. } => format!("scratch {path}"),
        }
    };
    entries.iter().map(one).collect()
}

#[test]
fn only_what_was_granted_exists() {
    insta::assert_snapshot!(shown(&example().root).join("\n"), @"
    scratch /tmp
    folder /srv
    folder /srv/data
    r /srv/data
    rw /srv/data/out
    file /usr/bin/git
    rx /usr/bin/git
    folder /usr/lib/git-core
    rx /usr/lib/git-core
    link /dev/shm -> /tmp
    folder /var
    link /var/tmp -> /tmp
    hidden /srv/data/.ssh
    r /srv/data/out/.git/config
    ");
}

#[test]
fn the_base_is_small() {
    insta::assert_snapshot!(shown(&example().base).join("\n"), @"
    link /lib -> usr/lib
    folder /etc
    folder /etc/ssl
    folder /etc/ssl/certs
    r /etc/ssl/certs
    folder /usr
    folder /usr/lib
    folder /usr/lib/x86_64-linux-gnu
    rx /usr/lib/x86_64-linux-gnu
    folder /dev
    folder /proc
    folder /tmp
    folder /usr/bin
    folder /usr/local
    folder /usr/local/bin
    device /dev/null
    device /dev/zero
    device /dev/full
    device /dev/random
    device /dev/urandom
    link /dev/fd -> /proc/self/fd
    link /dev/stdin -> /proc/self/fd/0
    link /dev/stdout -> /proc/self/fd/1
    link /dev/stderr -> /proc/self/fd/2
    file /etc/passwd
    file /etc/group
    file /etc/hosts
    file /etc/nsswitch.conf
    proc
    hidden /proc/keys
    ");
}

#[test]
fn a_wider_grant_gives_its_rights_to_what_is_in_it() {
    type Case = (&'static [(&'static str, Access)], &'static [&'static str]);
    #[rustfmt::skip]
    let cases: [Case; 5] = [
        (&[("/w", Access::READ), ("/w/in", Access::READ)],          &["r /w"]),
        (&[("/w", Access::WRITE), ("/w/in", Access::READ)],         &["rw /w"]),
        (&[("/w", Access::READ), ("/w/out", Access::WRITE)],        &["r /w", "rw /w/out"]),
        (&[("/w", Access::READ), ("/w/bin", Access::EXECUTE)],      &["r /w", "rx /w/bin"]),
        (&[("/w/a", Access::WRITE), ("/w/ab", Access::READ)],       &["rw /w/a", "r /w/ab"]),
    ];
    for (trees, expected) in cases {
        let spec =
            trees.iter().fold(Spec::new("/usr/bin/git"), |spec, (path, access)| spec.tree(*path, *access));
        let plan = Plan::new(&spec, &seen(&spec)).unwrap();
        let binds: Vec<String> = shown(&plan.root)
            .into_iter()
            .filter(|line| line.contains(" /w") && !line.starts_with("folder"))
            .collect();
        assert_eq!(binds, expected, "{trees:?}");
    }
}

#[test]
fn starting_is_allowed_for_programs_and_the_loader_only() {
    let rules = example().landlock.rules;
    let starts: Vec<String> =
        rules.iter().filter(|rule| rule.access.execute).map(|rule| rule.path.display().to_string()).collect();
    assert_eq!(
        starts,
        ["/usr/bin/git", "/usr/lib/git-core", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"]
    );
    let writes: Vec<String> =
        rules.iter().filter(|rule| rule.access.write).map(|rule| rule.path.display().to_string()).collect();
    assert_eq!(writes, ["/srv/data/out", "/dev", "/tmp"]);
}

#[test]
fn what_is_only_written_cannot_be_read() {
    let only_write = Access { read: false, write: true, execute: false };
    let spec = Spec::new("/usr/bin/git").tree("/srv/drop", only_write);
    let plan = Plan::new(&spec, &seen(&spec)).unwrap();
    let readable = |path: &str| {
        plan.landlock.rules.iter().any(|rule| rule.access.read && Path::new(path).starts_with(&rule.path))
    };
    assert!(!readable("/srv/drop/x"));
    assert!(
        readable("/usr/bin/git")
            && readable("/etc/passwd")
            && readable("/usr/lib/x86_64-linux-gnu/libc.so.6")
    );
}

#[test]
fn a_working_directory_must_be_granted() {
    let spec = Spec::new("/usr/bin/git").directory("/srv/elsewhere");
    let error = Plan::new(&spec, &seen(&spec)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/srv/elsewhere` cannot be granted: it is the working directory and is not granted"
    );
}

#[test]
fn a_wished_working_directory_is_taken_where_a_granted_path_has_made_it() {
    #[rustfmt::skip]
    let cases = [
        // granted           wished             begins in          in an image
        ("/srv/data",        "/srv/data",       "/srv/data",       "/srv/data"),
        ("/srv/data",        "/srv/data/deep",  "/srv/data/deep",  "/srv/data/deep"),
        ("/srv/data/notes",  "/srv/data",       "/srv/data",       "/tmp"),
        ("/srv/data/notes",  "/srv",            "/srv",            "/tmp"),
        ("/srv/data/notes",  "/srv/dat",        "/tmp",            "/tmp"),
        ("/srv/data",        "/srv/elsewhere",  "/tmp",            "/tmp"),
        // It exists, but nothing that is granted lies there.
        ("/srv/data",        "/usr/bin",        "/tmp",            "/tmp"),
    ];
    for (granted, wished, here, abroad) in cases {
        let spec = Spec::new("/usr/bin/git").tree(granted, Access::READ).directory_if_possible(wished);
        let begins = |spec: &Spec| Plan::new(spec, &seen(spec)).unwrap().directory;
        assert_eq!(begins(&spec), Path::new(here), "{granted} from {wished}");
        assert_eq!(begins(&spec.in_image("x")), Path::new(abroad), "{granted} from {wished} in an image");
    }
    let told = Spec::new("/usr/bin/git").tree("/srv/data", Access::READ).directory_if_possible("/srv/data");
    let told = told.directory("/srv");
    assert_eq!(
        Plan::new(&told, &seen(&told)).unwrap().directory,
        Path::new("/srv"),
        "what is told comes first"
    );
}

#[test]
fn a_link_that_is_granted_makes_the_folder_it_lies_in() {
    let spec =
        Spec::new("/usr/bin/git").tree("/srv/store/notes", Access::READ).directory_if_possible("/srv/data");
    let mut seen = seen(&spec);
    seen.trees[0].0.links = vec![("/srv/data/notes".into(), "../store/notes".into())];
    assert_eq!(Plan::new(&spec, &seen).unwrap().directory, Path::new("/srv/data"));
}

#[test]
fn values_of_variables_are_not_in_a_printed_plan() {
    let spec = Spec::new("/usr/bin/git").variable("TOKEN", "hunter2");
    let printed = serde_json::to_string(&Plan::new(&spec, &seen(&spec)).unwrap()).unwrap();
    assert!(printed.contains("TOKEN") && !printed.contains("hunter2"));
}
