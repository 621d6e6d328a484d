//! The definitions of RFC 6962, section 2.1, word for word and slow: what the tests measure the real code by.

use super::hash::Hash;

/// The leaves that the published vectors are over.
pub(super) const RECORDS: [&[u8]; 8] = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
];

/// The published roots over the first none to eight of them.
pub(super) const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/// Returns the leaves of a log with `size` different records.
pub(super) fn leaves(size: usize) -> Vec<Hash> {
    (0..size).map(|index| Hash::leaf(&index.to_be_bytes())).collect()
}

/// MTH: the root over leaves.
pub(super) fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            Hash::node(root(left), root(right))
        }
    }
}

/// PATH: the inclusion proof of a leaf.
pub(super) fn inclusion(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let middle = half(leaves.len());
    let (left, right) = leaves.split_at(middle);
    let (mut path, other) = if index < middle {
        (inclusion(index, left), right)
    } else {
        (inclusion(index - middle, right), left)
    };
    path.push(root(other));
    path
}

/// PROOF: the consistency proof between the first `old` leaves and all of them.
pub(super) fn consistency(old: usize, leaves: &[Hash]) -> Vec<Hash> {
    subproof(old, leaves, true)
}

/// SUBPROOF: `whole` is true while the old tree is the one that was asked for.
fn subproof(old: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
    if old == leaves.len() {
        return if whole { Vec::new() } else { vec![root(leaves)] };
    }
    let middle = half(leaves.len());
    let (left, right) = leaves.split_at(middle);
    let (mut path, other) = if old <= middle {
        (subproof(old, left, whole), right)
    } else {
        (subproof(old - middle, right, false), left)
    };
    path.push(root(other));
    path
}

/// Returns the largest power of two below `size`.
fn half(size: usize) -> usize {
    let mut half = 1;
    while half * 2 < size {
        half *= 2;
    }
    half
}
