//! Probes that try to get out. Each ends with `0` when it got what it was after.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ringfence_sandbox::{Access, Ending};

use crate::container::place::{Folders, all, out, place, run};

/// Runs a probe that must fail, and one beside it that must succeed, so that the failing says something.
fn confined(folders: &Folders, probe: &str, beside: &str) {
    let report = run(&folders.shell(&format!("({beside}) >/dev/null 2>&1 || exit 99; {probe}")));
    let shown = all(&report);
    assert_ne!(report.ending, Ending::Exited(99), "`{beside}` does not work: {shown}");
    assert_ne!(report.ending, Ending::Exited(0), "`{probe}` got through: {shown}");
    assert!(!shown.contains("hunter2"), "{probe}: {shown}");
}

#[test]
fn files_outside_the_grant_are_out_of_reach() {
    let folders = Folders::new();
    std::os::unix::fs::symlink(folders.outside.join("secret"), folders.write.join("link")).unwrap();
    #[rustfmt::skip]
    let probes = [
        // what must fail                                     what must work
        ("cat $O/secret",                                     "cat $R/in"),
        ("cat $R/../outside/secret",                          "cat $R/../read/in"),
        ("cat $W/link",                                       "ls -l $W/link"),
        ("ln -s $O/secret $W/mine && cat $W/mine",            "ln -s $R/in $W/fine && cat $W/fine"),
        ("cat /proc/1/root$O/secret",                         "cat /proc/self/root$R/in"),
        ("cat /proc/self/cwd/../../..$O/secret",              "true"),
        ("cd /proc/1/cwd && cat ..$O/secret",                 "true"),
        ("echo x >$R/in",                                     "echo x >$W/out"),
        ("echo x >$R/new",                                    "echo x >$W/new"),
        ("rm $R/in",                                          "rm $W/new"),
        ("ln $R/in $W/hard",                                  "touch $W/a && ln $W/a $W/b"),
        ("echo x >/etc/new",                                  "cat /etc/passwd"),
        ("echo x >/bin/new",                                  "ls /bin"),
        ("echo x >/dev/new",                                  "echo x >/dev/null"),
        ("echo x >/run/new",                                  "ls /run"),
        ("echo x >/var/tmp/new",                              "echo x >/tmp/new"),
        ("ls /sys/kernel",                                    "ls /sys"),
        ("echo 1 >/proc/sys/kernel/randomize_va_space",       "cat /proc/sys/kernel/randomize_va_space"),
        ("echo x >/proc/sysrq-trigger",                       "true"),
        ("cat /proc/kcore | head -c 1 | grep -q .",           "true"),
        ("mount -o remount,rw /",                             "true"),
        ("mount -o remount,rw $R && echo x >$R/in",           "true"),
        ("umount $R",                                         "true"),
    ];
    for (probe, beside) in probes {
        confined(&folders, probe, beside);
    }
    assert_eq!(std::fs::read_to_string(folders.read.join("in")).unwrap(), "granted\n");
    let made = std::fs::metadata(folders.write.join("out")).unwrap();
    assert_eq!(made.uid(), rustix::process::geteuid().as_raw(), "what it writes is the caller's");
}

#[test]
fn what_is_written_or_only_read_cannot_be_started() {
    let folders = Folders::new();
    let program = folders.read.join("busybox-copy");
    std::fs::copy("/bin/busybox", &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    confined(&folders, "$R/busybox-copy true", "cmp $R/busybox-copy /bin/busybox");
    for folder in ["$W", "/tmp", "/dev/shm"] {
        let script = format!("echo '#!/bin/sh' >{folder}/s && chmod 755 {folder}/s && sh {folder}/s");
        confined(&folders, &format!("{folder}/s"), &script);
    }
    for folder in ["$W", "/tmp"] {
        // It knows itself by a name that begins like this.
        let copied = format!("cp /bin/busybox {folder}/busybox-x && chmod 755 {folder}/busybox-x");
        confined(&folders, &format!("{folder}/busybox-x true"), &copied);
    }
    let granted = place()
        .shell("$R/busybox-copy true")
        .tree(&folders.read, Access::EXECUTE)
        .variable("R", &folders.read);
    let report = run(&granted);
    assert_eq!(report.ending, Ending::Exited(0), "where it is granted it runs: {}", all(&report));
}

#[test]
fn there_are_no_privileges_and_none_to_gain() {
    let folders = Folders::new();
    let report = run(&folders.shell("cat /proc/self/status; echo; cat /proc/self/uid_map; id -u"));
    let status = out(&report);
    for line in [
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    assert!(!status.contains("4294967295"), "it has a user namespace: {status}");
    assert!(status.ends_with("\n1000\n"), "{status}");
    // The program itself says whether its bit made it root.
    let report = run(&folders.shell("[ -u /bin/busybox-setuid ] && busybox-setuid su -c id"));
    assert!(all(&report).contains("su: must be suid to work properly"), "{}", all(&report));
    #[rustfmt::skip]
    let probes = [
        ("unshare -U true",                       "true"),
        ("unshare -m true",                       "true"),
        ("chroot / true",                         "true"),
        ("mount -t tmpfs none /tmp",              "true"),
        ("mknod $W/null c 1 3",                   "mkfifo $W/fifo"),
        ("touch $W/s && chmod 4755 $W/s",         "touch $W/s && chmod 755 $W/s"),
        ("hostname other",                        "hostname"),
        ("date -s 2020-01-01; date | grep 2020",  "date"),
        ("chown 0:0 $W",                          "true"),
    ];
    for (probe, beside) in probes {
        confined(&folders, probe, beside);
    }
}

#[test]
fn no_network_leads_anywhere() {
    let folders = Folders::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    #[rustfmt::skip]
    let probes = [
        (format!("nc -w 2 127.0.0.1 {port} </dev/null"),          "true"),
        ("nc -w 2 192.0.2.1 80 </dev/null".to_owned(),            "true"),
        ("ping -c 1 -W 2 127.0.0.1".to_owned(),                   "true"), // a raw socket
        ("arping -c 1 -w 2 -I lo 127.0.0.1".to_owned(),           "true"), // a packet socket
        ("grep : /proc/net/dev | grep -vq lo:".to_owned(),        "true"),
        ("ls -l /sys/class/net/eth0".to_owned(),                  "true"),
    ];
    for (probe, beside) in probes {
        confined(&folders, &probe, beside);
    }
    let report = run(&folders.shell(
        "(echo hi | nc -l -p 4000 >/tmp/got) & \
         for i in $(seq 100); do echo hello | nc -w 2 127.0.0.1 4000 && break; sleep 0.1; done; \
         for i in $(seq 100); do grep hello /tmp/got && break; sleep 0.1; done",
    ));
    assert!(out(&report).contains("hello"), "inside, there is a loopback interface: {}", all(&report));
}

#[test]
fn what_is_on_the_floor_is_hidden_or_kept() {
    let folders = Folders::new();
    let keys = folders.write.join(".ssh");
    let hooks = folders.write.join(".git/hooks");
    for folder in [&keys, &hooks] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(keys.join("id_ed25519"), "hunter2\n").unwrap();
    std::fs::write(folders.write.join(".netrc"), "hunter2\n").unwrap();
    std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").unwrap();
    #[rustfmt::skip]
    let probes = [
        ("cat $W/.ssh/id_ed25519",                  "echo x >$W/x"),
        ("cat $W/.netrc",                           "ls $W"),
        ("echo x >$W/.git/hooks/pre-commit",        "true"),
        ("echo x >$W/.git/hooks/post-merge",        "true"),
    ];
    for (probe, beside) in probes {
        confined(&folders, probe, beside);
    }
    assert_eq!(std::fs::read_to_string(hooks.join("pre-commit")).unwrap(), "#!/bin/sh\n");
    assert_eq!(std::fs::read_to_string(folders.write.join(".netrc")).unwrap(), "hunter2\n");
}

#[test]
fn the_environment_is_ours_and_is_nowhere_else() {
    let report = run(&place()
        .shell("env; cat /proc/1/cmdline | tr '\\0' ' '; cat /etc/hosts")
        .variable("TOKEN", "s3cret-value"));
    let shown = out(&report);
    let names: Vec<&str> =
        shown.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    for name in &names {
        let ours = ["HOME", "PATH", "TOKEN", "PWD", "SHLVL", "HOSTNAME", "TERM", "container"];
        assert!(ours.contains(name), "`{name}` in {shown}");
    }
    assert!(
        shown.contains("HOME=/tmp\n") && shown.contains("PATH=/usr/local/bin:/usr/bin:/bin\n"),
        "{shown}"
    );
    assert_eq!(shown.matches("s3cret-value").count(), 1, "{shown}");
    let held = run(&place().shell("sleep 3").variable("TOKEN", "s3cret-value"));
    assert_eq!(held.ending, Ending::Exited(0));
}
