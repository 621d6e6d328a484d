//! Questions: the answer, and the lines that made it.

use ringfence_server::console::{PolicyAnswer, PolicyQuestion, Surface};

use super::*;

fn ask(bench: &Bench, tool: &str, surface: Surface, what: &str) -> Result<PolicyAnswer, DeskError> {
    bench.desk.ask(&PolicyQuestion { tool: tool.to_owned(), surface, what: what.to_owned() })
}

/// Returns a bench with a tool of a server that somebody has accepted.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.desk.book.keep("git", "tool", &[("tool:status".into(), tool("status", "Show"))], &[]).unwrap();
    std::fs::create_dir(bench.path("out")).unwrap();
    std::fs::write(bench.path("a.txt"), "a").unwrap();
    bench
}

#[test]
fn an_answer_names_the_lines_that_made_it() {
    use Surface::{Binary, Environment, Host, Read, Secret, Write};
    let bench = bench();
    std::os::unix::fs::symlink("/etc/passwd", bench.path("link")).unwrap();
    #[rustfmt::skip]
    let cases: &[(&str, Surface, &str, &str, &[u64])] = &[
        // tool         surface      what                                  code, if refused           lines
        ("fetch",       Host,        "api.github.com",                     "",                        &[5, 21]),
        ("fetch",       Host,        "https://API.github.com/x?y",         "",                        &[5, 21]),
        ("fetch",       Host,        "api.weather.gov",                    "",                        &[6, 21]),
        ("fetch",       Host,        "api.weather.gov:80",                 "HOST_NOT_ALLOWED",        &[4, 21]),
        ("fetch",       Host,        "raw.github.com",                     "HOST_NOT_ALLOWED",        &[21]),
        ("fetch",       Host,        "api.evil.com",                       "HOST_NOT_ALLOWED",        &[4, 21]),
        ("fetch",       Host,        "127.0.0.1:80",                       "HOST_NOT_ALLOWED",        &[4, 21]),
        ("fetch",       Host,        "::1",                                "HOST_NOT_ALLOWED",        &[4, 21]),
        ("grep",        Host,        "api.github.com",                     "HOST_NOT_ALLOWED",        &[24]),
        ("roam",        Host,        "www.github.com",                     "",                        &[5, 57]),
        ("roam",        Host,        "api.evil.com",                       "HOST_NOT_ALLOWED",        &[4]),
        ("git__status", Host,        "api.github.com",                     "",                        &[5, 46]),
        ("git__status", Host,        "raw.github.com",                     "HOST_NOT_ALLOWED",        &[46]),
        ("git__status", Secret,      "WEATHER",                            "SECRET_NOT_DECLARED",     &[42]),
        ("fetch",       Secret,      "WEATHER",                            "",                        &[8, 22]),
        ("fetch",       Secret,      "OTHER",                              "SECRET_NOT_DECLARED",     &[8, 22]),
        ("grep",        Read,        "a.txt",                              "",                        &[13, 31]),
        ("grep",        Read,        "${workspace}",                       "",                        &[13, 31]),
        ("grep",        Read,        "${workspace}/not/there",             "",                        &[13, 31]),
        ("grep",        Read,        "/etc/passwd",                        "PATH_NOT_REACHABLE",      &[13]),
        ("grep",        Read,        "link",                               "PATH_NOT_REACHABLE",      &[13]),
        ("grep",        Read,        "../../../../../../../etc/passwd",    "PATH_NOT_REACHABLE",      &[13]),
        ("save",        Read,        "a.txt",                              "PATH_NOT_REACHABLE",      &[35]),
        ("save",        Write,       "out/new.txt",                        "",                        &[14, 40]),
        ("save",        Write,       "a.txt",                              "PATH_NOT_REACHABLE",      &[14, 40]),
        ("grep",        Binary,      "rg",                                 "",                        &[9, 32]),
        ("grep",        Binary,      "sh",                                 "BINARY_NOT_ALLOWED",      &[9, 32]),
        ("grep",        Environment, "LANG",                               "",                        &[33]),
        ("grep",        Environment, "HOME",                               "ENVIRONMENT_NOT_DECLARED", &[33]),
        ("nobody",      Host,        "api.github.com",                     "TOOL_UNKNOWN",            &[]),
        ("git__nobody", Host,        "api.github.com",                     "TOOL_UNKNOWN",            &[]),
    ];
    for (tool, surface, what, code, lines) in cases {
        let answer = ask(&bench, tool, *surface, what).unwrap();
        let numbers: Vec<u64> = answer.lines.iter().map(|line| line.number).collect();
        let found = (answer.allowed, answer.code.as_deref().unwrap_or_default(), numbers.as_slice());
        assert_eq!(found, (code.is_empty(), *code, *lines), "{tool} {surface:?} {what}: {answer:?}");
        for line in &answer.lines {
            let index = usize::try_from(line.number).unwrap() - 1;
            assert_eq!(Some(line.text.as_str()), POLICY.lines().nth(index), "{tool} {what}");
        }
        let wants_hint = matches!(*code, "HOST_NOT_ALLOWED" | "SECRET_NOT_DECLARED" | "BINARY_NOT_ALLOWED");
        assert!(!wants_hint || answer.hint.is_some(), "{tool} {what}: {answer:?}");
    }
    let answer = ask(&bench, "fetch", Surface::Host, "api.github.com").unwrap();
    assert_eq!(answer.lines[0].text, "    \"*.github.com\",");
}

#[test]
fn who_must_agree_is_part_of_the_answer() {
    let bench = bench();
    let message = |tool, surface, what| ask(&bench, tool, surface, what).unwrap().message;
    assert_eq!(message("fetch", Surface::Host, "api.github.com"), "allowed");
    assert_eq!(message("save", Surface::Write, "out/x"), "allowed once a person has agreed to the call");
    assert_eq!(message("grep", Surface::Read, "a.txt"), "allowed once two people have agreed to the call");
    bench.edit(r#"tools = { grep = "dual" }"#, r#"tools = { grep = "deny" }"#);
    let answer = ask(&bench, "grep", Surface::Read, "a.txt").unwrap();
    assert_eq!((answer.allowed, answer.code.as_deref()), (false, Some("FORBIDDEN")));
}

#[test]
fn a_withheld_tool_is_answered_with_no() {
    let bench = bench();
    bench.sends(&[tool("push", "Push"), tool("status", "Show and send")]);
    for name in ["git__push", "git__status"] {
        let answer = ask(&bench, name, Surface::Host, "api.github.com").unwrap();
        assert_eq!((answer.allowed, answer.code.as_deref()), (false, Some("TOOL_QUARANTINED")), "{name}");
        assert!(answer.hint.is_some() && answer.message.contains("not accepted yet"), "{answer:?}");
    }
    bench.edit("id = \"researcher\"", "id = \"researcher\"\ntools = [\"grep\"]");
    let answer = ask(&bench, "fetch", Surface::Host, "api.github.com").unwrap();
    assert_eq!((answer.code.as_deref(), answer.lines[0].number), (Some("TOOL_NOT_PERMITTED"), 4));
}

#[test]
fn what_nobody_can_understand_is_told() {
    let bench = bench();
    #[rustfmt::skip]
    let cases = [
        (Surface::Host,   ""),
        (Surface::Host,   "  "),
        (Surface::Host,   "ftp://x.test/"),
        (Surface::Host,   "https://"),
        (Surface::Host,   "a b"),
        (Surface::Host,   "user@api.github.com"),
        (Surface::Host,   "api.github.com/path"),
        (Surface::Host,   "api.github.com:99999"),
        (Surface::Host,   "*.github.com"),
        (Surface::Read,   "a\0b"),
        (Surface::Read,   "${nowhere}/x"),
        (Surface::Secret, ""),
    ];
    for (surface, what) in cases {
        let error = ask(&bench, "fetch", surface, what).unwrap_err();
        assert!(matches!(error, DeskError::Input { .. }), "{what:?}: {error:?}");
    }
    assert!(ask(&bench, "fetch", Surface::Secret, &"x".repeat(5000)).is_err());
}

#[test]
fn a_file_of_json_is_answered_without_lines() {
    let policy: Value = toml::from_str::<Value>(POLICY).unwrap_or_default();
    let bench = Bench::of("ringfence.json", &serde_json::to_string_pretty(&policy).unwrap());
    let answer = ask(&bench, "fetch", Surface::Host, "api.github.com").unwrap();
    assert!(answer.allowed && answer.lines.is_empty(), "{answer:?}");
    let answer = ask(&bench, "fetch", Surface::Host, "api.evil.com").unwrap();
    assert!(!answer.allowed && answer.lines.is_empty(), "{answer:?}");
}

#[test]
fn an_answer_follows_the_file() {
    let bench = bench();
    assert!(!ask(&bench, "fetch", Surface::Host, "raw.github.com").unwrap().allowed);
    bench.edit(r#"["api.github.com", "api.weather.gov:443"]"#, r#"["*.github.com"]"#);
    assert!(ask(&bench, "fetch", Surface::Host, "raw.github.com").unwrap().allowed);
}
