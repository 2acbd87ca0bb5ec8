//! What can keep the server from starting. Once it runs, everything that goes wrong is an answer to a request.

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address could not be bound: the port is taken, or loopback is not there.
    #[error("cannot listen on {address}")]
    Bind {
        /// What was asked for.
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificates could not be made.
    #[error("cannot make the server's certificates")]
    Certificates {
        /// What the certificate library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn certificates(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Certificates { source: source.into() }
    }
}
