//! A proof as a file: one record, its way to the root, and the checkpoint that signs the root.
//!
//! Whoever has the log's public key can check it, long after and far from the log.
//!
//! INVARIANT: the record in a file is not to be had before the proof holds.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ringfence_policy::{JsonLimits, parse_json};
use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, TrustedLog};
use super::error::ProofError;
use super::hash::Hash;
use super::note::Note;
use super::proof::InclusionProof;

/// The only version there is.
const VERSION: u64 = 1;
/// A record may be large; there are at most 62 hashes beside it.
const LIMITS: JsonLimits = JsonLimits { bytes: 64 << 20, depth: 3, values: 80 };

/// A proof that nobody has checked yet.
///
/// # Examples
///
/// ```
/// use ringfence::audit::{Checkpoint, Frontier, Hash, InclusionProof, ProofFile, SignerKey, TrustedLog};
///
/// let key = SignerKey::from_seed("audit.example/log", &[7; 32])?;
/// let mut frontier = Frontier::new();
/// frontier.append(Hash::leaf(br#"{"call":1}"#));
/// let note = Checkpoint::new("audit.example/log", &frontier)?.sign(&key)?;
/// let proof = InclusionProof::assemble(0, 1, |_| None)?;
/// let written = ProofFile::new(br#"{"call":1}"#.to_vec(), proof, note).to_string();
///
/// let log = TrustedLog::new("audit.example/log", [key.verifier().clone()])?;
/// let file: ProofFile = written.parse()?;
/// assert_eq!(file.verify(&log)?.record, br#"{"call":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProofFile {
    record: Vec<u8>,
    proof: InclusionProof,
    note: Note,
}

/// A record that is in the log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proven<'a> {
    /// Its bytes.
    pub record: &'a [u8],
    /// Its place, from 0.
    pub index: u64,
    /// The checkpoint that vouches for it.
    pub checkpoint: Checkpoint,
}

impl ProofFile {
    /// Puts a file together; it is as good as its parts.
    pub const fn new(record: Vec<u8>, proof: InclusionProof, note: Note) -> Self {
        Self { record, proof, note }
    }

    /// Returns the record, when it is in the log.
    ///
    /// # Errors
    ///
    /// The checkpoint is not one of the log, is of another size than the proof, or the record is not under its root.
    pub fn verify(&self, log: &TrustedLog) -> Result<Proven<'_>, ProofError> {
        let checkpoint = log.open(&self.note)?;
        if checkpoint.size() != self.proof.size() {
            return Err(ProofError::Size { proof: self.proof.size(), checkpoint: checkpoint.size() });
        }
        self.proof.verify(Hash::leaf(&self.record), checkpoint.root())?;
        Ok(Proven { record: &self.record, index: self.proof.index(), checkpoint })
    }
}

/// The keys of the file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record_base64: Option<String>,
    index: u64,
    size: u64,
    path: Vec<Hash>,
    checkpoint: String,
}

impl fmt::Display for ProofFile {
    /// Writes the file: the record as text where it is text, else in base64.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (record, record_base64) = match std::str::from_utf8(&self.record) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(STANDARD.encode(&self.record))),
        };
        let written = Written {
            version: VERSION,
            record,
            record_base64,
            index: self.proof.index(),
            size: self.proof.size(),
            path: self.proof.path().to_vec(),
            checkpoint: self.note.to_string(),
        };
        let json = serde_json::to_string_pretty(&written).map_err(|_| fmt::Error)?;
        writeln!(f, "{json}")
    }
}

impl FromStr for ProofFile {
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, ProofError> {
        let malformed = |what: &str| ProofError::File(what.into());
        let value = parse_json(text, LIMITS)?;
        if value.get("version").and_then(serde_json::Value::as_u64) != Some(VERSION) {
            return Err(ProofError::Version { known: VERSION });
        }
        let written: Written = serde_json::from_value(value)
            .map_err(|error| malformed(&error.to_string().escape_debug().to_string()))?;
        let record = match (written.record, written.record_base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => {
                STANDARD.decode(encoded).map_err(|_| malformed("`record_base64` is not base64"))?
            }
            (None, None) | (Some(_), Some(_)) => {
                return Err(malformed("exactly one of `record` and `record_base64` is needed"));
            }
        };
        let proof = InclusionProof::from_parts(written.index, written.size, written.path)?;
        Ok(Self { record, proof, note: written.checkpoint.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Frontier, SignerKey};

    fn file() -> (ProofFile, TrustedLog) {
        let key = SignerKey::from_seed("log", &[7; 32]).unwrap();
        let log = TrustedLog::new("log", [key.verifier().clone()]).unwrap();
        let leaves = [b"first", b"secon", b"third"].map(|record| Hash::leaf(record));
        let mut frontier = Frontier::new();
        let inner: Vec<_> = leaves.iter().flat_map(|&leaf| frontier.append(leaf)).collect();
        let proof = InclusionProof::assemble(2, 3, |_| Some(inner[0].hash)).unwrap();
        let note = Checkpoint::new("log", &frontier).unwrap().sign(&key).unwrap();
        (ProofFile::new(b"third".to_vec(), proof, note), log)
    }

    #[test]
    fn survives_writing_and_reading() {
        let (file, log) = file();
        let read: ProofFile = file.to_string().parse().unwrap();
        assert_eq!(read, file);
        let proven = read.verify(&log).unwrap();
        assert_eq!((proven.record, proven.index, proven.checkpoint.size()), (b"third".as_slice(), 2, 3));

        let binary = ProofFile { record: vec![0xff, 0], ..file.clone() };
        assert!(binary.to_string().contains("\"record_base64\": \"/wA=\""));
        assert_eq!(binary.to_string().parse::<ProofFile>().unwrap(), binary);
        let odd = ProofFile { record: "\u{0}\"\\\u{2028}é\r\n".into(), ..file };
        assert_eq!(odd.to_string().parse::<ProofFile>().unwrap(), odd);
    }

    #[test]
    fn refuses_what_is_not_exactly_a_proof() {
        let text = file().0.to_string();
        let path = file().0.proof.path()[0].to_base64();
        #[rustfmt::skip]
        let cases = [
            text.replace("\"version\": 1", "\"version\": 2"),
            text.replace("\"version\": 1,", ""),
            text.replace("\"version\": 1", "\"version\": 1, \"version\": 1"),
            text.replace("\"version\": 1", "\"version\": 1, \"note\": 1"),
            text.replace("\"record\": \"third\",", ""),
            text.replace("\"record\": \"third\"", "\"record\": null"),
            text.replace("\"record\"", "\"record_base64\""),
            text.replace("\"record\"", "\"record_base64\": \"AAAA\", \"record\""),
            text.replace("\"index\": 2", "\"index\": 3"),
            text.replace("\"index\": 2", "\"index\": -2"),
            text.replace("\"index\": 2", "\"index\": 2.0"),
            text.replace("\"index\": 2", "\"index\": 0"),
            text.replace("\"size\": 3", "\"size\": 18446744073709551615"),
            text.replace(&format!("\"{path}\""), ""),
            text.replace(&format!("\"{path}\""), &format!("\"{path}\", \"{path}\"")),
            text.replace(&path, &file().0.proof.path()[0].to_string()),
            text.replace("—", "-"),
            format!("{text}{{}}"),
            "[]".into(),
            String::new(),
        ];
        assert!(text.parse::<ProofFile>().is_ok());
        for (at, case) in cases.iter().enumerate() {
            assert_ne!(*case, text, "{at}");
            assert!(case.parse::<ProofFile>().is_err(), "{at}: {case}");
        }
    }

    #[test]
    fn proves_nothing_else() {
        let (file, log) = file();
        let other = TrustedLog::new("other", log_keys()).unwrap();
        assert!(matches!(file.verify(&other), Err(ProofError::Note(_))));
        let record = ProofFile { record: b"secon".to_vec(), ..file.clone() };
        assert_eq!(record.verify(&log), Err(ProofError::Mismatch));
        let hash = file.proof.path()[0];
        for (index, size, error) in
            [(1, 2, ProofError::Size { proof: 2, checkpoint: 3 }), (2, 3, ProofError::Mismatch)]
        {
            let path = vec![if index == 2 { Hash::of(b"") } else { hash }];
            let proof = InclusionProof::from_parts(index, size, path).unwrap();
            assert_eq!(ProofFile { proof, ..file.clone() }.verify(&log), Err(error));
        }
    }

    fn log_keys() -> [crate::audit::VerifierKey; 1] {
        [SignerKey::from_seed("log", &[7; 32]).unwrap().verifier().clone()]
    }
}
