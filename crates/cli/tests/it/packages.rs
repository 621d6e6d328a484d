//! What is published stands on its own: no file outside of its folder, the licences, a page that says what it is.

use std::path::{Component, Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand, Package};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The workspace, and that of the authors of components.
fn workspaces() -> Vec<Metadata> {
    let read = |manifest: &str| {
        MetadataCommand::new().manifest_path(root().join(manifest)).no_deps().exec().unwrap()
    };
    vec![read("Cargo.toml"), read("guest/Cargo.toml")]
}

/// The packages that are published: an empty list of registries means none.
fn published() -> Vec<Package> {
    let all = workspaces().into_iter().flat_map(|workspace| workspace.packages);
    let published: Vec<Package> = all.filter(|package| package.publish.as_deref() != Some(&[])).collect();
    assert!(published.len() >= 14, "only {}", published.len());
    published
}

fn folder(package: &Package) -> PathBuf {
    package.manifest_path.parent().unwrap().as_std_path().to_owned()
}

/// The sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// The files that a source names: what it includes, modules with a path, and the worlds of bindings.
fn named(source: &Path, package: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(source).unwrap();
    let beside = source.parent().unwrap();
    let mut found = Vec::new();
    for (word, base) in [
        ("include_str!(\"", beside),
        ("include_bytes!(\"", beside),
        ("#[path = \"", beside),
        ("    path: \"", package),
    ] {
        for piece in text.split(word).skip(1) {
            found.push(base.join(piece.split('"').next().unwrap()));
        }
    }
    found
}

/// Takes `..` away by text, as the archive of a package has no folders above it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

#[test]
fn no_source_reaches_out_of_its_package() {
    let mut seen = 0;
    for package in published() {
        let own = folder(&package);
        for source in sources(&own.join("src")).into_iter().chain(sources(&own.join("examples"))) {
            for file in named(&source, &own) {
                seen += 1;
                assert!(plain(&file).starts_with(&own), "{} names {}", source.display(), file.display());
            }
        }
    }
    assert!(seen > 15, "only {seen} files are named");
}

#[test]
fn copies_are_those_of_the_repository() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    assert_eq!(
        read("crates/wasm/wit/world.wit"),
        read("wit/world.wit"),
        "copy wit/world.wit to crates/wasm/wit"
    );
}

#[test]
fn every_package_says_what_it_is() {
    for package in published() {
        let (name, own) = (&package.name, folder(&package));
        let page =
            std::fs::read_to_string(own.join("README.md")).unwrap_or_else(|_| panic!("{name} has no README"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}: {page}");
        assert!(page.lines().count() <= 30, "the README of {name} is long");
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let read = |path: PathBuf| {
                std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()))
            };
            assert_eq!(read(own.join(licence)), read(root().join(licence)), "{name}: {licence}");
        }
        assert!(package.description.is_some(), "{name} has no description");
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}");
        assert_eq!(package.documentation.as_deref(), Some(format!("https://docs.rs/{name}").as_str()));
        assert!((1..=5).contains(&package.keywords.len()), "{name}: {:?}", package.keywords);
        assert!(!package.categories.is_empty(), "{name} has no category");
    }
}

#[test]
fn all_packages_have_one_version() {
    let packages = published();
    for package in &packages {
        assert_eq!(package.version, packages[0].version, "{}", package.name);
        for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
            // A path is no version: what is published must say which it wants.
            assert!(
                dependency.req.matches(&packages[0].version),
                "{} wants {}",
                package.name,
                dependency.name
            );
            assert_ne!(dependency.req.to_string(), "*", "{} wants any {}", package.name, dependency.name);
        }
    }
}
