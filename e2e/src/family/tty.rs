//! The terminal of whoever started the sandbox: typing into it, writing to it, reading from it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::probe::{Needs, Outcome, Probe, Stop, confined};
use crate::scene::Scene;

pub(crate) const PROBES: &[Probe] = &[
    terminal("tty::type_stdin", |_| typed(0, libc::TIOCSTI)),
    terminal("tty::type_stdout", |_| typed(1, libc::TIOCSTI)),
    terminal("tty::type_stderr", |_| typed(2, libc::TIOCSTI)),
    terminal("tty::type_high_bits", |_| {
        (0..3).map(|fd| typed(fd, HIGH | libc::TIOCSTI)).fold(NEVER(), first)
    }),
    terminal("tty::type_dev_tty", |_| typed_into("/dev/tty")),
    terminal("tty::type_path", |scene| typed_into(scene.text("terminal")?)),
    terminal("tty::write_dev_tty", |_| written("/dev/tty")),
    terminal("tty::write_path", |scene| written(scene.text("terminal")?)),
    terminal("tty::modes", |_| (0..3).map(modes).fold(NEVER(), first)),
    terminal("tty::window_size", |_| (0..3).map(window_size).fold(NEVER(), first)),
    terminal("tty::foreground_group", |_| (0..3).map(foreground).fold(NEVER(), first)),
    terminal("tty::session", session),
    terminal("tty::virtual_console", |_| virtual_console()).needs(Needs::RootAndKernel),
];

const HIGH: libc::c_ulong = 1 << 32;
const NEVER: fn() -> Outcome = || confined("no terminal");

const fn terminal(name: &'static str, call: fn(&Scene) -> Outcome) -> Probe {
    Probe::new(name, call).on_terminal().word()
}

/// The first success, else the last error.
fn first(so_far: Outcome, next: Outcome) -> Outcome {
    if so_far.is_ok() { so_far } else { next }
}

/// Puts a character into the terminal's input, as if the user had typed it.
fn typed(terminal: i32, request: libc::c_ulong) -> Outcome {
    sys!(libc::SYS_ioctl, terminal, request, b" ".as_ptr())?;
    Ok(format!("typed into descriptor {terminal}"))
}

fn opened(path: &str) -> Result<std::fs::File, Stop> {
    Ok(OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path)?)
}

fn typed_into(path: &str) -> Outcome {
    typed(opened(path)?.as_raw_fd(), libc::TIOCSTI)
}

fn written(path: &str) -> Outcome {
    opened(path)?.write_all(b" ")?;
    Ok(format!("written to {path}"))
}

/// Sets the modes it has.
fn modes(terminal: i32) -> Outcome {
    let mut modes = [0_u8; 64];
    sys!(libc::SYS_ioctl, terminal, libc::TCGETS, modes.as_mut_ptr())?;
    sys!(libc::SYS_ioctl, terminal, libc::TCSETS, modes.as_ptr())?;
    Ok("its modes".to_owned())
}

fn window_size(terminal: i32) -> Outcome {
    let mut size = [0_u16; 4];
    sys!(libc::SYS_ioctl, terminal, libc::TIOCGWINSZ, size.as_mut_ptr())?;
    sys!(libc::SYS_ioctl, terminal, libc::TIOCSWINSZ, size.as_ptr())?;
    Ok("its size".to_owned())
}

fn foreground(terminal: i32) -> Outcome {
    let mut group = 0_i32;
    sys!(libc::SYS_ioctl, terminal, libc::TIOCGPGRP, &raw mut group)?;
    sys!(libc::SYS_ioctl, terminal, libc::TIOCSPGRP, &raw const group)?;
    Ok("who is in the foreground".to_owned())
}

/// A process of the terminal's session is signalled with it, and may open `/dev/tty`.
fn session(_: &Scene) -> Outcome {
    opened("/dev/tty")?;
    Ok("it has a controlling terminal".to_owned())
}

fn virtual_console() -> Outcome {
    let console = opened("/dev/tty0")?;
    // Subcode 6: which shift keys are down. Others paste into the console's input.
    let mut answer = [6_u8];
    sys!(libc::SYS_ioctl, console.as_raw_fd(), libc::TIOCLINUX, answer.as_mut_ptr())?;
    Ok("the console".to_owned())
}
