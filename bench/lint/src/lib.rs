//! Tools of every kind, so that every dependency is reached.

/// Counts the files below a folder.
pub fn tool_count(folder: &str) -> usize {
    walkdir::WalkDir::new(folder).into_iter().count()
}

/// Finds a program.
pub fn tool_which(name: &str) -> bool {
    which::which(name).is_ok()
}

/// Fetches a page.
pub fn tool_fetch(url: &str) -> Result<String, ureq::Error> {
    ureq::get(url).call()?.body_mut().read_to_string()
}

/// Finds a word, in memory.
pub fn tool_find(text: &str) -> bool {
    regex::Regex::new("a+b").is_ok_and(|pattern| pattern.is_match(text))
}

/// Reads a document, in memory.
pub fn tool_read(text: &str) -> Option<toml::Table> {
    text.parse().ok()
}

/// Makes a name.
pub fn tool_name() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Waits.
pub async fn tool_wait() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}
