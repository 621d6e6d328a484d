//! What a change looks like, in the shapes that people write policies in.

use super::*;

fn personality(kind: ListKind, entry: &str) -> Edit {
    Edit::Add { owner: Owner::Personality, kind, entry: entry.into() }
}

fn tool(kind: ListKind, entry: &str) -> Edit {
    Edit::Add { owner: Owner::Tool("t".into()), kind, entry: entry.into() }
}

fn set(owner: Owner, way: &[&[&str]], setting: Setting) -> Edit {
    let way = way.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect()).collect();
    Edit::Set { owner, way, setting }
}

#[track_caller]
fn assert_becomes(old: &str, edit: &Edit, new: &str) {
    let mut draft = Draft::of(old, &Form::Toml).unwrap();
    draft.change(edit).unwrap();
    assert_eq!(draft.text().unwrap(), new);
}

/// The same for what is set apart in one way or another.
#[track_caller]
fn assert_means(old: &str, edit: &Edit, new: &str) {
    let mut draft = Draft::of(old, &Form::Toml).unwrap();
    draft.change(edit).unwrap();
    let read = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
    let text = draft.text().unwrap();
    assert_eq!(read(&text), read(new), "{text}");
}

#[test]
fn lists_grow_where_they_are() {
    #[rustfmt::skip]
    let cases = [
        (
            "[personality]\nnetwork = { allow = [\"a.test\"] } # why\n",
            personality(ListKind::Hosts, "b.test:443"),
            "[personality]\nnetwork = { allow = [\"a.test\", \"b.test:443\"] } # why\n",
        ),
        (
            "[personality]\nnetwork.allow = [\n    \"a.test\",\n    \"b.test\",\n]\n",
            personality(ListKind::Hosts, "c.test"),
            "[personality]\nnetwork.allow = [\n    \"a.test\",\n    \"b.test\",\n    \"c.test\",\n]\n",
        ),
        (
            "[personality]\nsecrets = [\"A\"]",
            personality(ListKind::Secrets, "B"),
            "[personality]\nsecrets = [\"A\", \"B\"]",
        ),
        (
            "[personality.fsReach]\nread = [\"/srv\"]\n",
            personality(ListKind::Read, "/etc/hosts"),
            "[personality.fsReach]\nread = [\"/srv\", \"/etc/hosts\"]\n",
        ),
        (
            "[personality.safety]\nnetwork = { allow = [\"a.test\"] }\n",
            personality(ListKind::Hosts, "b.test"),
            "[personality.safety]\nnetwork = { allow = [\"a.test\", \"b.test\"] }\n",
        ),
        (
            "[[tool]]\nname = \"s\"\n\n[[tool]]\nname = \"t\"\ncapabilities = { process = { allowedBinaries = [\"rg\"] } }\n",
            tool(ListKind::Binaries, "git"),
            "[[tool]]\nname = \"s\"\n\n[[tool]]\nname = \"t\"\ncapabilities = { process = { allowedBinaries = [\"rg\", \"git\"] } }\n",
        ),
    ];
    for (old, edit, new) in cases {
        assert_becomes(old, &edit, new);
    }
}

#[test]
fn what_is_missing_is_written() {
    #[rustfmt::skip]
    let cases = [
        (
            "[personality]\nid = \"x\"\n\n[[tool]]\nname = \"t\"\n",
            personality(ListKind::Hosts, "a.test"),
            "[personality]\nid = \"x\"\nnetwork = { allow = [\"a.test\"] }\n\n[[tool]]\nname = \"t\"\n",
        ),
        (
            "[personality]\nfs_reach = { read = [\"/srv\"] }\n",
            personality(ListKind::Write, "/srv/out"),
            "[personality]\nfs_reach = { read = [\"/srv\"], write = [\"/srv/out\"] }\n",
        ),
        (
            "[[tool]]\nname = \"t\"\ncapabilities = { process = { allow = [\"rg\"] } }\n",
            tool(ListKind::Secrets, "A"),
            "[[tool]]\nname = \"t\"\ncapabilities = { process = { allow = [\"rg\"] }, secrets = [\"A\"] }\n",
        ),
        (
            "[personality]\nsecrets = [ ]\n",
            personality(ListKind::Secrets, "A"),
            "[personality]\nsecrets = [\"A\"]\n",
        ),
        (
            "[[tool]]\nname = \"t\"\ncapabilities = {}\n",
            tool(ListKind::Hosts, "a.test"),
            "[[tool]]\nname = \"t\"\ncapabilities = { network = { allowedHosts = [\"a.test\"] } }\n",
        ),
        (
            "[[tool]]\nname = \"t\"\n",
            personality(ListKind::Environment, "LANG"),
            "[[tool]]\nname = \"t\"\n\n[personality]\nenvironment = { allow = [\"LANG\"] }\n",
        ),
    ];
    for (old, edit, new) in cases {
        assert_means(old, &edit, new);
    }
}

#[test]
fn fields_are_set_and_entries_taken_out() {
    let constraints: &[&[&str]] = &[&["constraints"], &["maxInvocations", "max_invocations"]];
    assert_becomes(
        "[[tool]]\nname = \"t\"\nconstraints = { max_invocations = 2 } # few\n",
        &set(Owner::Tool("t".into()), constraints, Setting::Number(3)),
        "[[tool]]\nname = \"t\"\nconstraints = { max_invocations = 3 } # few\n",
    );
    assert_becomes(
        "[personality]\napprovals = { financial = \"human\" }\n",
        &set(Owner::Personality, &[&["approvals"], &["write"]], Setting::Text("auto".into())),
        "[personality]\napprovals = { financial = \"human\", write = \"auto\" }\n",
    );
    assert_becomes(
        "[[tool]]\nname = \"t\"\n[tool.constraints]\nforbidden = true\n",
        &set(Owner::Tool("t".into()), &[&["constraints"], &["forbidden"]], Setting::Flag(false)),
        "[[tool]]\nname = \"t\"\n[tool.constraints]\nforbidden = false\n",
    );
    let way = vec![vec!["constraints".to_owned()], vec!["onlyAfter".to_owned()]];
    assert_becomes(
        "[[tool]]\nname = \"t\"\nconstraints = { onlyAfter = [\"a\", \"b\"] }\n",
        &Edit::Take { owner: Owner::Tool("t".into()), way, entry: "a".into() },
        "[[tool]]\nname = \"t\"\nconstraints = { onlyAfter = [\"b\"] }\n",
    );
}

#[test]
fn what_has_no_place_is_not_changed() {
    let mut draft = Draft::of(
        "[[tool]]\nname = \"t\"\ncapabilities = { fs_reach = { read = \"from-personality\" } }\n",
        &Form::Toml,
    )
    .unwrap();
    assert!(draft.change(&tool(ListKind::Read, "/srv")).is_none());
    assert!(
        draft
            .change(&Edit::Add { owner: Owner::Tool("x".into()), kind: ListKind::Read, entry: "/".into() })
            .is_none()
    );
    assert!(Draft::of("[", &Form::Toml).is_none());
    assert!(Draft::of("{}", &Form::OtherJson).is_none());
}

#[test]
fn json_is_changed_like_toml() {
    #[rustfmt::skip]
    let cases = [
        (
            r#"{"personality": {"network": {"allow": ["a.test"]}}}"#,
            personality(ListKind::Hosts, "b.test:443"),
            r#"{"personality": {"network": {"allow": ["a.test", "b.test:443"]}}}"#,
        ),
        (
            "{\n  \"personality\": {\n    \"secrets\": [\n      \"A\",\n      \"B\"\n    ]\n  }\n}\n",
            personality(ListKind::Secrets, "C"),
            "{\n  \"personality\": {\n    \"secrets\": [\n      \"A\",\n      \"B\",\n      \"C\"\n    ]\n  }\n}\n",
        ),
        (
            "{\n  \"personality\": {\n    \"id\": \"x\"\n  }\n}\n",
            personality(ListKind::Hosts, "a.test"),
            "{\n  \"personality\": {\n    \"id\": \"x\",\n    \"network\": { \"allow\": [\"a.test\"] }\n  }\n}\n",
        ),
        (
            r#"{"tool": [{"name": "t", "capabilities": {"fs_reach": {"read": ["/srv"]}}}]}"#,
            tool(ListKind::Write, "/srv/out"),
            r#"{"tool": [{"name": "t", "capabilities": {"fs_reach": {"read": ["/srv"], "write": ["/srv/out"]}}}]}"#,
        ),
        (
            r#"{"tool": []}"#,
            personality(ListKind::Environment, "LANG"),
            r#"{"tool": [], "personality": { "environment": { "allow": ["LANG"] } }}"#,
        ),
        (
            r#"{"personality": {"limits": {"wall": "1s"}}}"#,
            set(Owner::Personality, &[&["limits"], &["wall"]], Setting::Text("2s".into())),
            r#"{"personality": {"limits": {"wall": "2s"}}}"#,
        ),
    ];
    for (old, edit, new) in cases {
        let form = Form::Json(JsonAsToml::of(old).unwrap());
        let mut draft = Draft::of(old, &form).unwrap();
        draft.change(&edit).unwrap();
        assert_eq!(draft.text().as_deref(), Some(new));
    }
}
