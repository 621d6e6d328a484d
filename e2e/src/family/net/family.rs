//! Socket families and protocols beyond TCP and UDP. Some of them know no namespaces.

use std::os::fd::AsRawFd;

use crate::probe::{Needs, Outcome, Probe, Proof, confined};
use crate::scene::Scene;
use crate::sys::owned;

pub(crate) const PROBES: &[Probe] = &[
    socket("net::family_unix", |_| open(libc::AF_UNIX, libc::SOCK_STREAM, 0)),
    socket("net::family_unix_packet", |_| open(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0)),
    socket("net::family_netlink", |_| netlink_links()),
    socket("net::family_netlink_uevent", |_| {
        open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT)
    }),
    socket("net::family_netlink_diag", |_| open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_SOCK_DIAG)),
    socket("net::family_vsock", |_| open(libc::AF_VSOCK, libc::SOCK_STREAM, 0)).needs(Needs::Kernel),
    socket("net::family_alg", |_| open(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)).needs(Needs::Kernel),
    socket("net::family_packet", |_| open(libc::AF_PACKET, libc::SOCK_RAW, 0x0300))
        .needs(Needs::RootAndKernel),
    socket("net::family_xdp", |_| open(libc::AF_XDP, libc::SOCK_RAW, 0)).needs(Needs::RootAndKernel),
    socket("net::family_key", |_| open(libc::AF_KEY, libc::SOCK_RAW, 2)).needs(Needs::RootAndKernel),
    socket("net::family_smc", |_| open(43, libc::SOCK_STREAM, 0)).needs(Needs::Kernel),
    socket("net::family_bluetooth", |_| open(libc::AF_BLUETOOTH, libc::SOCK_RAW, 1)).needs(Needs::Kernel),
    socket("net::family_can", |_| open(libc::AF_CAN, libc::SOCK_RAW, 1)).needs(Needs::Kernel),
    socket("net::family_tipc", |_| open(libc::AF_TIPC, libc::SOCK_SEQPACKET, 0)).needs(Needs::Kernel),
    socket("net::family_rds", |_| open(libc::AF_RDS, libc::SOCK_SEQPACKET, 0)).needs(Needs::Kernel),
    socket("net::family_others", |_| others()),
    socket("net::family_high_bits", |_| high_bits()),
    socket("net::raw_icmp", |_| open(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)).needs(Needs::Root),
    socket("net::raw_icmp6", |_| open(libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6))
        .needs(Needs::Root),
    socket("net::raw_ip", |_| open(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_RAW)).needs(Needs::Root),
    socket("net::sctp", |_| open(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP)).needs(Needs::Kernel),
    socket("net::udp_lite", |_| open(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE))
        .needs(Needs::Kernel),
    socket("net::multipath_tcp_socket", |_| open(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP))
        .needs(Needs::Kernel),
];

const fn socket(name: &'static str, call: fn(&Scene) -> Outcome) -> Probe {
    Probe::new(name, call).proof(Proof::Word)
}

fn open(family: i32, kind: i32, protocol: i32) -> Outcome {
    owned(call!(socket, family, kind | libc::SOCK_CLOEXEC, protocol)?);
    Ok(format!("a socket of family {family}, protocol {protocol}"))
}

/// Asks the kernel for its interfaces.
fn netlink_links() -> Outcome {
    let socket =
        owned(call!(socket, libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)?);
    // Length 17, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, and an empty `rtgenmsg`.
    let ask: [u8; 20] = [17, 0, 0, 0, 18, 0, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    call!(send, socket.as_raw_fd(), ask.as_ptr().cast(), 17, 0)?;
    let mut answer = [0_u8; 8192];
    let count = call!(recv, socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)?;
    Ok(format!("{count} bytes about interfaces"))
}

/// Every other family there is: an allow-list refuses what nobody thought of.
fn others() -> Outcome {
    let mut open = Vec::new();
    for family in 0..64 {
        if [libc::AF_INET, libc::AF_INET6].contains(&family) {
            continue;
        }
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET] {
            if let Ok(descriptor) = call!(socket, family, kind | libc::SOCK_CLOEXEC, 0) {
                owned(descriptor);
                open.push(family.to_string());
                break;
            }
        }
    }
    if open.is_empty() { confined("none of 62 families") } else { Ok(format!("families {}", open.join(" "))) }
}

/// A filter that compares 64 bits of an argument of which the kernel takes 32 lets this through.
fn high_bits() -> Outcome {
    let family = (1_i64 << 32) | i64::from(libc::AF_UNIX);
    owned(sys!(libc::SYS_socket, family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)?);
    Ok("a Unix socket".to_owned())
}
