//! A component as it was read: its bytes, its declaration, its digest. Nothing of it runs here.
//!
//! INVARIANT: the declaration is JSON within its limits, and the digest is over every byte of the file, the
//! declaration included.

use std::fmt::Write as _;

use ringfence::policy::{JsonLimits, parse_json};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::WasmError;
use crate::section::{self, MAX_SECTION};

/// What a declaration may be.
const LIMITS: JsonLimits = JsonLimits { bytes: MAX_SECTION, depth: 64, values: 20_000 };

/// A component's bytes, with what it declares.
#[derive(Clone, Debug)]
pub struct Package {
    bytes: Vec<u8>,
    declaration: String,
    digest: String,
}

impl Package {
    /// Reads a component that declares itself in its section `ringfence:tool`.
    ///
    /// # Errors
    ///
    /// The bytes are no component, or have no such section, several that differ, or one that is not JSON.
    pub fn read(bytes: Vec<u8>) -> Result<Self, WasmError> {
        let declaration = section::find(&bytes)?.ok_or(WasmError::NoDeclaration)?;
        normal(&declaration)?;
        let digest = digest(&bytes);
        Ok(Self { bytes, declaration, digest })
    }

    /// Returns the declaration, as JSON text.
    pub fn declaration(&self) -> &str {
        &self.declaration
    }

    /// Returns the digest of the whole file, as `sha256:` and hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a component with a declaration written into it. One that has the same already is returned as it is.
    ///
    /// # Errors
    ///
    /// The bytes are no component, hold another declaration already, or the declaration is too large or not JSON.
    pub fn sealed(bytes: &[u8], declaration: &str) -> Result<Vec<u8>, WasmError> {
        if declaration.len() > MAX_SECTION {
            return Err(WasmError::TooLarge { what: "the section `ringfence:tool`", limit: MAX_SECTION });
        }
        let value = normal(declaration)?;
        match section::find(bytes)? {
            Some(before) if normal(&before)? == value => Ok(bytes.to_vec()),
            Some(_) => Err(WasmError::Declarations { count: 2 }),
            None => Ok(section::append(bytes, declaration)),
        }
    }
}

/// Returns a declaration as a value: two texts that mean the same are equal.
pub(crate) fn normal(declaration: &str) -> Result<Value, WasmError> {
    parse_json(declaration, LIMITS).map_err(|error| WasmError::NotJson { problem: error.to_string() })
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
    }
    text
}
