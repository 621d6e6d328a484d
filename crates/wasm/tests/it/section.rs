//! The declaration in a file, and bytes that are no component.

use proptest::prelude::*;
use ringfence_wasm::{Package, WasmError, find_section, imports};

use crate::it::bench::guest;

/// A component with sections `ringfence:tool` at the top.
fn component(sections: &[&str]) -> Vec<u8> {
    let custom = |text: &&str| format!("(@custom \"ringfence:tool\" {text:?})");
    let sections: String = sections.iter().map(custom).collect();
    wat::parse_str(format!("(component {sections})")).unwrap()
}

#[test]
fn one_declaration_counts_wherever_it_is() {
    assert!(matches!(Package::read(component(&[])), Err(WasmError::NoDeclaration)));
    assert_eq!(Package::read(component(&["{}"])).unwrap().declaration(), "{}");
    assert_eq!(Package::read(component(&["{}", "{}"])).unwrap().declaration(), "{}");
    let differ = Package::read(component(&["{}", "[]"]));
    assert!(matches!(differ, Err(WasmError::Declarations { count: 2 })), "{differ:?}");
    assert!(matches!(Package::read(component(&["{"])), Err(WasmError::NotJson { .. })));
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    assert!(matches!(Package::read(component(&[&large])), Err(WasmError::TooLarge { .. })));
    let nested = wat::parse_str(r#"(component (core module (@custom "ringfence:tool" "{}")))"#).unwrap();
    assert_eq!(Package::read(nested).unwrap().declaration(), "{}");
}

#[test]
fn what_is_no_component_says_so() {
    let module = wat::parse_str("(module)").unwrap();
    let error = Package::read(module).unwrap_err();
    assert!(matches!(error, WasmError::Module));
    assert!(error.hint().unwrap().contains("wasm32-wasip2"));
    #[rustfmt::skip]
    let cases = [
        (&b""[..],                       "it ends in the middle, at byte 0"),
        (b"#!/bin/sh",                   "it does not start as WebAssembly does"),
        (b"\x7fELF\x02\x01\x01\0",      "it does not start as WebAssembly does"),
        (b"\0asm",                       "it ends in the middle, at byte 4"),
        (b"\0asm\x0d\0\x01\0\xff\x01",  "malformed section id, at byte 8"),
    ];
    for (bytes, problem) in cases {
        let error = Package::read(bytes.to_vec()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the file is not a WebAssembly component: {problem}"),
            "{bytes:?}"
        );
    }
}

#[test]
fn unknown_imports_are_listed_as_unknown() {
    let text = r#"(component
        (@custom "ringfence:tool" "{}")
        (import "wasi:cli/exit@0.3.0" (instance (export "exit" (func))))
        (import "evil:host/power@1.0.0" (instance (export "use" (func))))
        (import "alone" (func)))"#;
    let found = imports(&Package::read(wat::parse_str(text).unwrap()).unwrap()).unwrap();
    let names: Vec<&str> = found.iter().map(|import| import.name.as_str()).collect();
    assert_eq!(names, ["wasi:cli/exit@0.3.0#exit", "evil:host/power@1.0.0#use", "alone"]);
    assert!(found.iter().all(|import| !import.known && import.needs.is_none()));
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _answer = find_section(&bytes);
        let _sealed = Package::sealed(&bytes, "{}");
    }

    #[test]
    fn a_broken_component_gets_an_answer(at in 0_usize..120_000, byte: u8, cut in 0_usize..120_000) {
        let mut bytes = guest("slug");
        if let Some(broken) = bytes.get_mut(at) {
            *broken = byte;
        }
        bytes.truncate(cut);
        let _answer = Package::read(bytes).map(|package| imports(&package));
    }

    #[test]
    fn what_is_sealed_is_read(text in "[a-z\"\\\\ ]{0,200}") {
        let declaration = serde_json::json!({ "name": text }).to_string();
        let sealed = Package::sealed(&component(&[]), &declaration).unwrap();
        let package = Package::read(sealed).unwrap();
        prop_assert_eq!(package.declaration(), declaration.as_str());
    }
}
