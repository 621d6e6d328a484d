//! What a runtime cannot do is a list in its code, and everything on it is refused by name.

use std::collections::BTreeSet;

use ringfence::policy::{Assurance, NetworkGrant};
use ringfence::sandbox::{LimitName, Part, Sandbox, Spec, Streams};
use ringfence_wasm::Refused;

use crate::runtime::kind::{Kind, engine, guest};
use crate::runtime::stage::{probe, read, sandbox, toolbox};

/// Every part that a plan can need.
const PARTS: &[Part] = &[
    Part::Files,
    Part::Hosts,
    Part::Image,
    Part::Limit(LimitName::Cpu),
    Part::Limit(LimitName::FileSize),
    Part::Limit(LimitName::Memory),
    Part::Limit(LimitName::OpenFiles),
    Part::Limit(LimitName::Output),
    Part::Limit(LimitName::Processes),
    Part::Limit(LimitName::Scratch),
    Part::Limit(LimitName::Wall),
    Part::Network,
    Part::Observing,
    Part::Privileges,
    Part::Programs,
    Part::Recording,
    Part::SystemCalls,
    Part::Terminal,
    Part::Written,
];

/// A command that needs this part, and as little else as can be.
fn needing(kind: Kind, part: Part) -> Spec {
    let abroad = (kind == Kind::Container && part != Part::Programs) || part == Part::Image;
    let spec = if abroad { Spec::new("probe").in_image(engine_image(kind)) } else { Spec::new(probe()) };
    let spec = spec.arguments([r#"{"act": "output", "bytes": 1}"#]);
    let limits = |text: &str| serde_json::from_str(text).unwrap();
    match part {
        Part::Hosts => {
            let hosts: ringfence::policy::HostSet = ["one.example".parse().unwrap()].into_iter().collect();
            let ceiling = ringfence::policy::NetworkCeiling::new(hosts.clone(), Default::default());
            spec.network(&NetworkGrant::meet(&hosts, &ceiling))
        }
        Part::Limit(LimitName::Scratch) => spec.limits(limits(r#"{"scratch": "1M"}"#)),
        Part::Observing => spec.observe(),
        Part::Recording => spec.record(),
        Part::Terminal => spec.terminal(),
        Part::Written => spec.tree("/var/tmp", ringfence::sandbox::Access::WRITE),
        _ => spec,
    }
}

fn engine_image(kind: Kind) -> String {
    match kind {
        Kind::Container => engine().1,
        _ => format!("tools@sha256:{}", "0".repeat(64)),
    }
}

fn unsupported(kind: Kind, sandbox: &Sandbox) -> BTreeSet<Part> {
    match kind {
        Kind::Container => ringfence_container::UNSUPPORTED.iter().copied().collect(),
        _ => sandbox.backend().unsupported().iter().copied().collect(),
    }
}

#[test]
fn a_part_on_the_list_is_refused_by_name_and_every_other_is_enforced() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    for kind in Kind::asked().into_iter().filter(|kind| kind.has_processes()) {
        let sandbox = sandbox(kind);
        let list = unsupported(kind, &sandbox);
        assert!(list.iter().all(|part| PARTS.contains(part)), "{list:?}");
        for part in PARTS.iter().filter(|part| !matches!(part, Part::Terminal) || list.contains(part)) {
            let spec = needing(kind, *part);
            let streams = Streams::default().gate(|sockets| {
                // Held until the command has ended.
                std::mem::forget(sockets);
                Ok(())
            });
            let ran = sandbox.run(&spec, streams);
            match ran {
                Err(error) if list.contains(part) => {
                    assert!(
                        error.to_string().contains(&part.to_string()),
                        "{}: {part}: {error}",
                        kind.name()
                    );
                }
                Ok(report) if !list.contains(part) => {
                    assert_eq!(
                        report.ending.code(),
                        0,
                        "{}: {part}: {}",
                        kind.name(),
                        String::from_utf8_lossy(&report.stderr.bytes)
                    );
                }
                other => panic!("{}: {part}: {other:?}", kind.name()),
            }
        }
    }
}

#[test]
fn what_was_tried_satisfies_a_tool_that_asks_for_it_and_a_claim_does_not() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    for kind in Kind::asked().into_iter().filter(|kind| kind.has_processes()) {
        let spec = needing(kind, Part::Files).assurance(Assurance::Probed);
        let ran = sandbox(kind).run(&spec, Streams::default());
        match kind {
            Kind::Container => {
                assert!(ran.unwrap_err().to_string().contains("is claimed"), "{}", kind.name());
            }
            _ => assert_eq!(ran.unwrap().assurance, Assurance::Probed, "{}", kind.name()),
        }
    }
}

#[test]
fn a_component_is_refused_what_its_list_says() {
    if !Kind::asked().contains(&Kind::Wasm) {
        println!("`wasm` is not in RINGFENCE_TEST_RUNTIMES");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = ringfence_wasm::Host::builder().build().unwrap();
    let bytes = std::fs::read(guest("probe.wasm")).unwrap();
    let package = ringfence_wasm::Package::read(bytes).unwrap();
    let (_, declaration) = read(&toolbox(Kind::Wasm, folder.path(), "", ""), folder.path());
    let at_registration = ringfence_wasm::UNSUPPORTED
        .iter()
        .filter(|unsupported| unsupported.refused == Refused::AtRegistration);
    for unsupported in at_registration {
        let mut asking = declaration.clone();
        match unsupported.part {
            "process" => {
                let mut capabilities = serde_json::to_value(&asking.capabilities).unwrap();
                capabilities["process"] = serde_json::json!({"allowedBinaries": ["sh"]});
                asking.capabilities = Some(serde_json::from_value(capabilities).unwrap());
            }
            limit => {
                let name =
                    limit.strip_prefix("limits.").unwrap_or_else(|| panic!("how is `{limit}` asked for?"));
                asking.limits = serde_json::from_value(serde_json::json!({ name: "1M" })).unwrap();
            }
        }
        let error =
            host.tool(&package, asking).err().unwrap_or_else(|| panic!("`{}` was taken", unsupported.part));
        assert!(error.to_string().contains(unsupported.part), "{error}");
    }
}
