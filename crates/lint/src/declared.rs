//! What a declaration lets code do, in the words of the engines.

use std::collections::BTreeSet;

use ringfence_policy::{BinarySet, Capabilities, HostPattern, PathPattern, PathReach, Target, VariableSet};

use crate::{Effect, EffectSet};

/// What needs no declaration: a clock and randomness reach nobody.
pub const FREE: [Effect; 2] = [Effect::Random, Effect::Clock];

/// Returns the effects that capabilities cover. A surface that is declared as an empty list covers nothing, and no surface covers
/// listening, changing the environment, or anything opaque.
pub fn effects(capabilities: &Capabilities) -> EffectSet {
    let mut covered: EffectSet = EffectSet::NONE;
    if capabilities.network.as_ref().is_some_and(|network| !network.allowed_hosts.is_empty()) {
        covered.extend([Effect::NetConnect, Effect::NetDns]);
    }
    let reaches = |reach: Option<&PathReach>| match reach {
        None => false,
        Some(PathReach::FromPersonality) => true,
        Some(PathReach::Listed(paths)) => !paths.is_empty(),
    };
    if let Some(reach) = &capabilities.fs_reach {
        if reaches(reach.read.as_ref()) {
            covered.insert(Effect::FsRead);
        }
        if reaches(reach.write.as_ref()) {
            covered.insert(Effect::FsWrite);
        }
    }
    if capabilities.process.as_ref().is_some_and(|process| !process.allowed_binaries.is_empty()) {
        covered.insert(Effect::Exec);
    }
    if capabilities.environment.as_ref().is_some_and(|variables| !variables.is_empty()) {
        covered.insert(Effect::EnvRead);
    }
    covered
}

/// Returns the surface that would cover an effect, as a declaration writes it; `what` is what is known literally.
pub fn surface(effect: Effect, what: &[String]) -> Option<String> {
    let known: BTreeSet<String> = what.iter().filter_map(|text| entry(effect, text)).collect();
    let quoted: Vec<String> = known.iter().map(|text| format!("{text:?}")).collect();
    let listed = if quoted.is_empty() { "\"…\"".to_owned() } else { quoted.join(", ") };
    Some(match effect {
        Effect::FsRead => format!("fs_reach = {{ read = [{listed}] }}"),
        Effect::FsWrite => format!("fs_reach = {{ write = [{listed}] }}"),
        Effect::NetConnect | Effect::NetDns => format!("network = {{ allowedHosts = [{listed}] }}"),
        Effect::Exec => format!("process = {{ allowedBinaries = [{listed}] }}"),
        Effect::EnvRead => format!("environment = [{listed}]"),
        _ => return None,
    })
}

/// Returns what the code says literally as an entry of the surface, where it is one.
pub fn entry(effect: Effect, literal: &str) -> Option<String> {
    match effect {
        Effect::FsRead | Effect::FsWrite => {
            let is_plain = !literal.is_empty() && !literal.contains(['*', '?', '$', '~']);
            let path = if literal.starts_with('/') {
                literal.to_owned()
            } else {
                format!("${{workspace}}/{literal}")
            };
            (is_plain && path.parse::<PathPattern>().is_ok()).then_some(path)
        }
        Effect::NetConnect | Effect::NetDns => {
            let host = match Target::from_url(literal) {
                Ok(target) => target.host.to_string(),
                Err(_) => literal.to_owned(),
            };
            (!host.contains('*') && host.parse::<HostPattern>().is_ok()).then_some(host)
        }
        Effect::Exec => {
            let name = literal.rsplit('/').next().unwrap_or(literal);
            BinarySet::new([name]).is_ok_and(|_| !name.contains('*')).then(|| name.to_owned())
        }
        Effect::EnvRead => {
            VariableSet::new([literal]).is_ok_and(|_| !literal.contains('*')).then(|| literal.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_covers_what_it_names_and_nothing_else() {
        #[rustfmt::skip]
        let cases: &[(&str, &[&str])] = &[
            ("{}", &[]),
            (r#"{"network": {"allowedHosts": ["a.test"]}}"#, &["net.connect", "net.dns"]),
            (r#"{"network": {"allowedHosts": []}}"#, &[]),
            (r#"{"fs_reach": {"read": ["/a"]}}"#, &["fs.read"]),
            (r#"{"fs_reach": {"read": [], "write": "from-personality"}}"#, &["fs.write"]),
            (r#"{"process": {"allowedBinaries": ["git"]}}"#, &["exec"]),
            (r#"{"environment": ["LANG"]}"#, &["env.read"]),
            (r#"{"environment": [], "secrets": ["A"]}"#, &[]),
            (r#"{"storage": {"kind": "kv", "scope": "session"}}"#, &[]),
        ];
        for (capabilities, expected) in cases {
            let capabilities: Capabilities = serde_json::from_str(capabilities).unwrap();
            let names: Vec<&str> = effects(&capabilities).iter().map(Effect::name).collect();
            assert_eq!(names, *expected, "{capabilities:?}");
        }
    }

    #[test]
    fn a_suggestion_is_a_declaration_that_covers_the_effect() {
        for effect in Effect::ALL {
            let Some(line) = surface(effect, &["x.test".to_owned()]) else { continue };
            let capabilities: Capabilities = toml::from_str(&line).unwrap();
            assert!(effects(&capabilities).contains(effect), "{line}");
        }
    }

    #[test]
    fn only_what_is_an_entry_is_suggested() {
        #[rustfmt::skip]
        let cases = [
            (Effect::FsRead,     "/etc/hosts",               Some("/etc/hosts")),
            (Effect::FsRead,     "out/x.txt",                Some("${workspace}/out/x.txt")),
            (Effect::FsWrite,    "../x",                     None),
            (Effect::FsRead,     "/**",                      None),
            (Effect::FsRead,     "",                         None),
            (Effect::NetConnect, "https://api.x.test/v1?a",  Some("api.x.test")),
            (Effect::NetConnect, "api.x.test:8080",          Some("api.x.test:8080")),
            (Effect::NetConnect, "*",                        None),
            (Effect::NetConnect, "not a host",               None),
            (Effect::Exec,       "/usr/bin/git",             Some("git")),
            (Effect::Exec,       "*",                        None),
            (Effect::EnvRead,    "LANG",                     Some("LANG")),
            (Effect::EnvRead,    "*",                        None),
            (Effect::Ffi,        "x",                        None),
        ];
        for (effect, literal, expected) in cases {
            assert_eq!(entry(effect, literal).as_deref(), expected, "{effect} {literal}");
        }
    }
}
