//! The manifest, the policy page and what the machine enforces.

use std::cell::Cell;

use ringfence::sandbox::doctor::{Finding, State};
use ringfence_server::console::ReachRow;

use super::*;

#[test]
fn a_manifest_is_accepted_by_its_hash_alone() {
    let bench = Bench::new();
    let page = bench.desk.manifest().unwrap();
    assert_eq!(page.accepted, None);
    assert!(page.changes.iter().any(|change| change.code == "tool.added"), "{:?}", page.changes);
    bench.desk.accept_manifest(&page.current).unwrap();
    let page = bench.desk.manifest().unwrap();
    assert_eq!((page.accepted.as_deref(), page.changes.len()), (Some(page.current.as_str()), 0));
    assert!(page.file.ends_with("ringfence.lock.json"));
    // Wider, narrower and other at once: the worst is first.
    bench.edit(r#""api.weather.gov:443","#, "\"api.weather.gov:443\",\n    \"*.example.com\",");
    bench.edit("Search the workspace", "Search it");
    bench.edit(r#"environment = ["LANG"]"#, "");
    let wider = bench.desk.manifest().unwrap();
    let levels: Vec<&str> = wider.changes.iter().map(|change| change.level.as_str()).collect();
    let mut sorted = levels.clone();
    sorted.sort_by_key(|level| ["error", "warning", "note"].iter().position(|own| own == level));
    assert_eq!(levels, sorted);
    assert_eq!((levels[0], *levels.last().unwrap()), ("error", "note"));
    assert_eq!(wider.changes[0].code, "tool.network.widened");
    assert_eq!(
        (wider.changes[0].direction.as_str(), wider.changes[0].subject.as_str()),
        ("widened", "tool roam")
    );
    // It changes again between looking and accepting.
    bench.edit("*.example.com", "*.example.org");
    let before = std::fs::read_to_string(bench.path("ringfence.lock.json")).unwrap();
    let error = bench.desk.accept_manifest(&wider.current).unwrap_err();
    assert!(matches!(error, DeskError::Changed(_)), "{error:?}");
    let error = bench.desk.accept_manifest("abc").unwrap_err();
    assert!(matches!(error, DeskError::Input { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(bench.path("ringfence.lock.json")).unwrap(), before);
    bench.desk.accept_manifest(&bench.desk.manifest().unwrap().current).unwrap();
    assert!(bench.desk.manifest().unwrap().changes.is_empty());
}

#[test]
fn an_edited_manifest_is_told_and_can_be_written_anew() {
    let bench = Bench::new();
    bench.desk.accept_manifest(&bench.desk.manifest().unwrap().current).unwrap();
    let path = bench.path("ringfence.lock.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("api.github.com", "api.evil.com")).unwrap();
    let page = bench.desk.manifest().unwrap();
    assert_eq!((page.accepted, page.changes[0].code.as_str()), (None, "manifest.hash.mismatch"));
    // Whatever else is asked is not answered from it.
    assert!(matches!(bench.desk.definitions(), Err(DeskError::Files { .. })));
    bench.desk.accept_manifest(&page.current).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    std::fs::write(&path, "{").unwrap();
    assert!(matches!(bench.desk.manifest(), Err(DeskError::Files { .. })));
}

#[test]
fn the_policy_page_says_what_is_in_force() {
    let bench = Bench::new();
    bench.sends(&[tool("status", "Show")]);
    let page = bench.desk.policy().unwrap();
    assert_eq!((page.text.as_str(), page.personality.as_deref()), (POLICY, Some("researcher")));
    assert_eq!(page.tools, ["fetch", "grep", "save", "roam", "git__status"]);
    let rules: Vec<String> =
        page.approvals.iter().map(|rule| format!("{} {}", rule.class, rule.decision)).collect();
    let wanted = [
        "read allow",
        "write ask",
        "network allow",
        "financial ask",
        "privileged ask-two",
        "tool grep ask-two",
    ];
    assert_eq!(rules, wanted);
    let row = |surface: &str| page.ceiling.iter().find(|row| row.surface == surface).unwrap().granted.clone();
    assert_eq!(row("network"), ["*.github.com", "api.weather.gov:443"]);
    assert_eq!(row("write"), [bench.path("out").display().to_string()]);
    assert_eq!((row("process"), row("environment").len()), (vec!["rg".to_owned()], 1));
}

#[test]
fn a_grant_is_what_is_declared_and_permitted() {
    let bench = Bench::new();
    bench.sends(&[tool("status", "Show")]);
    let row = |surface: &str, granted: &[&str]| ReachRow {
        surface: surface.to_owned(),
        granted: granted.iter().map(ToString::to_string).collect(),
        refused: Vec::new(),
    };
    let workspace = bench.folder.path().display().to_string();
    #[rustfmt::skip]
    let cases = [
        ("fetch",       Some(vec![row("network", &["api.github.com", "api.weather.gov:443"]), row("secrets", &["WEATHER"])])),
        ("grep",        Some(vec![row("read", &["/usr/share", &workspace]), row("process", &["rg"]), row("environment", &["LANG"])])),
        ("git__status", Some(vec![row("network", &["api.github.com"])])),
        ("git__nobody", None),
        ("nobody",      None),
        ("hg__status",  None),
    ];
    for (tool, wanted) in cases {
        let mut found = bench.desk.grant(tool).unwrap();
        if let Some(read) = found.iter_mut().flatten().find(|row| row.surface == "read") {
            read.granted.sort_by_key(String::len);
        }
        let wanted = wanted.map(|mut rows| {
            rows.iter_mut()
                .filter(|row| row.surface == "read")
                .for_each(|row| row.granted.sort_by_key(String::len));
            rows
        });
        assert_eq!(found, wanted, "{tool}");
    }
}

#[test]
fn what_is_declared_and_not_permitted_is_refused() {
    let declared: ringfence::Capabilities = serde_json::from_value(json!({
        "network": {"allowedHosts": ["api.github.com", "api.evil.com"]},
        "fs_reach": {"read": ["/srv/data", "/etc"], "write": ["/srv"]},
        "secrets": ["A", "B"], "process": {"allowedBinaries": ["*"]}, "environment": ["LANG", "HOME"],
    }))
    .unwrap();
    let personality: ringfence::Personality = serde_json::from_value(json!({
        "network": {"allow": ["*.github.com"], "on_unknown": "ask"},
        "fs_reach": {"read": ["/srv"], "write": ["/srv/out"]},
        "secrets": ["B"], "process": {"allow": []}, "environment": ["LANG"],
    }))
    .unwrap();
    let rows = super::super::grant::rows(&declared, &personality, "t").unwrap();
    let told: Vec<String> = rows
        .iter()
        .map(|row| format!("{}: {} | {}", row.surface, row.granted.join(", "), row.refused.join(", ")))
        .collect();
    let wanted = [
        "network: api.github.com, any other host after asking a person | api.evil.com",
        "read: /srv/data | /etc",
        "write: /srv/out | /srv",
        "secrets: B | A",
        "process:  | *",
        "environment: LANG | HOME",
    ];
    assert_eq!(told, wanted);
}

#[test]
fn the_machine_is_tried_once_a_minute() {
    let doctor = Doctor::default();
    let tries = Cell::new(0);
    let look = || {
        tries.set(tries.get() + 1);
        vec![Finding { subject: "landlock", state: State::Partly, detail: "version 1".into(), fix: None }]
    };
    for _ in 0..3 {
        let found = doctor.of(look);
        assert_eq!((found[0].subject.as_str(), found[0].state.as_str()), ("landlock", "partly"));
    }
    assert_eq!(tries.get(), 1);
}
