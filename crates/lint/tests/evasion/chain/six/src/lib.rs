//! A link of the chain.

pub fn read(path: &str) -> bool {
    seven::read(path)
}

pub fn quiet(text: &str) -> usize {
    seven::quiet(text) + 1
}

pub fn generic<T: seven::Acts>(actor: &T) -> bool {
    seven::generic(actor)
}

pub use seven::Acts;
