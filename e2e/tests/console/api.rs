//! The HTTP API: Schemathesis reads its document and tries what it says.

use std::process::Command;

use serde_json::{Value, json};

use crate::console::page::lively;
use crate::console::scene::installed;
use crate::console::wire::send;

#[test]
fn schemathesis_finds_no_fault() {
    let (scene, token, _waiting) = lively();
    let bearer = format!("Authorization: Bearer {token}");
    let examples = ringfence_e2e::Tier::current().pick("4", "8", "40");
    let output = Command::new(installed().join("py/bin/schemathesis"))
        .args(["run", &scene.url("/api/v1/openapi.json"), "--header", &bearer, "--max-examples", examples])
        .args([
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
        ])
        .args(["--phases", "examples,coverage,fuzzing", "--generation-database", "none", "--seed", "1"])
        .args(["--request-timeout", "30", "--no-color", "--suppress-health-check", "all"])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_a_page_shows_the_api_says_and_only_to_whom_it_may() {
    let (scene, token, _waiting) = lively();
    let bearer = format!("Bearer {token}");
    let get = |path: &str| send(&scene.console, "GET", path, &[("Authorization", &bearer)], "");
    let me: Value = serde_json::from_str(&get("/api/v1/me").body).unwrap();
    assert_eq!(me, json!({ "name": "ada", "role": "admin" }));
    let document: Value = serde_json::from_str(&get("/api/v1/openapi.json").body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 15, "{:?}", paths.keys());
    let viewer = format!("Bearer {}", scene.person("vera", "viewer"));
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path.replace("{index}", "0").replace("{id}", "x").replace("{run}", "x");
            let nobody = send(&scene.console, &method.to_uppercase(), &path, &[], "");
            assert_eq!(nobody.status, 401, "{method} {path}: {nobody:?}");
            let needs = operation["description"].as_str().unwrap();
            if !needs.contains("viewer") {
                let kind = ("Content-Type", "application/json");
                let refused = send(
                    &scene.console,
                    &method.to_uppercase(),
                    &path,
                    &[("Authorization", &viewer), kind],
                    "{}",
                );
                assert_eq!(refused.status, 403, "{method} {path}: {refused:?}");
            }
        }
    }
    let metrics = get("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(metrics.body.contains("ringfence_calls_total{"), "{}", metrics.body);
    assert_eq!(send(&scene.console, "GET", "/metrics", &[], "").status, 401);
    let health = send(&scene.console, "GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
}
