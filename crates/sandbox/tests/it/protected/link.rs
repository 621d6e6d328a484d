//! Protected names that are reached through links, and what of ours links lead to.

use super::*;

fn lay(root: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        std::fs::write(root.join(file), text).unwrap();
    }
}

/// The folders before the last name of a protected path, as links that a command makes.
#[test]
fn a_new_link_in_the_place_of_a_protected_folder_is_moved_aside() {
    for (link, file) in [
        (".cargo", "config.toml"),
        (".config", "fish/config.fish"),
        (".config/fish", "config.fish"),
        (".github", "workflows/x.yml"),
        (".hg", "hgrc"),
        (".local", "bin/x"),
        (".mvn", "extensions.xml"),
    ] {
        let (_kept, work, out) = folders();
        for target in [work.join("x"), out.join("x")] {
            let script = format!(
                "mkdir -p '{0}' $(dirname {link}); (cd '{0}'; mkdir -p $(dirname {file}); echo bad > {file}); \
                 ln -s '{0}' y; ln -s \"$PWD/y\" {link}",
                target.display()
            );
            let report = run(&sh(&script, &work).tree(&out, Access::WRITE));
            assert_eq!(report.ending.code(), 0, "{link}: {}", said(&report));
            assert!(!work.join(link).join(file).exists(), "{link}: {report:?}");
            assert!(report.quarantined.iter().any(|one| one.found == work.join(link)), "{link}: {report:?}");
            let _gone = std::fs::remove_file(work.join("y"));
            let _gone = std::fs::remove_file(work.join("y.quarantined-1"));
        }
    }
}

#[test]
fn what_a_link_in_the_place_of_a_protected_folder_leads_to_is_protected() {
    let (_kept, work, out) = folders();
    lay(&work, &[("x/config.toml", "good"), ("x/other", "good")]);
    std::os::unix::fs::symlink("x", work.join("y")).unwrap();
    std::os::unix::fs::symlink("y", work.join(".cargo")).unwrap();
    std::os::unix::fs::symlink(out.join("hg"), work.join(".hg")).unwrap();
    for (script, works) in [
        ("echo bad > x/config.toml", false),
        ("mv x z", false),
        ("rm y", false),
        ("rm .cargo", false),
        ("ln -sfn z .cargo", false),
        ("echo bad > x/other", true),
    ] {
        let report = run(&sh(script, &work));
        assert_eq!(report.ending.code() == 0, works, "{script}: {}", said(&report));
        assert_eq!(read(work.join(".cargo/config.toml")), "good", "{script}");
    }
    // What was not there is moved aside, also in another writable folder.
    let script = format!("echo bad > x/config; mkdir -p {0}/hg; echo bad > {0}/hg/hgrc", out.display());
    let report = run(&sh(&script, &work).tree(&out, Access::WRITE));
    assert!(!work.join(".cargo/config").exists() && !work.join(".hg/hgrc").exists(), "{report:?}");
    assert!(work.join(".cargo").is_symlink() && work.join(".hg").is_symlink(), "{report:?}");
}

/// A link in a folder that can only be read leads into one that can be written.
#[test]
fn a_link_from_a_folder_that_is_only_read_counts_too() {
    let (_kept, work, out) = folders();
    lay(&work, &[("x/config.toml", "good")]);
    std::os::unix::fs::symlink(work.join("x"), out.join(".cargo")).unwrap();
    std::os::unix::fs::symlink(work.join("hg"), out.join(".hg")).unwrap();
    let script = "echo bad > x/config.toml; mkdir hg; echo bad > hg/hgrc";
    let report = run(&sh(script, &work).tree(&out, Access::READ));
    assert_eq!(read(out.join(".cargo/config.toml")), "good", "{report:?}");
    assert!(!out.join(".hg/hgrc").exists(), "{report:?}");
}

#[test]
fn credentials_behind_a_link_are_hidden() {
    let (_kept, home, out) = folders();
    lay(&home, &[("dot/config/gcloud/credentials.db", "secret"), ("dot/config/plain", "plain")]);
    std::os::unix::fs::symlink("dot/config", home.join(".config")).unwrap();
    let script =
        "cat .config/plain; cat .config/gcloud/credentials.db dot/config/gcloud/credentials.db; true";
    for access in [Access::READ, Access::WRITE] {
        let spec = Spec::new("/bin/sh").arguments(["-c", script]).any_binary();
        let report = run(&spec.tree(&home, access).directory(&home));
        assert!(said(&report).contains("plain") && !said(&report).contains("secret"), "{}", said(&report));
    }
    // The link may lie in another granted folder, or in the home alone.
    std::os::unix::fs::symlink(home.join("dot/config"), out.join(".config")).unwrap();
    std::fs::remove_file(home.join(".config")).unwrap();
    let script = "cat config/plain config/gcloud/credentials.db; true";
    let dot = home.join("dot");
    let spec = || {
        Spec::new("/bin/sh").arguments(["-c", script]).any_binary().tree(&dot, Access::READ).directory(&dot)
    };
    for spec in [spec().tree(&out, Access::READ), spec().home(&out)] {
        let report = run(&spec);
        assert!(said(&report).contains("plain") && !said(&report).contains("secret"), "{}", said(&report));
    }
    // Its own name lifts the floor there.
    let named = spec().home(&out).tree(dot.join("config/gcloud"), Access::READ);
    let named = named.tree(dot.join("config/gcloud/credentials.db"), Access::READ);
    assert!(said(&run(&named)).contains("secret"));
}

#[test]
fn links_in_a_circle_end_nothing() {
    let (_kept, work, _out) = folders();
    lay(&work, &[("x/fish/config.fish", "good")]);
    for link in [".config", ".local", ".cargo", ".hg", "x/fish/.config", "x/share", "x/lib"] {
        std::os::unix::fs::symlink(&work, work.join(link)).unwrap();
    }
    std::os::unix::fs::symlink("../x", work.join("x/.config")).unwrap();
    let report = run(&sh("echo bad > x/fish/config.fish", &work));
    assert_eq!(read(work.join("x/fish/config.fish")), "good", "{}", said(&report));
    assert!(report.left.is_empty() && report.quarantined.is_empty(), "{report:?}");
}

/// Where the folder of marks is spelled through a link, it is hidden where it really is, and the link stays.
#[test]
fn marks_behind_a_link_are_out_of_reach() {
    let (_kept, work, out) = folders();
    std::os::unix::fs::symlink(&work, out.join("way")).unwrap();
    let marks = out.join("way/state/ringfence/runs");
    let script = "ls state/ringfence/runs; echo x > state/ringfence/runs/forged.mark || exit 3";
    let sandbox = Sandbox::new(Native::new()).mark_runs_in([marks.clone()]);
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    assert_eq!(report.ending.code(), 3, "{}", said(&report));
    assert!(!said(&report).contains(".mark\n"), "{}", said(&report));
    assert_eq!(std::fs::read_dir(&marks).unwrap().count(), 0);

    let (_kept, work, _out) = folders();
    std::fs::create_dir_all(work.join("dot/local")).unwrap();
    std::os::unix::fs::symlink("dot/local", work.join("here")).unwrap();
    let marks = work.join("here/state/ringfence/runs");
    let script = "mkdir -p evil/state/ringfence/runs; for way in 'rm here' 'mv here there' 'ln -sfn evil here' 'mv dot dot2'; \
                  do sh -c \"$way\" && exit 0; done; exit 3";
    let sandbox = Sandbox::new(Native::new()).mark_runs_in([marks]);
    let report = sandbox.run(&sh(script, &work), Streams::default()).unwrap();
    assert_eq!(report.ending.code(), 3, "{}", said(&report));
    assert_eq!(std::fs::read_link(work.join("here")).unwrap(), Path::new("dot/local"));
    assert!(report.left.is_empty(), "{report:?}");
}
