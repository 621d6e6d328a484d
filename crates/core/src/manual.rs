//! The manual: attacks on tools of AI agents, and the code that stops each.
//!
//! This module has no code. It lists what has gone wrong elsewhere, so that a reader can check each answer here.
//!
//! ## Files
//!
//! | attack | seen as | what stops it |
//! |---|---|---|
//! | prefix of a sibling: `/srv/data-evil` under `/srv/data` | string comparison of paths in file servers | patterns match by component ([`PathPattern`](crate::policy::PathPattern)) |
//! | `..`, `//`, `.` in every spelling | directory traversal | paths are normalised by text before they are judged ([`normalise`](crate::policy::normalise)) |
//! | a symbolic link inside that leads out; a chain; a directory link | link following in file servers | no link is followed by the kernel for a tool; a link's target is judged like a path of its own ([`ScopedFs`](crate::ScopedFs)) |
//! | the link is swapped in after the check | time of check, time of use | what is opened is the path that was judged: `openat2` with `NO_SYMLINKS` below a handle |
//! | the root itself is re-pointed after registration | moved roots | roots are resolved once ([`HostFiles`](crate::HostFiles)) |
//! | `/proc/self/root`, `/proc/self/environ`, `/dev/stdin` | magic links | `NO_MAGICLINKS`, and the [`Floor`](crate::policy::Floor) |
//! | a hook or a shell start-up file written inside the workspace | code execution on the next `git commit` or login | the [`Floor`](crate::policy::Floor), in every granted tree |
//! | writing through a hard link | change of a file outside | files with several names are not written |
//! | a FIFO that never answers | a hang | only regular files are read, after a look at their type |
//!
//! ## Hosts
//!
//! | attack | seen as | what stops it |
//! |---|---|---|
//! | `github.com.evil.test`, `evilgithub.com` | suffix and substring matching | labels are matched ([`HostPattern`](crate::policy::HostPattern)) |
//! | `0x7f.1`, `2130706433`, `[::ffff:127.0.0.1]`, NAT64 | odd spellings of addresses | parsed by the WHATWG rules, then judged as the address they are ([`classify`](crate::policy::classify)) |
//! | a granted name that resolves to `169.254.169.254` | metadata theft, rebinding | resolved once, every answer judged, the checked address dialled ([`Dialer`](crate::egress::Dialer)) |
//! | a redirect to an inner host | server-side request forgery | every hop is a new request against the same grant |
//! | a small body that unpacks to gigabytes | decompression bombs | the cap counts what comes out of every layer, and other calls have their turn meanwhile |
//!
//! ## Calls
//!
//! | attack | seen as | what stops it |
//! |---|---|---|
//! | a value that is read as a flag: `--pre=sh` | argument injection | [`CommandTemplate`](crate::policy::CommandTemplate) |
//! | duplicate keys, integers beyond 2^64, lone surrogates | two readers, two meanings | strict reading ([`parse_json`](crate::policy::parse_json)) |
//! | a schema that loops, explodes or fetches | denial of service, request forgery | [`Schema`](crate::Schema) |
//! | arguments changed after approval; one approval for two calls | confused deputy | an approval is bound to a digest of tool, arguments, run and proposer, and is used once |
//! | retry of a payment whose answer was lost | double spending | idempotency keys; an unknown outcome is never repeated by itself |
//! | a tool that needs a backend runs without it | decorative boundaries | a declared surface without its backend is refused ([`Backends`](crate::Backends)) |
