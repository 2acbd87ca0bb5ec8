//! Requests: URLs, headers and bodies out; answers and refusals in.

mod answer;
mod limiter;
pub(crate) mod options;
mod send;
#[cfg(test)]
mod send_tests;
#[cfg(test)]
mod tests;
mod url;
mod warning;

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE};

pub(crate) use answer::{About, TypeMeta, check_json, check_object};
pub(crate) use limiter::Limiter;
pub(crate) use send::{Answer, Reading, Sender};
pub(crate) use url::{Query, Target, check_raw, invalid};

use crate::retry::Class;

/// One request, as often as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    /// For people: `list`.
    pub(crate) verb: &'static str,
    pub(crate) method: Method,
    /// Path and query below the server's base path.
    pub(crate) url: String,
    pub(crate) about: About<'a>,
    pub(crate) namespace: &'a str,
    pub(crate) accept: &'static str,
    /// The media type and the bytes of the body.
    pub(crate) body: Option<(&'static str, Bytes)>,
    /// Whether it is a watch, whose body is a stream.
    pub(crate) is_watch: bool,
    /// How long all attempts and the whole answer may take.
    pub(crate) limit: Option<Duration>,
}

/// What a JSON client takes (REST-DY-02).
pub(crate) const ACCEPT_JSON: &str = "application/json";
/// What is taken of metadata alone (REST-MD-01, without protobuf): a server that cannot do it sends whole objects.
pub(crate) const ACCEPT_METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// The same for a list.
pub(crate) const ACCEPT_METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

impl Call<'_> {
    fn class(&self) -> Class {
        if self.is_watch {
            Class::Watch
        } else if self.method == Method::GET {
            Class::Read
        } else {
            Class::Write
        }
    }

    /// Whether an answer with this code is what was hoped for (REST-RS-01).
    fn is_success(&self, code: u16) -> bool {
        if self.is_watch { code == 200 } else { (200..=206).contains(&code) }
    }

    fn request(&self) -> Result<http::Request<Bytes>, http::Error> {
        let mut request =
            http::Request::builder().method(&self.method).uri(&self.url).header(ACCEPT, self.accept);
        let bytes = match &self.body {
            None => Bytes::new(),
            Some((media, bytes)) => {
                request = request.header(CONTENT_TYPE, *media);
                bytes.clone()
            }
        };
        request.body(bytes)
    }
}
