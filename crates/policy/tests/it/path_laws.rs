//! Path patterns, sets and grants: spelling, inclusion, intersection.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ringfence_policy::{Direction, FsCeiling, FsGrant, FsReach, PathPattern, PathReach, PathSet, normalise};

/// Components of patterns over two letters, so that they often meet.
fn pattern_component() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("**".to_owned()),
        6 => "[ab]{1,2}",
        4 => "[ab]?\\*[ab]?",
        2 => "[ab]?\\?[ab]?",
    ]
}

fn pattern() -> impl Strategy<Value = PathPattern> {
    prop::collection::vec(pattern_component(), 0..4)
        .prop_filter_map("a pattern", |components| format!("/{}", components.join("/")).parse().ok())
}

fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec("[abc]{1,3}", 0..5)
        .prop_map(|components| PathBuf::from(format!("/{}", components.join("/"))))
}

fn set() -> impl Strategy<Value = PathSet> {
    prop::collection::vec(pattern(), 0..3).prop_map(PathSet::from_iter)
}

fn reach() -> impl Strategy<Value = PathReach> {
    prop_oneof![Just(PathReach::FromPersonality), set().prop_map(PathReach::Listed)]
}

/// Every path of at most three components over short names: small enough to try all of them.
fn universe() -> Vec<PathBuf> {
    let names = ["a", "b", "c", "aa", "ab", "ba", "bb", "ac", "ca", "abc", "aba", "bab", "ccc"];
    let mut layer = vec![PathBuf::from("/")];
    let mut all = layer.clone();
    for _ in 0..3 {
        layer = layer.iter().flat_map(|parent| names.map(|name| parent.join(name))).collect();
        all.extend(layer.iter().cloned());
    }
    all
}

proptest! {
    #[test]
    fn normalising_twice_changes_nothing(text in "/([a.]{0,3}/){0,6}[a.]{0,3}") {
        let once = normalise(Path::new(&text)).unwrap();
        prop_assert_eq!(&normalise(&once).unwrap(), &once);
        let root: PathPattern = "/".parse().unwrap();
        prop_assert!(root.matches(&once));
    }

    #[test]
    fn a_pattern_parses_to_itself(pattern in pattern()) {
        prop_assert_eq!(pattern.to_string().parse::<PathPattern>().unwrap(), pattern);
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "[/a.*?~${}\\[\\]\\x00]{0,12}|\\$\\{(home|self|workspace)\\}[/a*.]{0,6}") {
        if let Ok(pattern) = text.parse::<PathPattern>() {
            prop_assert_eq!(pattern.to_string().parse::<PathPattern>().unwrap(), pattern);
        }
    }

    #[test]
    fn a_cover_admits_what_it_covers(wide in set(), narrow in pattern(), path in path()) {
        if wide.covers(&narrow) && narrow.matches(&path) {
            prop_assert!(wide.matches(&path), "{wide:?} covers {narrow} and misses {}", path.display());
        }
    }

    #[test]
    fn a_pattern_covers_itself_and_its_root_covers_it(pattern in pattern()) {
        prop_assert!(pattern.covers(&pattern));
        let root: PathPattern = pattern.root().to_str().unwrap().parse().unwrap();
        prop_assert!(root.covers(&pattern));
    }

    #[test]
    fn a_grant_is_within_both_sides(declared in reach(), ceiling in set(), path in path()) {
        let reach = FsReach { read: Some(declared.clone()), ..FsReach::default() };
        let ceiling = FsCeiling { read: ceiling, ..FsCeiling::default() };
        let grant = FsGrant::meet(&reach, &ceiling).unwrap();
        let granted = grant.judge(&path, Direction::Read).is_ok();
        let declares = match &declared {
            PathReach::FromPersonality => true,
            PathReach::Listed(set) => set.matches(&path),
        };
        prop_assert_eq!(granted, declares && ceiling.read.matches(&path));
        prop_assert!(grant.judge(&path, Direction::Write).is_err());
    }

    #[test]
    fn reach_survives_the_wire(read in prop::option::of(reach()), write in prop::option::of(reach())) {
        let reach = FsReach { read, write, ..FsReach::default() };
        let text = serde_json::to_string(&reach).unwrap();
        prop_assert_eq!(&serde_json::from_str::<FsReach>(&text).unwrap(), &reach);
        prop_assert_eq!(toml::from_str::<FsReach>(&toml::to_string(&reach).unwrap()).unwrap(), reach);
    }
}

/// What is not covered has a witness, and for these small patterns nearly always a short one.
#[test]
fn what_is_not_covered_has_a_witness() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let universe = universe();
    let mut runner = TestRunner::deterministic();
    let (mut uncovered, mut witnessed) = (0, 0);
    for _ in 0..400 {
        let (wide, narrow) = (set(), pattern()).new_tree(&mut runner).unwrap().current();
        let witness = universe.iter().find(|path| narrow.matches(path) && !wide.matches(path));
        if wide.covers(&narrow) {
            assert_eq!(witness, None, "{wide:?} covers {narrow}");
        } else {
            uncovered += 1;
            witnessed += usize::from(witness.is_some());
        }
    }
    assert!(uncovered > 100, "{uncovered} cases");
    assert!(witnessed * 100 >= uncovered * 95, "{witnessed} of {uncovered} have a short witness");
}
