//! A link of the chain.

pub fn read(path: &str) -> bool {
    four::read(path)
}

pub fn quiet(text: &str) -> usize {
    four::quiet(text) + 1
}

pub fn generic<T: four::Acts>(actor: &T) -> bool {
    four::generic(actor)
}

pub use four::Acts;
