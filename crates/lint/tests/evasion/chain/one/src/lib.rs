//! A link of the chain.

pub fn read(path: &str) -> bool {
    two::read(path)
}

pub fn quiet(text: &str) -> usize {
    two::quiet(text) + 1
}

pub fn generic<T: two::Acts>(actor: &T) -> bool {
    two::generic(actor)
}

pub use two::Acts;
