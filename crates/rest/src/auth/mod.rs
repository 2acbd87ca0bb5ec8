//! Who we are: headers of a request, from the configured credentials.
//!
//! A [`Credential`] is what one request shows. It remembers which answer of its source it is, so that a 401 makes the
//! source look again only if nobody has done so since.

mod exec;
mod exec_run;
mod token_file;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use apimachinery::{ApiError, ConnectKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};

use self::exec::Exec;
use self::token_file::TokenFile;
use crate::config::Server;
use crate::{Auth, ClientConfig, ConfigError, Impersonation, Secret};

/// What one request shows.
#[derive(Clone, Default)]
pub(crate) struct Credential {
    /// The `Authorization` header.
    pub(crate) header: Option<HeaderValue>,
    /// What is shown in the TLS handshake.
    pub(crate) identity: Option<Arc<Identity>>,
    /// Which answer of the source this is.
    serial: u64,
}

/// A certificate with its key, as PEM text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) cert: String,
    pub(crate) key: Secret,
}

/// Where credentials come from.
#[derive(Debug)]
pub(crate) struct Authenticator {
    host: String,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Fixed(Credential),
    File(TokenFile),
    Exec(Exec),
}

impl Authenticator {
    /// Checks what can be checked now; a token file without an initial token is read.
    pub(crate) fn new(config: &ClientConfig, server: &Server) -> Result<Self, ConfigError> {
        let source = match &config.auth {
            Auth::None => Source::Fixed(Credential::default()),
            Auth::Token(token) => {
                let header = bearer(token.expose())
                    .ok_or_else(|| ConfigError::invalid("token", "not a header value (a newline inside?)"))?;
                Source::Fixed(Credential { header: Some(header), ..Credential::default() })
            }
            Auth::Basic { username, password } => {
                let both = STANDARD.encode(format!("{username}:{}", password.expose()));
                let mut header = HeaderValue::try_from(format!("Basic {both}"))
                    .map_err(|_| ConfigError::invalid("username", "not a header value"))?;
                header.set_sensitive(true);
                Source::Fixed(Credential { header: Some(header), ..Credential::default() })
            }
            Auth::TokenFile { path, initial } => Source::File(TokenFile::new(path, initial.as_ref())?),
            Auth::Exec(exec) => Source::Exec(Exec::new(exec, config, server)?),
        };
        Ok(Authenticator { host: server.authority.as_str().to_owned(), source })
    }

    /// What the next request shows. Cancel safe.
    pub(crate) async fn credential(&self) -> Result<Credential, ApiError> {
        let found = match &self.source {
            Source::Fixed(credential) => return Ok(credential.clone()),
            Source::File(file) => file.credential().await,
            Source::Exec(exec) => exec.credential().await,
        };
        found.map_err(|source| ApiError::Connect { host: self.host.clone(), kind: ConnectKind::Auth, source })
    }

    /// The server did not take these.
    pub(crate) fn handle_unauthorized(&self, used: &Credential) {
        match &self.source {
            Source::Fixed(_) => {}
            Source::File(file) => file.handle_unauthorized(used.serial),
            Source::Exec(exec) => exec.handle_unauthorized(used.serial),
        }
    }
}

/// The header of a bearer token; blanks around it are not part of it (REST-AU-14).
fn bearer(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("Bearer {}", token.trim())).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The headers that say as whom we act (REST-AU-09).
pub(crate) fn impersonation_headers(whom: Option<&Impersonation>) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    let Some(whom) = whom else { return Ok(headers) };
    let value = |field: &str, text: &str| {
        HeaderValue::try_from(text).map_err(|_| ConfigError::invalid(field, "not a header value"))
    };
    let user = HeaderName::from_static("impersonate-user");
    if whom.user.is_empty() {
        return Err(ConfigError::invalid("as", "a uid, groups or extra values need a user name"));
    }
    headers.append(user, value("as", &whom.user)?);
    if let Some(uid) = &whom.uid {
        headers.append(HeaderName::from_static("impersonate-uid"), value("as-uid", uid)?);
    }
    for group in &whom.groups {
        headers.append(HeaderName::from_static("impersonate-group"), value("as-groups", group)?);
    }
    for (key, values) in &whom.extra {
        let name = HeaderName::try_from(format!("impersonate-extra-{}", escape(key)))
            .map_err(|_| ConfigError::invalid("as-user-extra", format!("{key:?}: not a header name")))?;
        for text in values {
            headers.append(name.clone(), value("as-user-extra", text)?);
        }
    }
    Ok(headers)
}

/// Escapes every byte that a header name may not have, and `%` (REST-AU-10).
fn escape(key: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in key.bytes() {
        let is_token = byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
        if is_token {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").field("serial", &self.serial).finish_non_exhaustive()
    }
}
