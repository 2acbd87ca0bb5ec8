//! Who asks: a client certificate of the server's own authority, a bearer token that it gave out, or nobody.

#![expect(clippy::disallowed_types, reason = "a shell: tokens come and go while connections are served")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::Error;
use crate::certs::{Authority, ClientCertificate};
use crate::http::listener::Peer;

/// The name of a request that shows nothing, where that is allowed.
const ANONYMOUS: &str = "system:anonymous";

/// Users by what they show.
#[derive(Default)]
struct Known {
    /// By the certificate's DER.
    certificates: HashMap<Vec<u8>, String>,
    tokens: HashMap<String, String>,
}

/// The server's list of who may come in.
pub(crate) struct Authenticator {
    authority: Authority,
    known: Mutex<Known>,
    anonymous: bool,
}

impl Authenticator {
    pub(crate) fn new(authority: Authority, anonymous: bool) -> Self {
        Self { authority, known: Mutex::default(), anonymous }
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// A new client certificate for `user`.
    pub(crate) fn sign(&self, user: &str, groups: &[&str]) -> Result<ClientCertificate, Error> {
        let certificate = self.authority.sign_client(user, groups)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.certificates.insert(certificate.der().to_vec(), user.to_owned());
        Ok(certificate)
    }

    pub(crate) fn allow_token(&self, token: &str, user: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tokens.insert(token.to_owned(), user.to_owned());
    }

    /// Whether it was known.
    pub(crate) fn revoke_token(&self, token: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tokens.remove(token).is_some()
    }

    /// The user; none is 401. What is shown must be good: a bad token is not anonymous.
    pub(crate) fn user(&self, peer: &Peer, headers: &HeaderMap) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = peer.certificates.first() {
            let user = known.certificates.get(leaf.as_ref())?;
            return self.authority.vouches_for(&peer.certificates).then(|| user.clone());
        }
        match headers.get(AUTHORIZATION) {
            Some(value) => {
                let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
                let token = scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())?;
                known.tokens.get(token).cloned()
            }
            None => self.anonymous.then(|| ANONYMOUS.to_owned()),
        }
    }
}
