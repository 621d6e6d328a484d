//! Toolbox files: never a panic, and an error always says something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_policy::{NoFiles, Toolbox, Variables, check_examples, validate_tools};

fuzz_target!(|text: &str| {
    let faults = Toolbox::faults(text);
    assert_eq!(faults.is_empty(), Toolbox::from_toml(text).is_ok(), "{faults:?}");
    let faults = Toolbox::json_faults(text);
    assert_eq!(faults.is_empty(), Toolbox::from_json(text).is_ok(), "{faults:?}");
    for toolbox in [Toolbox::from_toml(text), Toolbox::from_json(text)] {
        match toolbox {
            Err(error) => assert!(!error.message.is_empty()),
            Ok(toolbox) => {
                let variables = Variables { workspace: Some("/w".into()), ..Variables::default() };
                let (tools, _gaps) = toolbox.declarations(&variables, NoFiles);
                let personality = toolbox.personality.unwrap_or_default();
                let _gaps = validate_tools(&tools, &personality);
                let _wrong = check_examples(&personality, &tools);
            }
        }
    }
});
