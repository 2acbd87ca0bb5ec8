//! The server's URL: what is assumed where it says nothing.

use http::Uri;
use http::uri::{Authority, Scheme};

use crate::{ClientConfig, ConfigError};

/// The server's URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// `https`, or `http`?
    pub(crate) tls: bool,
    /// Host and port as the URL writes them; the `Host` header.
    pub(crate) authority: Authority,
    /// The path before every request's path, without a slash at its end: `/k8s/clusters/c-1`, or empty.
    pub(crate) prefix: String,
}

impl Server {
    /// Takes the configured server apart (REST-CF-02 to 04). Query and fragment are dropped.
    pub(crate) fn of(config: &ClientConfig) -> Result<Self, ConfigError> {
        let tls = &config.tls;
        let any_tls = tls.insecure || tls.ca.is_some() || tls.client_cert.is_some();
        Self::parse(&config.server, any_tls)
    }

    fn parse(server: &str, any_tls: bool) -> Result<Self, ConfigError> {
        let invalid = |problem: &str| ConfigError::invalid("server", format!("{server:?}: {problem}"));
        let text = if server.is_empty() { "localhost" } else { server };
        let text = text.split('#').next().unwrap_or_default();
        if !text.contains("://") {
            let authority = text.strip_suffix('/').unwrap_or(text);
            let authority: Authority =
                authority.parse().map_err(|_| invalid("neither a URL nor host:port"))?;
            return Self::new(any_tls, authority, "").map_err(invalid);
        }
        let uri: Uri = text.parse().map_err(|_| invalid("not a URL"))?;
        let tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(invalid("the scheme must be https or http")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("it names no host"))?.clone();
        Self::new(tls, authority, uri.path()).map_err(invalid)
    }

    fn new(tls: bool, authority: Authority, path: &str) -> Result<Self, &'static str> {
        if authority.as_str().contains('@') {
            return Err("a user name in the URL is not used; set the credentials of the user instead");
        }
        if authority.host().is_empty() {
            return Err("it names no host");
        }
        let after_host = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !after_host.is_empty() && authority.port_u16().is_none() {
            return Err("the port must be a number from 0 to 65535");
        }
        Ok(Server { tls, authority, prefix: path.trim_end_matches('/').to_owned() })
    }

    /// The host alone; an IPv6 address without its brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.authority.host();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, the scheme's own if the URL names none.
    pub(crate) fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.tls { 443 } else { 80 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(server: &str, any_tls: bool) -> Result<(bool, String, u16, String), String> {
        Server::parse(server, any_tls)
            .map(|server| (server.tls, server.host().to_owned(), server.port(), server.prefix.clone()))
            .map_err(|error| error.to_string())
    }

    // REST-CF-02, REST-CF-03, REST-CF-04, REST-KC-20
    #[test]
    fn what_the_url_does_not_say_is_assumed_as_client_go_assumes_it() {
        for (server, any_tls, expected) in [
            ("", false, (false, "localhost", 80, "")),
            ("", true, (true, "localhost", 443, "")),
            ("example.com", false, (false, "example.com", 80, "")),
            ("example.com:6443", true, (true, "example.com", 6443, "")),
            ("127.0.0.1:8080", false, (false, "127.0.0.1", 8080, "")),
            ("example.com/", true, (true, "example.com", 443, "")),
            ("https://example.com", false, (true, "example.com", 443, "")),
            ("http://example.com", true, (false, "example.com", 80, "")),
            ("https://[::1]:6443", false, (true, "::1", 6443, "")),
            ("https://h/k8s/clusters/c-1/?a=b#c", false, (true, "h", 443, "/k8s/clusters/c-1")),
            ("https://h/k8s#c", false, (true, "h", 443, "/k8s")),
            ("HTTPS://h//", false, (true, "h", 443, "")),
        ] {
            let (tls, host, port, prefix) = expected;
            let expected = Ok((tls, host.to_owned(), port, prefix.to_owned()));
            assert_eq!(parse(server, any_tls), expected, "{server:?}");
        }
    }

    // REST-CF-03
    #[test]
    fn a_server_that_is_neither_url_nor_host_is_refused() {
        for server in [
            "host/path",
            "ftp://h",
            "https://",
            "https://h ",
            "h:port",
            "https://h:99999",
            "https://u:p@h",
            "https://h:",
        ] {
            let error = parse(server, true).expect_err(server);
            assert!(error.starts_with("server: "), "{error}");
        }
    }
}
