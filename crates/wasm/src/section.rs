//! The custom section `ringfence:tool`: found, read and written without running anything.
//!
//! Stock compilers leave a section that a program brings inside its core module; tools that write one afterwards put
//! it at the top. Both count, wherever they are.
//!
//! INVARIANT: whatever the bytes are, this ends with an answer: nothing panics, and nothing larger than the file and
//! [`MAX_SECTION`] is kept.

use wasmparser::{Encoding, Parser, Payload};

use crate::WasmError;
use crate::error::{malformed, said};

/// What the section is called.
pub(crate) const NAME: &str = "ringfence:tool";
/// How large the declaration may be.
pub(crate) const MAX_SECTION: usize = 1 << 20;
/// How large a component may be.
pub(crate) const MAX_COMPONENT: usize = 128 << 20;

/// Returns the declaration in a component, where there is one.
///
/// # Errors
///
/// The bytes are no component, or hold declarations that differ, are too large, or are not UTF-8.
pub(crate) fn find(bytes: &[u8]) -> Result<Option<String>, WasmError> {
    if bytes.len() > MAX_COMPONENT {
        return Err(WasmError::TooLarge { what: "the file", limit: MAX_COMPONENT });
    }
    let mut found: Option<&[u8]> = None;
    let (mut count, mut differ, mut first) = (0, false, true);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| malformed(&error))? {
            Payload::Version { encoding: Encoding::Module, .. } if first => return Err(WasmError::Module),
            Payload::CustomSection(section) if section.name() == NAME => {
                count += 1;
                differ |= found.is_some_and(|before| before != section.data());
                found = Some(section.data());
            }
            _ => {}
        }
        first = false;
    }
    match found {
        Some(_) if differ => Err(WasmError::Declarations { count }),
        Some(data) if data.len() > MAX_SECTION => {
            Err(WasmError::TooLarge { what: "the section `ringfence:tool`", limit: MAX_SECTION })
        }
        Some(data) => match std::str::from_utf8(data) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(WasmError::NotJson { problem: said(&error) }),
        },
        None => Ok(None),
    }
}

/// Returns the component with the section at its end.
pub(crate) fn append(bytes: &[u8], declaration: &str) -> Vec<u8> {
    let mut content = Vec::with_capacity(declaration.len() + NAME.len() + 1);
    number(&mut content, NAME.len());
    content.extend_from_slice(NAME.as_bytes());
    content.extend_from_slice(declaration.as_bytes());
    let mut sealed = Vec::with_capacity(bytes.len() + content.len() + 6);
    sealed.extend_from_slice(bytes);
    sealed.push(0);
    number(&mut sealed, content.len());
    sealed.extend_from_slice(&content);
    sealed
}

/// Writes a number as WebAssembly writes lengths: seven bits a byte, the lowest first.
fn number(bytes: &mut Vec<u8>, mut value: usize) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}
