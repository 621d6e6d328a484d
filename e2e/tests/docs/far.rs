//! The far end of the network: an authority of these tests, and the hosts that the pages name.
//!
//! `hosts` lists the names with their addresses, `far.py` is what answers there.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

/// The names that a page may reach.
pub(crate) const HOSTS: &str = include_str!("hosts");

/// Names that a page's own servers have, on loopback.
const OWN: &[&str] = &["db.example", "fence.example.org", "localhost"];

/// Writes `authority.pem`, and `far.pem` with `far.key`, which proves to be every one of the names.
pub(crate) fn certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "ringfence pages");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let names = HOSTS.lines().filter_map(|line| line.split_whitespace().nth(1)).chain(OWN.iter().copied());
    let names: Vec<String> = names.map(str::to_owned).collect();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(names).unwrap();
    params.use_authority_key_identifier_extension = true;
    let leaf = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(folder.join("authority.pem"), issuer.pem()).unwrap();
    std::fs::write(folder.join("far.pem"), leaf.pem()).unwrap();
    std::fs::write(folder.join("far.key"), key.serialize_pem()).unwrap();
}
