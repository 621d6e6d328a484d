//! Whatever the bytes are, reading a component ends with an answer; what is sealed reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_wasm::{Package, imports};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(package) = Package::read(bytes.to_vec()) {
        let _imports = imports(&package);
    }
    if let Ok(sealed) = Package::sealed(bytes, "{}") {
        let package = Package::read(sealed).expect("what was sealed reads back");
        let declared: serde_json::Value = serde_json::from_str(package.declaration()).expect("it is JSON");
        assert_eq!(declared, serde_json::json!({}));
    }
});
