//! Whole grants, limits and name sets: nobody gets more than both sides say, and readers never panic.

use proptest::prelude::*;
use ringfence_policy::{
    BinarySet, Capabilities, Grant, JsonLimits, Limits, NamePattern, NoFiles, Personality, Places, Reach,
    SecretSet, Size, Span, Toolbox, VariableSet, parse_json, resolve_capabilities,
};
use serde_json::{Value, json};

fn some<T: Clone + std::fmt::Debug + 'static>(
    from: &[T],
    most: usize,
) -> impl Strategy<Value = Vec<T>> + use<T> {
    prop::collection::vec(prop::sample::select(from.to_vec()), 0..=most)
}

const HOSTS: &[&str] =
    &["a.io", "b.a.io", "*.a.io", "c.b.a.io", "*.b.a.io", "x.com:443", "x.com", "10.0.0.1", "*"];
const PATHS: &[&str] = &["/a", "/a/b", "/a/*", "/a/*/c", "/a/**/c", "/b", "/", "/a/?"];
const SECRETS: &[&str] = &["A", "B", "p/*", "p/a", "p/q/*", "p/q/a", "q/*"];
const BINARIES: &[&str] = &["git", "rg", "/usr/bin/git", "*"];
const VARIABLES: &[&str] = &["LANG", "HOME", "TZ"];

fn capabilities() -> impl Strategy<Value = Value> {
    let paths = || {
        prop_oneof![
            1 => Just(json!("from-personality")),
            3 => some(PATHS, 3).prop_map(|paths| json!(paths)),
        ]
    };
    let fs = (prop::option::of(paths()), prop::option::of(paths())).prop_map(|(read, write)| {
        let mut reach = serde_json::Map::new();
        reach.extend(read.map(|read| ("read".to_owned(), read)));
        reach.extend(write.map(|write| ("write".to_owned(), write)));
        Value::Object(reach)
    });
    (
        prop::option::of(some(HOSTS, 3).prop_map(|hosts| json!({"allowedHosts": hosts}))),
        prop::option::of(some(SECRETS, 3).prop_map(|refs| json!(refs))),
        prop::option::of(fs),
        prop::option::of(some(BINARIES, 3).prop_map(|names| json!({"allowedBinaries": names}))),
        prop::option::of(some(VARIABLES, 2).prop_map(|names| json!(names))),
    )
        .prop_map(|(network, secrets, fs, process, environment)| {
            let surfaces = [
                ("network", network),
                ("secrets", secrets),
                ("fs_reach", fs),
                ("process", process),
                ("environment", environment),
            ];
            let declared = surfaces.into_iter().filter_map(|(name, shape)| Some((name.to_owned(), shape?)));
            Value::Object(declared.collect())
        })
}

fn personality() -> impl Strategy<Value = Value> {
    (
        some(HOSTS, 3),
        (some(PATHS, 3), some(PATHS, 3)),
        prop::option::of(some(SECRETS, 3)),
        prop::option::of(some(BINARIES, 3)),
        prop::option::of(some(VARIABLES, 2)),
    )
        .prop_map(|(hosts, (read, write), secrets, process, environment)| {
            let mut document =
                json!({"network": {"allow": hosts}, "fs_reach": {"read": read, "write": write}});
            let names = [("secrets", secrets), ("process", process), ("environment", environment)];
            for (name, list) in names {
                if let Some(list) = list {
                    document[name] = json!(list);
                }
            }
            document
        })
}

fn reach() -> impl Strategy<Value = Reach> {
    let text = |from: &'static [&'static str]| prop::sample::select(from).prop_map(str::to_owned);
    let host = || {
        text(&["a.io", "b.a.io", "c.b.a.io", "d.c.b.a.io", "x.com", "8.8.8.8", "10.0.0.1", "[::1]", "y.org"])
    };
    let path = || {
        text(&["/", "/a", "/a/b", "/a/b/c", "/a/x/y/c", "/b", "/b/c", "/c", "/a/.ssh/x"]).prop_map(Into::into)
    };
    let port = || prop::sample::select(vec![80_u16, 443, 8080]);
    prop_oneof![
        host().prop_map(|host| Reach::Url(format!("https://{host}/x"))),
        (host(), port()).prop_map(|(host, port)| Reach::Connect(format!("{host}:{port}"))),
        path().prop_map(Reach::Read),
        path().prop_map(Reach::Write),
        path().prop_map(Reach::List),
        path().prop_map(Reach::Exists),
        text(&["A", "B", "p", "p/a", "p/b", "p/q/a", "p/q/r", "q/a", "p/*", "z"]).prop_map(Reach::Secret),
        text(&["git", "rg", "rm", "/usr/bin/git", "*"]).prop_map(Reach::Binary),
        text(&["LANG", "HOME", "TZ", "PATH"]).prop_map(Reach::Env),
    ]
}

fn read<T: serde::de::DeserializeOwned>(document: &Value) -> T {
    serde_json::from_value(document.clone()).unwrap()
}

/// What a declaration admits by itself: its grant under an operator who permits everything it could ask.
fn declared_alone(capabilities: &Capabilities) -> Grant {
    let everything = json!({
        "network": {"allow": ["*", "10.0.0.1", "8.8.8.8"], "private": ["0.0.0.0/0", "::/0"]},
        "fs_reach": {"read": ["/", "/a/.ssh/x"], "write": ["/", "/a/.ssh/x"]},
        "process": ["*"],
    });
    resolve_capabilities(capabilities, &read(&everything)).unwrap()
}

/// What a personality permits to a tool that asks for everything.
fn permitted_alone(personality: &Personality, reach: &Reach) -> bool {
    let unnamed = match reach {
        Reach::Secret(_) => personality.secrets.is_none(),
        Reach::Binary(_) => personality.process.is_none(),
        Reach::Env(_) => personality.environment.is_none(),
        _ => false,
    };
    unnamed || Grant::ceiling(personality).unwrap().judge(reach).is_ok()
}

fn names(from: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    some(from, 4)
}

fn limits() -> impl Strategy<Value = Limits> {
    let span = || prop::option::of((1_u64..5).prop_map(|s| Span::new(std::time::Duration::from_secs(s))));
    let size = || prop::option::of((0_u64..5).prop_map(Size::new));
    let count = || prop::option::of(0_u32..5);
    let process = ((span(), span(), size(), count()), (count(), size(), size(), size()));
    let network = (count(), size(), size(), span(), span(), count(), count());
    (process, network).prop_map(|((one, other), network)| {
        let (wall, cpu, memory, processes) = one;
        let (open_files, file_size, output, scratch) = other;
        let (connections, sent, received, idle, connection_time, requests_per_minute, names_per_minute) =
            network;
        Limits {
            wall,
            cpu,
            memory,
            processes,
            open_files,
            file_size,
            output,
            scratch,
            connections,
            sent,
            received,
            idle,
            connection_time,
            requests_per_minute,
            names_per_minute,
        }
    })
}

/// Any JSON value that is not too large.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    #[test]
    fn a_grant_exceeds_neither_side(declared in capabilities(), role in personality(), reach in reach()) {
        let (declared, role): (Capabilities, Personality) = (read(&declared), read(&role));
        let grant = resolve_capabilities(&declared, &role).unwrap();
        if grant.judge(&reach).is_ok() {
            prop_assert!(permitted_alone(&role, &reach), "{reach:?} is not permitted by {role:?}");
            // `*` and `from-personality` defer to the personality, so only what is written out is held against it.
            prop_assert!(declared_alone(&declared).judge(&reach).is_ok(), "{reach:?} is not in {declared:?}");
        }
    }

    #[test]
    fn an_undeclared_surface_is_closed(role in personality(), reach in reach()) {
        let grant = resolve_capabilities(&Capabilities::default(), &read(&role)).unwrap();
        prop_assert!(grant.judge(&reach).is_err());
    }

    #[test]
    fn a_wider_personality_never_takes_away(
        declared in capabilities(), role in personality(), more in personality(), reach in reach(),
    ) {
        let both = |one: &Value, other: &Value| {
            let mut list = one.as_array().cloned().unwrap_or_default();
            list.extend(other.as_array().cloned().unwrap_or_default());
            list
        };
        let mut wide = role.clone();
        wide["network"]["allow"] = both(&role["network"]["allow"], &more["network"]["allow"]).into();
        for side in ["read", "write"] {
            wide["fs_reach"][side] = both(&role["fs_reach"][side], &more["fs_reach"][side]).into();
        }
        for names in ["secrets", "process", "environment"] {
            if role.get(names).is_some() {
                wide[names] = both(&role[names], &more[names]).into();
            }
        }
        let declared: Capabilities = read(&declared);
        let narrow = resolve_capabilities(&declared, &read(&role)).unwrap();
        if narrow.judge(&reach).is_ok() {
            prop_assert!(resolve_capabilities(&declared, &read(&wide)).unwrap().judge(&reach).is_ok());
        }
    }

    #[test]
    fn name_sets_form_a_lattice(
        a in names(SECRETS), b in names(SECRETS), c in names(SECRETS),
        asked in prop::sample::select(vec!["A", "B", "p", "p/a", "p/b", "p/q", "p/q/a", "p/q/r/s", "q/a", "z"]),
    ) {
        let [a, b, c] = [a, b, c].map(|names| SecretSet::new(names).unwrap());
        let same = |one: &SecretSet, other: &SecretSet| {
            one.iter().all(|pattern| other.covers(pattern)) && other.iter().all(|pattern| one.covers(pattern))
        };
        prop_assert!(same(&a.meet(&b), &b.meet(&a)));
        prop_assert!(same(&a.meet(&b).meet(&c), &a.meet(&b.meet(&c))));
        prop_assert!(same(&a.meet(&a), &a));
        prop_assert_eq!(a.meet(&b).admits(asked), a.admits(asked) && b.admits(asked));
        for pattern in a.meet(&b).iter() {
            prop_assert!(a.covers(pattern) && b.covers(pattern));
        }
    }

    #[test]
    fn binaries_and_variables_meet_alike(
        a in names(BINARIES), b in names(BINARIES), v in names(VARIABLES), w in names(VARIABLES),
        asked in prop::sample::select(vec!["git", "rg", "rm", "/usr/bin/git", "*", "LANG", "TZ"]),
    ) {
        let [a, b] = [a, b].map(|names| BinarySet::new(names).unwrap());
        prop_assert_eq!(a.meet(&b).admits(asked), a.admits(asked) && b.admits(asked));
        prop_assert!(!a.without_any().iter().any(|pattern| *pattern == NamePattern::Any));
        let [v, w] = [v, w].map(|names| VariableSet::new(names).unwrap());
        prop_assert_eq!(v.meet(&w).admits(asked), v.admits(asked) && w.admits(asked));
    }

    #[test]
    fn limits_form_a_lattice(a in limits(), b in limits(), c in limits()) {
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(a.meet(&a), a);
        prop_assert_eq!(a.meet(&Limits::default()), a);
        prop_assert_eq!(serde_json::from_str::<Limits>(&serde_json::to_string(&a).unwrap()).unwrap(), a);
    }

    #[test]
    fn what_was_written_is_read_back(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(&parse_json(&text, JsonLimits::ARGUMENTS).unwrap(), &value);
        }
        prop_assert!(JsonLimits::ARGUMENTS.check(&value).is_ok());
    }

    #[test]
    fn what_is_accepted_reads_like_serde_json(text in "[\\[\\]{}\",:0-9eE.+\\- \n\tatrufalsn\\\\xd]{0,24}|\\PC{0,24}") {
        if let Ok(ours) = parse_json(&text, JsonLimits::ARGUMENTS) {
            prop_assert_eq!(ours, serde_json::from_str::<Value>(&text).unwrap(), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_the_readers_panic(
        text in any::<String>(), broken in "(\\[\\[?(personality|tool)\\]?\\]\n|(name|tools|id) = |[\"{}\\[\\]=,.#\n a-z0-9é]){0,40}",
        cut in 0_usize..600,
    ) {
        const GOOD: &str = "[personality]\nid = \"é\"\nnetwork = { allow = [\"*.a.io\"] }\n[[tool]]\nname = \"t\"\n\
            command = [\"rg\", \"{x}\"]\ninput = { properties = { x = { type = \"string\" } } }\noutput = true\n\
            capabilities = { process = { allowedBinaries = [\"rg\"] }, secrets = [\"A\"] }\n";
        let head: String = GOOD.chars().take(cut).collect();
        for text in [&text, &broken, &head, &format!("{head}{broken}"), &format!("{broken}{head}")] {
            let _ = parse_json(text, JsonLimits::ARGUMENTS);
            if let Some(places) = Places::read(text) {
                let _ = (places.tool("t", "network"), places.personality("network.allow"));
            }
            for read in [Toolbox::from_toml(text), Toolbox::from_json(text)] {
                match read {
                    Ok(toolbox) => drop(toolbox.declarations(&Default::default(), NoFiles)),
                    Err(error) => prop_assert!(!error.message.contains('\n'), "{:?}", error),
                }
            }
        }
    }
}
