//! Crates are authorities: a crate may depend only on crates of a strictly lower layer.

use cargo_metadata::{DependencyKind, MetadataCommand};

const LAYERS: &[(&str, u8)] = &[
    ("ringfence-policy", 0),
    ("ringfence-text", 0),
    ("ringfence-sandbox", 1),
    ("ringfence-egress", 1),
    ("ringfence", 2),
    ("ringfence-lint", 2),
    ("ringfence-store", 3),
    ("ringfence-wasm", 3),
    ("ringfence-container", 3),
    ("ringfence-server", 3),
    ("ringfence-cli", 4),
    ("ringfence-components", 5),
];

/// Stands outside the layers: measures, tries or shows, and is not shipped.
const OUTSIDE: &[&str] = &["ringfence-bench", "ringfence-e2e", "ringfence-example-agent"];

/// Crates that no async runtime may reach.
const SYNCHRONOUS: &[&str] = &["ringfence-policy", "ringfence-text", "ringfence-sandbox"];

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

#[test]
fn arrows_point_down() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let mut seen = 0;
    for package in &metadata.packages {
        if OUTSIDE.contains(&package.name.as_str()) {
            continue;
        }
        let own = layer(&package.name).unwrap_or_else(|| panic!("`{}` has no layer", package.name));
        seen += 1;
        for dependency in package.dependencies.iter().filter(|one| one.kind == DependencyKind::Normal) {
            if let Some(below) = layer(&dependency.name) {
                assert!(
                    below < own,
                    "`{}` (layer {own}) may not use `{}` (layer {below})",
                    package.name,
                    dependency.name
                );
            }
            if SYNCHRONOUS.contains(&package.name.as_str()) {
                assert_ne!(dependency.name, "tokio", "`{}` knows no async runtime", package.name);
            }
        }
    }
    assert!(seen >= 4, "only {seen} crates were looked at");
}

#[test]
fn powers_stay_at_home() {
    // Each crate's clippy.toml lists the powers it does not own; one that lost a line would silently gain a power.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap();
    let methods = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("path = "));
        lines.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect()
    };
    let all = methods(&read("clippy.toml"));
    #[rustfmt::skip]
    let owners: &[(&str, &[&str])] = &[
        ("crates/egress/clippy.toml", &["std::net::TcpStream", "std::net::UdpSocket", "std::net::ToSocketAddrs", "tokio::net::TcpStream", "tokio::net::TcpSocket", "tokio::net::UdpSocket", "tokio::net::lookup_host"]),
        ("crates/core/clippy.toml",   &["std::fs::", "std::path::Path::"]),
        ("crates/cli/clippy.toml",    &["std::fs::", "std::path::Path::", "std::env::"]),
        ("crates/sandbox/clippy.toml", &["std::fs::", "std::path::Path::", "std::process::"]),
        ("crates/lint/clippy.toml",   &["std::fs::", "std::path::Path::", "std::env::"]),
        ("crates/store/clippy.toml",  &["std::fs::", "std::path::Path::"]),
        ("crates/wasm/clippy.toml", &[]),
        ("crates/container/clippy.toml", &[]),
        ("crates/components/clippy.toml", &[]),
        ("crates/server/clippy.toml", &["std::net::TcpListener", "tokio::net::TcpListener", "std::os::unix::net::UnixListener"]),
    ];
    for (file, owned) in owners {
        let listed = methods(&read(file));
        for method in &all {
            let owns = owned.iter().any(|power| method.starts_with(power));
            assert_ne!(listed.contains(method), owns, "{file}: {method}");
        }
    }
}
