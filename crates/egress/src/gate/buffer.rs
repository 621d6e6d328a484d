//! One buffer for all connections of a thread, so that an idle connection holds none.

use std::cell::RefCell;

/// How much is read at once.
const SIZE: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SIZE].into_boxed_slice());
}

/// Lends the thread's buffer. What is in it is of the last borrower and means nothing.
pub(super) fn lend<T>(use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    BUFFER.with(|buffer| match buffer.try_borrow_mut() {
        Ok(mut buffer) => use_it(&mut buffer),
        Err(_) => use_it(&mut vec![0; SIZE]),
    })
}
