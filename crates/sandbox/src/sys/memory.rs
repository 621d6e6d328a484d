//! Giving back the pages of this program's own code that were only needed to start.

use rustix::mm::{Advice, madvise};

/// Takes the code of this program out of this process's memory; what is needed is found again in the page cache.
///
/// Only code goes: mappings of the program's own file that can be executed and cannot be written. Returns how many bytes are
/// mapped there.
pub(crate) fn give_back_code() -> std::io::Result<usize> {
    let own = std::fs::read_link("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mut total = 0;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some("r-xp")) = (words.next(), words.next()) else { continue };
        if !own.to_str().is_some_and(|own| line.ends_with(own)) {
            continue;
        }
        let Some((from, to)) = range.split_once('-') else { continue };
        let number = |text| usize::from_str_radix(text, 16).map_err(std::io::Error::other);
        let (from, to) = (number(from)?, number(to)?);
        let length = to.saturating_sub(from);
        // SAFETY: the range is one mapping of this process, as the kernel has just listed it. It is private, backed by a file,
        // and not writable, so every page in it equals the file's: one that goes comes back the same at its next use. Nobody
        // unmaps the program's own code.
        unsafe { madvise(std::ptr::without_provenance_mut(from), length, Advice::LinuxDontNeed) }?;
        total += length;
    }
    Ok(total)
}
