//! URLs and authorities: never a panic, and a host that was parsed parses to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_policy::{Host, HostName, Target, normalise};

fuzz_target!(|text: &str| {
    for target in [Target::from_url(text), Target::from_authority(text)].into_iter().flatten() {
        if let Host::Name(name) = &target.host {
            assert_eq!(&name.to_string().parse::<HostName>().expect("a name is its own spelling"), name);
        }
    }
    if let Ok(path) = normalise(std::path::Path::new(text)) {
        assert_eq!(normalise(&path).expect("a normal path is normal"), path);
    }
});
