//! The container that a plan becomes, to the letter.

use ringfence_policy::{HostSet, Limits, NetworkCeiling, NetworkGrant, Private, Size, Span};
use ringfence_sandbox::{Access, Sandbox, Spec, Streams};
use serde_json::Value;

use crate::it::fake::{Fake, command};
use std::path::Path;
use std::time::Duration;

/// Puts names where every run has something else.
fn plain(mut made: Value, root: &Path) -> String {
    let owner = made["Labels"]["ringfence.owner"].as_str().unwrap();
    assert_eq!(owner.split('/').count(), 4, "{owner}");
    made["Labels"]["ringfence.owner"] = "OWNER".into();
    for option in made["HostConfig"]["SecurityOpt"].as_array_mut().unwrap() {
        if let Some(profile) = option.as_str().and_then(|option| option.strip_prefix("seccomp=")) {
            let is_path = profile.starts_with("/proc/");
            let shown =
                if is_path { "PATH" } else { serde_json::from_str(profile).map(|_: Value| "JSON").unwrap() };
            *option = format!("seccomp={shown}").into();
        }
    }
    let network = made["HostConfig"]["NetworkMode"].as_str().unwrap();
    if network.starts_with("ns:/proc/") {
        made["HostConfig"]["NetworkMode"] = "ns:PATH".into();
    }
    let users = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    serde_json::to_string_pretty(&made)
        .unwrap()
        .replace(root.to_str().unwrap(), "ROOT")
        .replace(&format!("1000:{}:1,gid", users.0), "1000:USER:1,gid")
        .replace(&format!("=1000:{}:1\"", users.1), "=1000:GROUP:1\"")
}

/// A command with a path of every kind, a limit of every kind and a secret.
fn everything(root: &Path) -> Spec {
    for folder in ["read", "write/.ssh", "write/.git/hooks", "run"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("file"), "x").unwrap();
    std::fs::write(root.join("write/.netrc"), "x").unwrap();
    let limits = Limits {
        cpu: Some(Span::new(Duration::from_secs(7))),
        file_size: Some(Size::new(1 << 20)),
        memory: Some(Size::new(64 << 20)),
        open_files: Some(50),
        processes: Some(20),
        scratch: Some(Size::new(8 << 20)),
        wall: Some(Span::new(Duration::from_secs(9))),
        ..Limits::default()
    };
    command()
        .arguments(["-n", "two words"])
        .variable("TOKEN", "s3cret-value")
        .directory(root.join("read"))
        .tree(root.join("file"), Access::READ)
        .tree(root.join("read"), Access::READ)
        .tree(root.join("write"), Access::WRITE)
        .tree(root.join("run"), Access::EXECUTE)
        .limits(limits)
}

#[test]
fn podman_is_told_everything() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let fake = Fake::new(|_| None);
    // The fake hides nothing, which is seen before the command begins.
    let error = fake.run(&everything(&root)).unwrap_err().to_string();
    if !rustix::process::geteuid().is_root() {
        assert!(error.contains("`files`"), "only root may look into containers: {error}");
        return;
    }
    assert!(error.contains("the engine has not hidden it"), "{error}");
    assert!(!fake.asked().iter().any(|asked| asked.what.contains("/start")), "{:?}", fake.asked());
    insta::assert_snapshot!(plain(fake.made(), &root));
    for asked in fake.asked().iter().filter(|asked| !asked.what.starts_with("POST /containers/create")) {
        assert!(!format!("{asked:?}").contains("s3cret"), "{asked:?}");
    }
}

#[test]
fn a_network_of_hosts_is_the_gates_own() {
    let folder = tempfile::tempdir().unwrap();
    let hosts: HostSet = ["203.0.113.7:80"].iter().map(|host| host.parse().unwrap()).collect();
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), Private::default()));
    let fake = Fake::new(|_| None);
    let streams = Streams::default().gate(|_| Ok(())).input(b"read me".to_vec());
    Sandbox::foreign(fake.engine.clone()).run(&command().network(&grant), streams).unwrap();
    let made: Value = serde_json::from_str(&plain(fake.made(), folder.path())).unwrap();
    assert_eq!(made["HostConfig"]["NetworkMode"], "ns:PATH");
    assert_eq!(made["HostConfig"]["Dns"], serde_json::json!(["127.0.0.1"]));
    assert_eq!((&made["OpenStdin"], &made["StdinOnce"]), (&true.into(), &true.into()));
}

#[test]
fn docker_is_told_the_profile_itself() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::docker(&["name=seccomp,profile=builtin", "name=userns"]);
    fake.run(&command()).unwrap();
    insta::assert_snapshot!(plain(fake.made(), folder.path()));
}
