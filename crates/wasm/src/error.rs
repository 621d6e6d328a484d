//! What can be wrong with a component, or with the engine that is to run it.

use std::fmt;

use ringfence::Code;
use wasmparser::BinaryReaderError;

use crate::import::Import;

/// Why a component is not a tool.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum WasmError {
    /// The export `declaration` did not answer.
    #[error("the export `declaration` of the component did not answer: {problem}")]
    Ask {
        /// What happened instead.
        problem: String,
    },
    /// The component could not be compiled.
    #[error("the component could not be compiled: {problem}")]
    Compile {
        /// What the compiler said.
        problem: String,
    },
    /// The component has declarations that say different things.
    #[error("the component holds {count} sections `ringfence:tool`, and they differ")]
    Declarations {
        /// How many there are.
        count: usize,
    },
    /// What the component says of itself is not what its section says.
    #[error(
        "the export `declaration` of the component says something else than its section `ringfence:tool`"
    )]
    Differs,
    /// The engine could not be started.
    #[error("the engine for components could not be started: {problem}")]
    Engine {
        /// What it said.
        problem: String,
    },
    /// The component lacks an export, or has it with another type.
    #[error("the component does not fit the world `ringfence:tool/tool`: {problem}")]
    Exports {
        /// What does not fit.
        problem: String,
    },
    /// The component imports more than it declares.
    #[error("the component imports more than it declares: {}", Listed(imports))]
    Imports {
        /// Every import that is not covered.
        imports: Vec<Import>,
    },
    /// The bytes are not WebAssembly, or broken.
    #[error("the file is not a WebAssembly component: {problem}")]
    Malformed {
        /// What is wrong, and where.
        problem: String,
    },
    /// It is put together in a way that becomes too much, or that nobody can follow.
    #[error("the component is too involved to be run: {problem}")]
    Involved {
        /// What is too much.
        problem: &'static str,
    },
    /// The bytes are a core module.
    #[error("the file is a WebAssembly core module, not a component")]
    Module,
    /// No section `ringfence:tool` is there.
    #[error("the component has no section `ringfence:tool`, so it declares nothing")]
    NoDeclaration,
    /// The declaration is not UTF-8 or not JSON.
    #[error("the section `ringfence:tool` of the component is not JSON: {problem}")]
    NotJson {
        /// What is wrong with it.
        problem: String,
    },
    /// The declaration is for another component.
    #[error("the declaration is of the component {declared}, and this is {found}")]
    Other {
        /// The digest in the declaration.
        declared: String,
        /// The digest of what was read.
        found: String,
    },
    /// The file or its section is over the limit.
    #[error("{what} of the component is larger than {limit} bytes")]
    TooLarge {
        /// The file or the section.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The declaration asks for what this runtime cannot enforce.
    #[error("a component cannot have {}", Named(parts))]
    Unsupported {
        /// What was asked for, each by its name.
        parts: Vec<&'static str>,
    },
}

impl WasmError {
    /// Returns the stable code. The match has no wildcard arm, so a new variant must choose one.
    pub const fn code(&self) -> Code {
        match self {
            Self::Ask { .. } | Self::Compile { .. } => Code::ExecutionFailed,
            Self::Declarations { .. } | Self::Differs | Self::Imports { .. } | Self::Other { .. } => {
                Code::ToolQuarantined
            }
            Self::Engine { .. } | Self::Unsupported { .. } => Code::NotAvailable,
            Self::Exports { .. }
            | Self::Malformed { .. }
            | Self::Module
            | Self::NoDeclaration
            | Self::NotJson { .. } => Code::InputInvalid,
            Self::Involved { .. } | Self::TooLarge { .. } => Code::LimitExceeded,
        }
    }

    /// Returns what to do about it, where that is known.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Differs | Self::Declarations { .. } => {
                Some("build the component again; whoever changed one of the two did not change the other")
            }
            Self::Exports { .. } => Some("build it for the world in `wit/world.wit`"),
            Self::Imports { .. } => {
                Some("declare the surfaces it needs, or build it without what needs them")
            }
            Self::Involved { .. } => Some("build it as one component that holds few others"),
            Self::Malformed { .. } | Self::Module => {
                Some("build it with `cargo build --target wasm32-wasip2`, which makes components")
            }
            Self::NoDeclaration => {
                Some("`ringfence component seal FILE` writes it from the component's own word")
            }
            Self::Unsupported { .. } => {
                Some("take it out of the declaration, or run the tool as a process in the sandbox")
            }
            Self::Ask { .. }
            | Self::Compile { .. }
            | Self::Engine { .. }
            | Self::NotJson { .. }
            | Self::Other { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

/// Imports in one line, each with what it needs.
struct Listed<'a>(&'a [Import]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, import) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match import.needs {
                Some(surface) => write!(f, "{comma}`{}` needs `{surface}`", import.name)?,
                None => write!(f, "{comma}`{}` is not known here", import.name)?,
            }
        }
        Ok(())
    }
}

/// Names in one line.
struct Named<'a>(&'a [&'static str]);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// How much is kept of what the engine says.
const KEPT: usize = 300;

/// Returns what the engine says as one short line.
pub(crate) fn said(error: &impl fmt::Display) -> String {
    let words: Vec<_> = error.to_string().split_whitespace().map(str::to_owned).collect();
    line(&words.join(" "), KEPT)
}

/// Says in one sentence what the parser found wrong with the bytes, and where.
pub(crate) fn malformed(error: &BinaryReaderError) -> WasmError {
    let (message, at) = (error.message(), error.offset());
    let problem = if message.starts_with("magic header not detected") || message.contains("bad magic number")
    {
        "it does not start as WebAssembly does".to_owned()
    } else if message.starts_with("unexpected end") {
        format!("it ends in the middle, at byte {at}")
    } else {
        format!("{}, at byte {at}", said(&message))
    };
    WasmError::Malformed { problem }
}

/// Returns a text as one line of so many characters at most, control characters escaped.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for character in text.trim().chars().take(most) {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
