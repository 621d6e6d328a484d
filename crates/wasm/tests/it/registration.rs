//! What is refused before anything runs.

use ringfence::Code;
use ringfence_wasm::{Package, WasmError, imports};
use serde_json::json;

use crate::it::bench::{declaration, guest, host, tool};

fn refused(name: &str) -> WasmError {
    match tool(name) {
        Ok(_) => panic!("{name} was registered"),
        Err(error) => error,
    }
}

#[test]
fn imports_beyond_the_declaration_are_all_named() {
    let error = refused("greedy");
    assert_eq!(error.code(), Code::ToolQuarantined);
    let text = error.to_string();
    assert!(text.contains("wasi:http/outgoing-handler@0.2."), "{text}");
    assert!(text.contains("#handle` needs `network`"), "{text}");
    assert!(text.contains("ringfence:tool/secrets@0.1.0#get` needs `secrets`"), "{text}");
}

#[test]
fn a_component_must_say_what_its_section_says() {
    assert!(matches!(refused("liar"), WasmError::Differs));
}

#[test]
fn honest_components_are_tools() {
    for name in ["slug", "word_count", "fetch_status", "notes", "probe"] {
        if let Err(error) = tool(name) {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn a_declaration_belongs_to_one_file() {
    let (slug, notes) = (Package::read(guest("slug")).unwrap(), Package::read(guest("notes")).unwrap());
    let taken = host().tool(&notes, declaration(&slug)).err();
    assert!(matches!(taken, Some(WasmError::Other { .. })));
    assert_ne!(slug.digest(), notes.digest());
}

#[test]
fn what_cannot_be_enforced_is_refused_by_name() {
    let package = Package::read(guest("slug")).unwrap();
    let mut declared = declaration(&package);
    declared.limits = serde_json::from_value(json!({ "file_size": "1M", "scratch": "1M" })).unwrap();
    declared.capabilities =
        Some(serde_json::from_value(json!({ "process": { "allowedBinaries": ["rg"] } })).unwrap());
    let error = host().tool(&package, declared).err().unwrap();
    assert_eq!(error.to_string(), "a component cannot have `process`, `limits.file_size`, `limits.scratch`");
    assert_eq!(error.code(), Code::NotAvailable);
}

#[test]
fn imports_are_listed_with_what_they_need() {
    let needs = |name: &str| {
        let found = imports(&Package::read(guest(name)).unwrap()).unwrap();
        let mut surfaces: Vec<String> =
            found.iter().filter_map(|import| import.needs).map(|surface| surface.to_string()).collect();
        surfaces.sort();
        surfaces.dedup();
        assert!(found.iter().all(|import| import.known), "{name}: {found:?}");
        surfaces.join(" ")
    };
    #[rustfmt::skip]
    let cases = [
        ("slug",         ""),
        ("word_count",   "fs_reach"),
        ("fetch_status", "network"),
        ("notes",        "secrets storage"),
        ("greedy",       "network secrets"),
        ("probe",        "fs_reach network secrets storage"),
    ];
    for (name, surfaces) in cases {
        assert_eq!(needs(name), surfaces, "{name}");
    }
}

/// Returns a component whose section has another name.
fn unsealed(bytes: &[u8]) -> Vec<u8> {
    let (name, other) = (b"\x0eringfence:tool{", b"\x0eringfence:gone{");
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + name.len()].copy_from_slice(other);
    bytes
}

#[tokio::test]
async fn a_component_without_a_section_is_asked_and_sealed() {
    let bytes = unsealed(&guest("slug"));
    let missing = Package::read(bytes.clone()).unwrap_err();
    assert!(matches!(missing, WasmError::NoDeclaration));
    assert!(missing.hint().unwrap().contains("component seal"));
    let said = host().ask(&bytes).await.unwrap();
    let sealed = Package::sealed(&bytes, &said).unwrap();
    let package = Package::read(sealed.clone()).unwrap();
    assert_eq!(package.declaration(), said);
    assert_eq!(Package::sealed(&sealed, &said).unwrap(), sealed);
    assert!(matches!(
        Package::sealed(&sealed, r#"{"name": "other"}"#),
        Err(WasmError::Declarations { count: 2 })
    ));
    host().tool(&package, declaration(&package)).map(drop).unwrap();
}
