//! From the export `call` to the author's function and back.
//!
//! INVARIANT: arguments that do not fit the author's type are a failure that names the place, never a trap.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Failure, bindings};

/// Reads the arguments, calls the tool and writes what it returned.
///
/// # Errors
///
/// Arguments that are not what the function takes, a result that is not JSON, and the tool's own failure.
pub fn serve<Input: DeserializeOwned, Output: Serialize>(
    arguments: &str,
    call: impl FnOnce(Input) -> Result<Output, Failure>,
) -> Result<String, bindings::Failure> {
    let served = serde_json::from_str(arguments)
        .map_err(|error| Failure::new(format!("the arguments are not what the tool reads: {error}")))
        .and_then(call)
        .and_then(|output| {
            serde_json::to_string(&output)
                .map_err(|error| Failure::new(format!("the result cannot be written as JSON: {error}")))
        });
    served.map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_json() {
        let double = |number: u32| number.checked_mul(2).ok_or_else(|| Failure::again("too large for now"));
        #[rustfmt::skip]
        let cases = [
            ("21",          Ok("42"),                    false),
            ("4294967295",  Err("too large for now"),    true),
            ("\"21\"",      Err("the arguments are not"), false),
        ];
        for (arguments, expected, again) in cases {
            match (serve(arguments, double), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(failure), Err(start)) => {
                    assert!(failure.message.starts_with(start), "{}", failure.message);
                    assert_eq!(failure.again, again, "{arguments}");
                }
                (found, _) => panic!("{arguments}: {found:?}"),
            }
        }
    }
}
