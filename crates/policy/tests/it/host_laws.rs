//! The algebra of host patterns: meets are exact, and a grant never exceeds either side.

use std::net::IpAddr;

use proptest::prelude::*;
use ringfence_policy::{
    Host, HostPattern, HostSet, HostShape, NetworkCeiling, NetworkGrant, Private, Target,
};

/// Few labels, so that generated names and patterns meet often; some of them are never public.
fn name() -> impl Strategy<Value = String> {
    let top = prop::sample::select(vec!["com", "io", "local", "test"]);
    let inner = prop::collection::vec(prop::sample::select(vec!["a", "b", "xn--bcher-kva"]), 0..3);
    (inner, top).prop_map(|(mut labels, top)| {
        labels.push(top);
        labels.join(".")
    })
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop::sample::select(vec![
        "8.8.8.8",
        "9.9.9.9",
        "10.0.0.1",
        "10.0.1.1",
        "127.0.0.1",
        "::1",
        "fd00::1",
        "2606:4700::1",
    ])
    .prop_map(|text| text.parse().unwrap())
}

fn port() -> impl Strategy<Value = Option<u16>> {
    prop_oneof![2 => Just(None), 1 => Just(Some(443)), 1 => Just(Some(80))]
}

fn shape() -> impl Strategy<Value = HostShape> {
    let ranges = vec!["0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/24", "127.0.0.0/8", "fd00::/8"];
    prop_oneof![
        1 => Just(HostShape::Everything),
        1 => Just(HostShape::Public),
        3 => name().prop_map(|text| HostShape::Name(text.parse().unwrap())),
        3 => name().prop_map(|text| HostShape::Subdomains(text.parse().unwrap())),
        2 => address().prop_map(HostShape::Address),
        2 => prop::sample::select(ranges).prop_map(|text| HostShape::Range(text.parse().unwrap())),
    ]
}

fn pattern() -> impl Strategy<Value = HostPattern> {
    (shape(), port()).prop_map(|(shape, port)| HostPattern::new(shape, port))
}

fn set() -> impl Strategy<Value = HostSet> {
    prop::collection::vec(pattern(), 0..4).prop_map(HostSet::from_iter)
}

/// What a declaration or a personality can write: no ranges.
fn written() -> impl Strategy<Value = HostSet> {
    set().prop_map(|set| {
        set.iter().filter(|pattern| !matches!(pattern.shape(), HostShape::Range(_))).cloned().collect()
    })
}

fn target() -> impl Strategy<Value = Target> {
    let host = prop_oneof![
        3 => name().prop_map(|text| Host::Name(text.parse().unwrap())),
        2 => address().prop_map(Host::Address),
    ];
    (host, prop::sample::select(vec![80, 443, 8080])).prop_map(|(host, port)| Target::new(host, port))
}

fn private() -> impl Strategy<Value = Private> {
    let entries = vec!["10.0.0.0/24", "fd00::/8", "127.0.0.1", "*.local", "a.test", "*.io"];
    prop::collection::vec(prop::sample::select(entries), 0..3).prop_map(|list| Private::parse(list).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn meet_commutes_and_is_idempotent(a in pattern(), b in pattern()) {
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&a), Some(a));
    }

    #[test]
    fn meet_associates(a in pattern(), b in pattern(), c in pattern()) {
        let left = a.meet(&b).and_then(|met| met.meet(&c));
        let right = b.meet(&c).and_then(|met| a.meet(&met));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn meet_admits_exactly_what_both_admit(a in pattern(), b in pattern(), target in target()) {
        let met = a.meet(&b).is_some_and(|met| met.matches(&target));
        prop_assert_eq!(met, a.matches(&target) && b.matches(&target));
    }

    #[test]
    fn covers_is_inclusion(a in pattern(), b in pattern(), target in target()) {
        if a.covers(&b) {
            prop_assert!(!b.matches(&target) || a.matches(&target));
            prop_assert_eq!(a.meet(&b), Some(b));
        }
    }

    #[test]
    fn sets_meet_like_patterns(a in set(), b in set(), c in set(), target in target()) {
        let met = a.meet(&b);
        prop_assert_eq!(&met, &b.meet(&a));
        prop_assert_eq!(met.meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(&met.meet(&met), &met);
        prop_assert_eq!(met.admits(&target), a.admits(&target) && b.admits(&target));
        for pattern in &met {
            prop_assert!(a.covers(pattern) && b.covers(pattern));
        }
    }

    #[test]
    fn a_grant_exceeds_neither_side(
        declared in written(), allow in written(), private in private(), target in target(),
    ) {
        let ceiling = NetworkCeiling::new(allow, private);
        let grant = NetworkGrant::meet(&declared, &ceiling);
        let admitted = grant.judge(&target).is_ok();
        prop_assert_eq!(admitted, declared.admits(&target) && ceiling.hosts().admits(&target));
        if let (true, Host::Address(address)) = (admitted, &target.host) {
            let named = HostPattern::new(HostShape::Address(*address), Some(target.port));
            let listed = ceiling.allow().iter().any(|own| {
                own.covers(&named) && matches!(own.shape(), HostShape::Address(_))
            });
            let lifted = ceiling.private().covers_address(*address);
            prop_assert!(ringfence_policy::is_public(*address) || listed || lifted);
        }
    }

    #[test]
    fn patterns_survive_writing(set in written()) {
        for pattern in &set {
            let read: HostPattern = pattern.to_string().parse().unwrap();
            prop_assert_eq!(read.into_ceiling(), pattern.clone().into_ceiling());
        }
        let text = serde_json::to_string(&set).unwrap();
        let read: HostSet = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read.into_ceiling(), set.into_ceiling());
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC{0,24}|[*a.:\\[\\]0-9xf/%@-]{0,24}") {
        if let Ok(pattern) = text.parse::<HostPattern>() {
            prop_assert_eq!(pattern.to_string().parse::<HostPattern>(), Ok(pattern));
        }
        if let Ok(target) = Target::from_authority(&text) {
            prop_assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
        }
        if let Ok(target) = Target::from_url(&format!("http://{text}")) {
            prop_assert_eq!(Target::from_authority(&target.to_string()), Ok(target));
        }
    }
}
