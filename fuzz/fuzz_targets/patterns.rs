//! Patterns survive their own text, and meets are never wider than either side.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ringfence_policy::{HostPattern, PathPattern, Target, normalise};

fuzz_target!(|input: (&str, &str, &str)| {
    let (one, other, asked) = input;
    if let Ok(pattern) = one.parse::<HostPattern>() {
        assert_eq!(pattern.to_string().parse::<HostPattern>().expect("its own text parses"), pattern);
        if let (Ok(second), Ok(target)) = (other.parse::<HostPattern>(), Target::from_authority(asked)) {
            let met = pattern.meet(&second).is_some_and(|met| met.matches(&target));
            assert_eq!(met, pattern.matches(&target) && second.matches(&target));
            if pattern.covers(&second) && second.matches(&target) {
                assert!(pattern.matches(&target));
            }
        }
    }
    if let Ok(pattern) = one.parse::<PathPattern>() {
        assert_eq!(pattern.to_string().parse::<PathPattern>().expect("its own text parses"), pattern);
        if let (Ok(second), Ok(path)) = (other.parse::<PathPattern>(), normalise(Path::new(asked)))
            && pattern.covers(&second)
            && second.matches(&path)
        {
            assert!(pattern.matches(&path));
        }
    }
});
