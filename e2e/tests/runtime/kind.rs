//! The runtimes, and what the tests have to know of each.

use std::path::PathBuf;

/// What runs a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Bwrap,
    Container,
    Firejail,
    Native,
    Wasm,
}

const NAMES: &[(&str, Kind)] = &[
    ("bwrap", Kind::Bwrap),
    ("container", Kind::Container),
    ("firejail", Kind::Firejail),
    ("native", Kind::Native),
    ("wasm", Kind::Wasm),
];

impl Kind {
    /// The runtimes that were asked for. One that nobody knows is a mistake, not a way to test less.
    pub(crate) fn asked() -> Vec<Self> {
        let named = std::env::var("RINGFENCE_TEST_RUNTIMES").unwrap_or_else(|_| "native".to_owned());
        let find = |name: &str| NAMES.iter().find(|(known, _)| *known == name.trim()).map(|(_, kind)| *kind);
        named
            .split(',')
            .map(|name| find(name).unwrap_or_else(|| panic!("no runtime is named `{name}`")))
            .collect()
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, kind)| *kind == self).map(|(name, _)| *name).unwrap()
    }

    /// Whether each call is a tree of processes.
    pub(crate) fn has_processes(self) -> bool {
        self != Self::Wasm
    }
}

/// A file that `script/wasm-guests` made.
pub(crate) fn guest(name: &str) -> PathBuf {
    let folder = std::env::var_os("RINGFENCE_TEST_GUESTS")
        .expect("RINGFENCE_TEST_GUESTS is what `script/wasm-guests` prints");
    let path = PathBuf::from(folder).join(name);
    assert!(path.is_file(), "`{}` is not there: run `script/wasm-guests`", path.display());
    path
}

/// The address of the container engine, and the image with the probe in it.
pub(crate) fn engine() -> (String, String) {
    let line = std::env::var("RINGFENCE_TEST_ENGINE")
        .expect("RINGFENCE_TEST_ENGINE is what `script/container-engine` prints");
    let (address, image) = line.split_once(' ').expect("it is an address and an image");
    (address.to_owned(), image.to_owned())
}
