use std::fmt;

/// Why files cannot be used. The codes are those of Handover's error reference: compare them, and not the message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// Stable, such as `KEY_MISMATCH`.
    pub code: &'static str,
    /// The file, or the folder.
    pub path: String,
    /// One line for people. It never holds key material.
    pub message: String,
}

impl Error {
    pub(crate) fn new(code: &'static str, path: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            path: path.to_owned(),
            message: message.into(),
        }
    }

    /// The kind of failure that a status document names.
    pub fn reason(&self) -> &'static str {
        match self.code {
            "FILE_EMPTY" => "empty",
            "KEY_MISMATCH" => "mismatch",
            "CERTIFICATE_EXPIRED" | "CERTIFICATE_NOT_YET_VALID" => "not_valid_now",
            code if code.starts_with("FILE_") => "read_error",
            _ => "parse_error",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {} ({})", self.path, self.message, self.code)
    }
}

impl std::error::Error for Error {}
