//! What came back.

use super::HttpError;

/// What came back: all of it, within the limit of the request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Response {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Response {
    #[cfg_attr(
        not(any(target_family = "wasm", test)),
        expect(dead_code, reason = "only the host makes responses")
    )]
    pub(crate) fn new(status: u16, headers: Vec<(String, Vec<u8>)>, body: Vec<u8>) -> Self {
        Self { status, headers, body }
    }

    /// Returns the status, such as 200.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the first value of a header that is text, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }

    /// Goes through the headers as they came.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body as text.
    ///
    /// # Errors
    ///
    /// A body that is not UTF-8.
    pub fn text(&self) -> Result<&str, HttpError> {
        std::str::from_utf8(&self.body).map_err(|_error| HttpError::NotText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_headers_whatever_their_case() {
        let headers = vec![("Content-Type".to_owned(), b"text/plain".to_vec()), ("x".to_owned(), vec![0xff])];
        let response = Response::new(200, headers, vec![0xff]);
        assert_eq!(response.header("content-type"), Some("text/plain"));
        assert_eq!(response.header("x"), None);
        assert_eq!(response.header("absent"), None);
        assert_eq!(response.headers().count(), 2);
        assert_eq!(response.text(), Err(HttpError::NotText));
    }
}
