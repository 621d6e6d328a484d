//! What is granted works, and nothing else does: files, links, floors, names and the environment.

use std::fs;

use serde_json::json;

use crate::runtime::kind::Kind;
use crate::runtime::stage::{CANARY, Came, Stage};

#[test]
fn what_is_granted_works_and_leaves_its_mark() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "");
        let name = kind.name();
        assert_eq!(stage.on("read", "in/known.txt"), Came::Did(json!("known")), "{name}");
        assert_eq!(stage.on("read", "in/deep/known.txt"), Came::Did(json!("deep")), "{name}");
        let listed = stage.on("list", "in");
        assert!(listed.did() && listed.text().contains("known.txt"), "{name}: {listed:?}");
        assert!(stage.on("write", "out/new.txt").did(), "{name}: {:?}", stage.on("write", "out/new.txt"));
        assert_eq!(fs::read_to_string(stage.path("out/new.txt")).unwrap(), "changed", "{name}");
        assert!(stage.on("append", "out/old.txt").did(), "{name}");
        assert_eq!(fs::read_to_string(stage.path("out/old.txt")).unwrap(), "oldchanged", "{name}");
        assert!(stage.on("remove", "out/new.txt").did(), "{name}");
        assert!(!stage.path("out/new.txt").exists(), "{name}");
        assert!(stage.on("make_folder", "out/a/b").did() && stage.path("out/a/b").is_dir(), "{name}");
    }
}

#[test]
fn what_is_not_granted_is_neither_read_nor_changed() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "");
        let inside = stage.path("in").display().to_string();
        #[rustfmt::skip]
        let acts = [
            json!({"act": "read",       "path": stage.path("outside/secret.txt")}),
            json!({"act": "read",       "path": format!("{inside}/../outside/secret.txt")}),
            json!({"act": "read",       "path": format!("{inside}/link.txt")}),
            json!({"act": "read",       "path": format!("{inside}/folder/secret.txt")}),
            json!({"act": "read",       "path": format!("{inside}/./deep/../../outside/secret.txt")}),
            json!({"act": "read",       "path": format!("/proc/self/root{}", stage.path("outside/secret.txt").display())}),
            json!({"act": "read",       "path": format!("/proc/self/cwd/../../..{}", stage.path("outside/secret.txt").display())}),
            json!({"act": "read",       "path": "/etc/shadow"}),
            json!({"act": "read",       "path": format!("{inside}/.ssh/id_ed25519")}),
            json!({"act": "list",       "path": stage.path("outside")}),
            json!({"act": "list",       "path": format!("{inside}/folder/")}),
            json!({"act": "write",      "path": stage.path("in/known.txt"), "text": "changed"}),
            json!({"act": "write",      "path": stage.path("in/new.txt"), "text": "changed"}),
            json!({"act": "write",      "path": stage.path("outside/secret.txt"), "text": "changed"}),
            json!({"act": "write",      "path": stage.path("out/link.txt"), "text": "changed"}),
            json!({"act": "append",     "path": stage.path("in/known.txt"), "text": "changed"}),
            json!({"act": "set_length", "path": stage.path("in/known.txt"), "bytes": 0}),
            json!({"act": "remove",     "path": stage.path("in/known.txt")}),
            json!({"act": "rename",     "path": stage.path("in/known.txt"), "to": stage.path("out/known.txt")}),
            json!({"act": "rename",     "path": stage.path("out/old.txt"), "to": stage.path("outside/old.txt")}),
            json!({"act": "rename",     "path": stage.path("out/old.txt"), "to": stage.path("in/known.txt")}),
            json!({"act": "hard_link",  "path": stage.path("in/known.txt"), "to": stage.path("out/known.txt")}),
            json!({"act": "hard_link",  "path": stage.path("outside/secret.txt"), "to": stage.path("out/secret.txt")}),
            json!({"act": "copy",       "path": stage.path("outside/secret.txt"), "to": stage.path("out/secret.txt")}),
            json!({"act": "remove_folder", "path": stage.path("in/deep")}),
            json!({"act": "write",      "path": stage.path("out/.git/hooks/pre-commit"), "text": "changed"}),
            json!({"act": "remove",     "path": stage.path("out/.git/hooks/pre-commit")}),
            json!({"act": "make_folder", "path": stage.path("outside/new")}),
        ];
        for act in acts {
            let came = stage.act(act.clone());
            assert!(!came.did(), "{}: {act}: {came:?}", kind.name());
            assert!(!came.text().contains(CANARY), "{}: {act}: {came:?}", kind.name());
        }
        let kept = |name: &str| fs::read_to_string(stage.path(name)).unwrap();
        assert_eq!((kept("in/known.txt").as_str(), kept("in/deep/known.txt").as_str()), ("known", "deep"));
        assert_eq!((kept("outside/secret.txt").as_str(), kept("out/old.txt").as_str()), (CANARY, "old"));
        assert_eq!(kept("out/.git/hooks/pre-commit"), "hook", "{}", kind.name());
        assert!(!stage.path("outside/new").exists() && !stage.path("in/new.txt").exists());
    }
}

#[test]
fn a_link_that_it_makes_itself_leads_nowhere_else() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "");
        // One of its own, made by the probe where the runtime lets it.
        let made = stage.act(
            json!({"act": "symlink", "path": stage.path("outside/secret.txt"), "to": stage.path("out/own")}),
        );
        let came = stage.on("read", "out/own");
        assert!(!came.did() && !came.text().contains(CANARY), "{} ({made:?}): {came:?}", kind.name());
        let came = stage.on("write", "out/own");
        assert_eq!(
            fs::read_to_string(stage.path("outside/secret.txt")).unwrap(),
            CANARY,
            "{}: {came:?}",
            kind.name()
        );
    }
}

#[test]
fn nothing_of_our_environment_is_seen() {
    for kind in Kind::asked() {
        let stage = Stage::with(kind, "", "environment = { allow = [\"LANG\", \"PROBE_VARIABLE\"] }");
        // It is always there in a test.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        for act in [json!({"act": "environment"}), json!({"act": "read", "path": "/proc/self/environ"})] {
            let came = stage.act(act);
            assert!(!came.text().contains("CARGO"), "{}: {came:?}", kind.name());
        }
    }
}

#[test]
fn the_record_says_what_confined_it_and_how_that_is_known() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "");
        assert!(stage.on("read", "in/known.txt").did());
        let record = stage.record();
        let confinement = &record["processes"][0];
        match kind {
            // Code of ours, in our process: no sandbox is claimed.
            Kind::Wasm => assert!(confinement.is_null(), "{record}"),
            Kind::Container => {
                assert_eq!(
                    (&confinement["backend"], &confinement["assurance"]),
                    (&json!("container"), &json!("claimed"))
                );
            }
            Kind::Bwrap | Kind::Firejail | Kind::Native => {
                assert_eq!(
                    (&confinement["backend"], &confinement["assurance"]),
                    (&json!(kind.name()), &json!("probed"))
                );
            }
        }
        assert!(record["touched"].is_array() || record["touched"].is_object(), "{record}");
    }
}
