//! The same plan in three languages.

use std::path::Path;

use super::{bwrap, firejail, seatbelt};
use crate::plan::{Entry, example};

#[test]
fn for_bwrap() {
    let (arguments, files) = bwrap(&example(), Path::new("/opt/ringfence"), 9).unwrap();
    assert_eq!(files.len(), 4);
    let lines = arguments.join(" ").replace(" --", "\n--");
    insta::assert_snapshot!(lines, @"
    --unshare-user
    --unshare-ipc
    --unshare-pid
    --unshare-net
    --unshare-uts
    --unshare-cgroup
    --die-with-parent
    --new-session
    --clearenv
    --hostname sandbox
    --cap-drop ALL
    --cap-add CAP_SYS_ADMIN
    --cap-add CAP_SETPCAP
    --symlink usr/lib /lib
    --dir /etc
    --dir /etc/ssl
    --dir /etc/ssl/certs
    --ro-bind /etc/ssl/certs /etc/ssl/certs
    --dir /usr
    --dir /usr/lib
    --dir /usr/lib/x86_64-linux-gnu
    --ro-bind /usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu
    --dir /dev
    --dir /proc
    --dir /tmp
    --dir /usr/bin
    --dir /usr/local
    --dir /usr/local/bin
    --dev-bind /dev/null /dev/null
    --dev-bind /dev/zero /dev/zero
    --dev-bind /dev/full /dev/full
    --dev-bind /dev/random /dev/random
    --dev-bind /dev/urandom /dev/urandom
    --symlink /proc/self/fd /dev/fd
    --symlink /proc/self/fd/0 /dev/stdin
    --symlink /proc/self/fd/1 /dev/stdout
    --symlink /proc/self/fd/2 /dev/stderr
    --ro-bind-data 9 /etc/passwd
    --ro-bind-data 10 /etc/group
    --ro-bind-data 11 /etc/hosts
    --ro-bind-data 12 /etc/nsswitch.conf
    --proc /proc
    --ro-bind /dev/null /proc/keys
    --perms 1777
    --size 67108864
    --tmpfs /tmp
    --dir /srv
    --dir /srv/data
    --ro-bind /srv/data /srv/data
    --bind /srv/data/out /srv/data/out
    --ro-bind /usr/bin/git /usr/bin/git
    --dir /usr/lib/git-core
    --ro-bind /usr/lib/git-core /usr/lib/git-core
    --symlink /tmp /dev/shm
    --dir /var
    --symlink /tmp /var/tmp
    --perms 0000
    --tmpfs /srv/data/.ssh
    --remount-ro /srv/data/.ssh
    --ro-bind /srv/data/out/.git/config /srv/data/out/.git/config
    --ro-bind /opt/ringfence /.ringfence-inner
    --remount-ro /
    --chdir /
    ");
}

#[test]
fn for_firejail() {
    let options = firejail(&example(), Path::new("/opt/ringfence"), 5).unwrap();
    insta::assert_snapshot!(options.join("\n"), @"
    --quiet
    --noprofile
    --net=none
    --caps.drop=all
    --private-dev
    --dbus-user=none
    --dbus-system=none
    --nogroups
    --ipc-namespace
    --keep-var-tmp
    --writable-var
    --read-only=/
    --deterministic-exit-code
    --deterministic-shutdown
    --keep-fd=5,6
    --read-only=/srv/data
    --noexec=/srv/data
    --read-write=/srv/data/out
    --noexec=/srv/data/out
    --read-only=/usr/bin/git
    --read-only=/usr/lib/git-core
    --blacklist=/srv/data/.ssh
    --read-only=/srv/data/out/.git/config
    --blacklist=/proc/keys
    --private-tmp
    --noexec=/tmp
    ");
}

#[test]
fn a_link_in_tmp_is_there_with_firejail() {
    let mut plan = example();
    plan.root.push(Entry::Link { path: "/tmp/work/link".into(), to: "/srv/data".into() });
    plan.root.push(Entry::Link { path: "/opt/link".into(), to: "/srv/data".into() });
    let options = firejail(&plan, Path::new("/opt/ringfence"), 5).unwrap();
    assert!(options.iter().any(|option| option == "--whitelist=/tmp/work/link"), "{options:?}");
    assert!(
        !options.iter().any(|option| option == "--private-tmp"),
        "it would hide the link again: {options:?}"
    );
    assert!(!options.iter().any(|option| option.contains("/opt/link")), "{options:?}");
}

#[test]
fn for_seatbelt() {
    insta::assert_snapshot!(seatbelt(&example()).unwrap(), @r#"
    (version 1)
    (deny default)
    (allow process-fork)
    (allow signal (target same-sandbox))
    (allow sysctl-read)
    (allow file-read* file-map-executable (subpath "/usr/lib"))
    (allow file-read* file-map-executable (subpath "/System/Library"))
    (allow file-read* file-map-executable (subpath "/usr/share/zoneinfo"))
    (allow file-read* file-map-executable (subpath "/usr/share/locale"))
    (allow file-read* file-map-executable (subpath "/private/var/db/timezone"))
    (allow file-read* file-write-data (literal "/dev/null"))
    (allow file-read* file-write-data (literal "/dev/zero"))
    (allow file-read* file-write-data (literal "/dev/random"))
    (allow file-read* file-write-data (literal "/dev/urandom"))
    (allow file-read-metadata (literal "/"))
    (allow file-read* (subpath "/srv/data"))
    (deny file-write* (subpath "/srv/data"))
    (allow file-read* (subpath "/srv/data/out"))
    (allow file-write* (subpath "/srv/data/out"))
    (allow file-read* (literal "/usr/bin/git"))
    (deny file-write* (literal "/usr/bin/git"))
    (allow file-map-executable (literal "/usr/bin/git"))
    (allow file-read* (subpath "/usr/lib/git-core"))
    (deny file-write* (subpath "/usr/lib/git-core"))
    (allow file-map-executable (subpath "/usr/lib/git-core"))
    (deny file-read* file-write* (subpath "/srv/data/.ssh"))
    (allow file-read* (literal "/srv/data/out/.git/config"))
    (deny file-write* (literal "/srv/data/out/.git/config"))
    (allow process-exec (literal "/usr/bin/git"))
    (allow process-exec (subpath "/usr/lib/git-core"))
    (allow process-exec (literal "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"))
    (deny network*)
    "#);
}

#[test]
fn refuses_by_name_what_it_cannot_say() {
    let mut plan = example();
    plan.terminal = true;
    let error = firejail(&plan, Path::new("/opt/ringfence"), 5).unwrap_err();
    assert_eq!(error.to_string(), "the sandbox cannot enforce a terminal of its own, with firejail");
    let error = firejail(&example(), Path::new("/tmp/ringfence"), 5).unwrap_err();
    assert!(error.to_string().contains("the inner stage in `/tmp`"), "{error}");
}
