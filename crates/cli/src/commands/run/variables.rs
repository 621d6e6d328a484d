//! Variables of the caller that a command gets without being named, because it could not do its work without them.

use std::path::PathBuf;

use ringfence::sandbox::read_small;

/// Variables that name a file of certificates to trust.
const AUTHORITIES: [&str; 10] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];
/// The largest file of certificates.
const LARGEST: u64 = 8 << 20;

/// Returns the variables that say how to write to the caller's terminal.
pub(super) fn of_terminal() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_of_terminal(name))
        .collect()
}

fn is_of_terminal(name: &str) -> bool {
    ["COLORTERM", "LANG", "LANGUAGE", "NO_COLOR", "TERM"].contains(&name) || name.starts_with("LC_")
}

/// Returns the variables that name certificates, and the files. One that holds anything else is not passed on.
pub(super) fn of_authorities() -> Vec<(&'static str, PathBuf)> {
    let files = AUTHORITIES.iter().filter_map(|name| Some((*name, PathBuf::from(std::env::var_os(name)?))));
    files.filter(|(_, file)| file.is_absolute() && holds_certificates(file)).collect()
}

fn holds_certificates(file: &std::path::Path) -> bool {
    let Ok(bytes) = read_small(file, LARGEST) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    text.contains("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_certificates_are_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        #[rustfmt::skip]
        let cases = [
            ("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",                                   true),
            ("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",      false),
            ("token=secret",                                                                                 false),
            ("",                                                                                             false),
        ];
        for (text, wanted) in cases {
            let file = folder.path().join("ca.pem");
            std::fs::write(&file, text).unwrap();
            assert_eq!(holds_certificates(&file), wanted, "{text}");
        }
        assert!(!holds_certificates(folder.path()) && !holds_certificates(std::path::Path::new("/dev/zero")));
    }

    #[test]
    fn a_terminal_needs_few_variables() {
        for (name, wanted) in
            [("TERM", true), ("LC_ALL", true), ("COLORTERM", true), ("HOME", false), ("TERM_PROGRAM", false)]
        {
            assert_eq!(is_of_terminal(name), wanted, "{name}");
        }
    }
}
