//! Private keys, and stores of them.

use super::super::{FloorEntry, FloorKind};
use super::both;

const fn key(pattern: &'static str, reason: &'static str) -> FloorEntry {
    both(FloorKind::Key, pattern, reason)
}

#[rustfmt::skip]
pub(super) const LINES: &[FloorEntry] = &[
    key(".ssh", "OpenSSH: private keys, who may log in, and a configuration that runs commands"),
    key(".gnupg", "GnuPG: private keys and agent configuration"),
    key(".password-store", "pass: passwords"),
    key(".local/share/password-store", "pass: passwords, in the place of XDG"),
    key(".local/share/gopass", "gopass: passwords"),
    key(".config/gopass", "gopass: where its stores are, and its age keys"),
    key(".age", "age: private keys"),
    key(".config/age", "age: private keys"),
    key(".config/sops/age", "SOPS: age keys that open every secret of a repository"),
    key(".minisign", "minisign: private keys"),
    key(".signify", "signify: private keys"),
    key(".putty", "PuTTY: private keys and host keys"),
    key(".pki/nssdb", "Chromium and NSS: private keys and trusted certificates"),
    key(".sigstore", "sigstore: signing keys and the root of trust"),
    key(".step/secrets", "step: private keys of a certificate authority"),
    key(".android/adbkey", "adb: the key that every phone trusts"),
    key(".android/debug.keystore", "Android: the signing key"),
    key(".electrum", "Electrum: wallets"),
    key(".bitcoin", "Bitcoin Core: wallets and the RPC password"),
    key(".ethereum", "geth: keys"),
    key(".config/solana", "Solana: keys"),
    key(".foundry/keystores", "Foundry: keys"),
    key(".keybase", "Keybase: device keys"),
    key(".config/keybase", "Keybase: device keys"),
    key(".local/share/keyrings", "GNOME Keyring: all passwords of the desktop"),
    key(".local/share/kwalletd", "KWallet: all passwords of the desktop"),
    key("/users/*/library/keychains", "macOS: all passwords of the user"),
    key("/library/keychains", "macOS: passwords of the machine"),
    key("id_dsa", "OpenSSH: a private key"),
    key("id_ecdsa", "OpenSSH: a private key"),
    key("id_ecdsa_sk", "OpenSSH: a private key"),
    key("id_ed25519", "OpenSSH: a private key"),
    key("id_ed25519_sk", "OpenSSH: a private key"),
    key("id_rsa", "OpenSSH: a private key"),
    key("id_xmss", "OpenSSH: a private key"),
    key("*.kdbx", "KeePass: a database of passwords"),
    key("*.kdb", "KeePass: a database of passwords"),
    key("*.agilekeychain", "1Password: a vault"),
    key("*.opvault", "1Password: a vault"),
    key("*.ppk", "PuTTY: a private key"),
    key("*.keychain-db", "macOS: a keychain"),
    key("key3.db", "Firefox and Thunderbird: the key of the saved passwords"),
    key("key4.db", "Firefox and Thunderbird: the key of the saved passwords"),
    key("/etc/ssh/ssh_host_*_key", "OpenSSH: keys of the machine"),
    key("/etc/ssl/private", "TLS keys of the machine"),
    key("/etc/pki/tls/private", "TLS keys of the machine"),
    key("/etc/letsencrypt", "certbot: TLS keys, and hooks that it runs"),
    key("/var/lib/tpm", "keys of the machine"),
    key("/etc/wireguard", "WireGuard: private keys, and commands that it runs"),
    key("/etc/openvpn", "OpenVPN: keys, and scripts that it runs"),
    key("/etc/cryptsetup-keys.d", "keys of disks"),
];
