//! The comparison of manifests against brute force: everything of a small universe is tried with both grants.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::subsequence;
use ringfence_policy::manifest::diff::{Drift, Subject, diff};
use ringfence_policy::manifest::{DefaultLimits, Manifest, Outside, Sources};
use ringfence_policy::{
    Capabilities, Decision, Declaration, Direction, Grant, NoFiles, OnUnknown, Personality, Reach, Target,
    Toolbox, resolve_capabilities,
};
use serde_json::{Value, json};

const HOSTS: [&str; 12] = [
    "*",
    "*.x.test",
    "*.a.x.test",
    "a.x.test",
    "b.x.test",
    "x.test",
    "10.0.0.1",
    "93.184.216.34",
    "*:443",
    "*.x.test:443",
    "a.x.test:443",
    "10.0.0.1:80",
];
const PRIVATE: [&str; 5] = ["10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9", "a.x.test", "*.x.test"];
const NAMES: [&str; 7] =
    ["a.x.test", "b.x.test", "x.test", "c.a.x.test", "d.c.a.x.test", "y.test", "localhost"];
const ADDRESSES: [&str; 5] = ["10.0.0.1", "10.200.0.1", "192.168.0.1", "93.184.216.34", "1.1.1.1"];
const PORTS: [u16; 3] = [80, 443, 8443];
const COMPONENTS: [&str; 11] = ["a", "b", "ab", "a*", "*b", "*", "?", "a?", "**", ".ssh", "b"];
/// A name may be any bytes, and `?` takes those that continue a character too.
const FILES: [&[u8]; 15] = [
    b"a", b"b", b"c", b"ab", b".ssh", b"ac", b"cb", b"bb", b"cc", b"acc", b"ccb", b"acb", b"a\x80", b"b\x80",
    b"ab\x80",
];
const SECRETS: [&str; 5] = ["k", "p/*", "p/a", "p/a/*", "q"];
const BINARIES: [&str; 4] = ["*", "git", "rg", "/bin/rg"];
const VARIABLES: [&str; 2] = ["LANG", "TZ"];
const CLASSES: [&str; 5] = ["read", "write", "network", "financial", "privileged"];

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    subsequence(of.to_vec(), 0..=of.len().min(4))
        .prop_map(|list| list.into_iter().map(str::to_owned).collect())
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    let one = prop::collection::vec(prop::sample::select(COMPONENTS.to_vec()), 0..3)
        .prop_map(|components| format!("/{}", components.join("/")));
    prop::collection::vec(one, 0..3)
}

/// Who a tool is, and what its personality permits.
fn toolbox() -> impl Strategy<Value = Value> {
    let names = (some(&SECRETS), some(&BINARIES), some(&VARIABLES));
    let ceiling = (some(&HOSTS), some(&PRIVATE), paths(), paths(), prop::option::of(names), any::<bool>());
    let reach = || prop_oneof![1 => Just(None), 2 => paths().prop_map(Some)];
    let tool = (some(&HOSTS), reach(), reach(), (some(&SECRETS), some(&BINARIES), some(&VARIABLES)));
    let wall = || prop::option::of(prop::sample::select(vec!["5s", "10s"]));
    let route = || prop::option::of(prop::sample::select(vec!["auto", "human", "dual", "deny"]));
    let rules = (wall(), wall(), route(), route(), prop::option::of(1..3_u32), 2..5_usize);
    (ceiling, tool, rules).prop_map(|(ceiling, tool, rules)| {
        let (allow, private, read, write, names, is_asked) = ceiling;
        let on_unknown = if is_asked && private.len() == 2 { "ask" } else { "refuse" };
        let (own_wall, wall, by_class, by_tool, calls, class) = rules;
        let class = CLASSES[class];
        let mut personality = json!({
            "network": {"allow": allow, "private": private, "on_unknown": on_unknown},
            "fs_reach": {"read": read, "write": write},
            "limits": {},
            "approvals": {"tools": {}},
        });
        if let Some((secrets, process, environment)) = names {
            personality["secrets"] = json!(secrets);
            personality["process"] = json!(process);
            personality["environment"] = json!(environment);
        }
        if let Some(wall) = wall {
            personality["limits"]["wall"] = wall.into();
        }
        if let Some(route) = by_class {
            personality["approvals"][class] = route.into();
        }
        if let Some(route) = by_tool {
            personality["approvals"]["tools"]["t"] = route.into();
        }
        let (hosts, read, write, (secrets, process, environment)) = tool;
        let side = |reach: Option<Vec<String>>| reach.map_or(json!("from-personality"), |list| json!(list));
        let mut tool = json!({
            "name": "t", "command": ["x"], "input": {}, "output": {}, "class": class,
            "capabilities": {
                "network": {"allow": hosts}, "fs_reach": {"read": side(read), "write": side(write)},
                "secrets": secrets, "process": {"allow": process}, "environment": environment,
            },
            "limits": {}, "constraints": {},
        });
        if let Some(wall) = own_wall {
            tool["limits"]["wall"] = wall.into();
        }
        if let Some(calls) = calls {
            tool["constraints"]["maxInvocations"] = calls.into();
        }
        json!({"personality": personality, "tool": [tool]})
    })
}

struct Case {
    manifest: Manifest,
    personality: Personality,
    tool: Declaration,
    /// What the tool is granted, and what the personality permits.
    admitted: [Admitted; 2],
}

type Admitted = BTreeMap<&'static str, BTreeSet<String>>;

fn case(toolbox: &Value) -> Case {
    let toolbox = Toolbox::from_json(&toolbox.to_string()).unwrap();
    let (tools, gaps) = toolbox.written_declarations(NoFiles);
    assert!(gaps.is_empty(), "{gaps:?}");
    let personality = toolbox.personality.unwrap();
    let none = BTreeMap::new();
    let manifest = Manifest::new(&Sources {
        personality: &personality,
        tools: &tools,
        servers: &[],
        binaries: &none,
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: Outside::default(),
    })
    .unwrap();
    let read = Manifest::from_json(&manifest.to_json().unwrap()).unwrap();
    assert_eq!(read, manifest, "what is written is what is read");
    let tool = tools.into_iter().next().unwrap();
    let own: &Capabilities = tool.capabilities.as_ref().unwrap();
    let granted = admitted(&resolve_capabilities(own, &personality).unwrap());
    let permitted = admitted(&Grant::ceiling(&personality).unwrap());
    Case { manifest, personality, tool, admitted: [granted, permitted] }
}

/// What of the universe a grant admits, by surface.
fn admitted(grant: &Grant) -> Admitted {
    let mut all = Admitted::new();
    let network = grant.network.clone().unwrap_or_default();
    for port in PORTS {
        for host in NAMES.iter().chain(&ADDRESSES) {
            let target = Target::from_url(&format!("http://{host}:{port}/")).unwrap();
            if network.judge(&target).is_err() {
                continue;
            }
            all.entry("network").or_default().insert(target.to_string());
            for address in ADDRESSES {
                let address: IpAddr = address.parse().unwrap();
                if NAMES.contains(host) && network.judge_address(&target, address).is_ok() {
                    all.entry("network").or_default().insert(format!("{target} at {address}"));
                }
            }
        }
    }
    let fs = grant.fs.clone().unwrap_or_default();
    for path in universe() {
        for (direction, surface) in
            [(Direction::Read, "filesystem.read"), (Direction::Write, "filesystem.write")]
        {
            if fs.judge(path, direction).is_ok() {
                all.entry(surface).or_default().insert(format!("{path:?}"));
            }
        }
    }
    let mut names = |surface, names: &[&str], reach: &dyn Fn(&str) -> Reach| {
        let admits = names.iter().filter(|name| grant.judge(&reach(name)).is_ok());
        all.entry(surface).or_default().extend(admits.map(|name| (*name).to_owned()));
    };
    names("secrets", &["k", "p/a", "p/b", "p/a/c", "q", "z"], &|name| Reach::Secret(name.into()));
    names("exec", &["git", "rg", "/bin/rg", "sh"], &|name| Reach::Binary(name.into()));
    names("environment", &["LANG", "TZ", "HOME"], &|name| Reach::Env(name.into()));
    all
}

fn universe() -> &'static [PathBuf] {
    static ALL: std::sync::OnceLock<Vec<PathBuf>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let mut layer = vec![PathBuf::from("/")];
        let mut all = layer.clone();
        // Patterns have two names at most, so that below them a few are enough.
        for names in [&FILES[..], &FILES[..], &FILES[..4]] {
            let below = |parent: &PathBuf| {
                names.iter().map(|name| parent.join(OsStr::from_bytes(name))).collect::<Vec<_>>()
            };
            layer = layer.iter().flat_map(below).collect();
            all.extend(layer.iter().cloned());
        }
        all
    })
}

/// What widens, by brute force.
fn oracle(old: &Case, new: &Case) -> BTreeSet<String> {
    let mut wider = BTreeSet::new();
    let [tool, ceiling] = [0, 1].map(|side| (&old.admitted[side], &new.admitted[side]));
    let sides = [("tool", tool.0, tool.1), ("personality", ceiling.0, ceiling.1)];
    for (subject, before, now) in sides {
        let none = BTreeSet::new();
        for (surface, admitted) in now {
            if !admitted.is_subset(before.get(surface).unwrap_or(&none)) {
                wider.insert(format!("{subject}.{surface}.widened"));
            }
        }
    }
    let asks = |case: &Case| case.personality.network.on_unknown() == OnUnknown::Ask;
    if asks(new) && !asks(old) {
        wider.insert("tool.network.widened".into());
        wider.insert("personality.network.widened".into());
    }
    let wall = |case: &Case| {
        let met = case.tool.limits.meet(&case.personality.limits);
        met.wall.map_or(u128::MAX, |span| span.duration().as_millis())
    };
    if wall(new) > wall(old) {
        wider.insert("tool.limits.raised".into());
    }
    let calls = |case: &Case| case.tool.constraints.max_invocations.map_or(u64::MAX, u64::from);
    if calls(new) > calls(old) {
        wider.insert("tool.constraint.relaxed".into());
    }
    let decision = |case: &Case| -> Decision {
        let capabilities = case.tool.capabilities.clone().unwrap_or_default();
        case.personality.approvals.decision_with(case.tool.class(), &capabilities, &case.tool.name)
    };
    if decision(new) < decision(old) {
        wider.insert("tool.approval.weakened".into());
    }
    if new.tool.class() < old.tool.class() {
        wider.insert("tool.class.lowered".into());
    }
    wider
}

/// The codes that the oracle knows about.
fn widened(old: &Case, new: &Case) -> BTreeSet<String> {
    let known = |code: &str| {
        code.starts_with("tool.")
            || ["network", "filesystem.read", "filesystem.write"]
                .iter()
                .any(|surface| code == format!("personality.{surface}.widened"))
    };
    let changes = diff(&old.manifest, &new.manifest);
    let changes = changes.iter().filter(|change| change.direction == Drift::Widened);
    changes.map(|change| change.code.to_string()).filter(|code| known(code)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_brute_force(old in toolbox(), new in toolbox(), keeps in any::<[bool; 2]>()) {
        let mut new = new;
        // Two strangers differ in everything: mostly one side is kept.
        if keeps[0] {
            new["personality"] = old["personality"].clone();
        }
        if keeps[1] {
            new["tool"] = old["tool"].clone();
        }
        // What cannot be reached because of the floor, or twice over, is told all the same; never less is told.
        let holds = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
        let has_floor = format!("{old}{new}").contains(".ssh");
        let has_private = [&old, &new].iter().any(|one| holds(&one["personality"]["network"]["private"]));
        let (old, new) = (case(&old), case(&new));
        prop_assert!(diff(&old.manifest, &old.manifest).is_empty());
        for (before, now) in [(&old, &new), (&new, &old)] {
            let (mut told, mut wanted) = (widened(before, now), oracle(before, now));
            told.retain(|code| {
                let is_more = (has_floor && code.contains("filesystem")) || (has_private && code.contains("network"));
                !is_more || wanted.contains(code)
            });
            // What only a personality without lists leaves to the tools is not in its ceiling.
            wanted.retain(|code| !code.starts_with("personality.")
                || code.contains("network") || code.contains("filesystem"));
            prop_assert_eq!(told, wanted);
        }
    }
}

#[test]
fn widening_is_transitive() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut tried = 0;
    for _ in 0..12 {
        let mut made = || toolbox().new_tree(&mut runner).unwrap().current();
        let mut pool: Vec<Value> = vec![made(), made()];
        // Narrower and narrower ones, so that many pairs are comparable.
        for index in 0..6 {
            let mut next = pool[index].clone();
            let surface = ["network", "secrets", "environment", "process", "fs_reach"][index % 5];
            if index % 2 == 0 {
                next["tool"][0]["capabilities"].as_object_mut().unwrap().remove(surface);
            } else {
                next["personality"]["fs_reach"]["read"] = json!(["/a/b"]);
                next["personality"]["network"]["private"] = json!([]);
            }
            pool.push(next);
        }
        let pool: Vec<Case> = pool.iter().map(case).collect();
        let is_wider = |old: &Case, new: &Case| {
            diff(&old.manifest, &new.manifest)
                .iter()
                .any(|change| change.direction == Drift::Widened && change.subject != Subject::Manifest)
        };
        for one in &pool {
            for other in pool.iter().filter(|other| !is_wider(one, other)) {
                for third in pool.iter().filter(|third| !is_wider(other, third)) {
                    assert!(!is_wider(one, third), "what two steps do not widen, one step does not");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "only {tried} chains were comparable");
}
