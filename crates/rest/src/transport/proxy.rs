//! The way through a proxy: HTTP `CONNECT` and SOCKS5. Names are resolved by the proxy.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::tls;
use crate::config::Server;
use crate::{ClientConfig, ConfigError, Proxy as Configured};

/// A proxy's answer to `CONNECT` above this is no answer.
const MAX_ANSWER: usize = 16 * 1024;

/// Straight, or through a proxy?
#[derive(Debug, Clone)]
pub(super) enum Via {
    Straight,
    Proxy(Box<Proxy>),
}

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// For a proxy that is itself spoken to over TLS.
    pub(super) tls: Option<(Arc<rustls::ClientConfig>, ServerName<'static>)>,
    protocol: Protocol,
    user: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http,
    Socks5,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} proxy {}:{}", self.protocol, self.host, self.port)
    }
}

impl Via {
    pub(super) fn of(config: &ClientConfig, server: &Server) -> Result<Self, ConfigError> {
        let url = match &config.proxy {
            Configured::None => return Ok(Via::Straight),
            Configured::Url(url) => url.expose().to_owned(),
            Configured::Environment(env) => match env.proxy_for(server) {
                Some(url) => url,
                None => return Ok(Via::Straight),
            },
        };
        Ok(Via::Proxy(Box::new(Proxy::parse(&url)?)))
    }

    /// Does a proxy forward plain requests itself, and what does it want to see?
    pub(super) fn forwarding(&self, server: &Server) -> Option<Forwarding> {
        match self {
            Via::Proxy(proxy) if proxy.protocol == Protocol::Http && !server.tls => Some(Forwarding {
                authorization: proxy.authorization().and_then(|basic| HeaderValue::try_from(basic).ok()),
            }),
            _ => None,
        }
    }
}

/// A plain request that the proxy itself sends on.
pub(super) struct Forwarding {
    pub(super) authorization: Option<HeaderValue>,
}

impl Proxy {
    /// `http://user:password@proxy:3128`, `https://…`, `socks5://…` (REST-KC-21).
    pub(crate) fn parse(url: &str) -> Result<Self, ConfigError> {
        // The URL may hold a password: the message does not.
        let invalid = |problem: &str| ConfigError::invalid("proxy-url", problem);
        let uri: Uri = url.parse().map_err(|_| invalid("not a URL"))?;
        let authority = uri.authority().ok_or_else(|| invalid("it names no host"))?;
        let (protocol, secure, port) = match uri.scheme_str() {
            Some("http") => (Protocol::Http, false, 80),
            Some("https") => (Protocol::Http, true, 443),
            Some("socks5" | "socks5h") => (Protocol::Socks5, false, 1080),
            _ => return Err(invalid("the scheme must be http, https or socks5")),
        };
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (unescape(name), unescape(password))
        });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = if secure {
            let name = ServerName::try_from(host.clone()).map_err(|_| invalid("not a host name"))?;
            let config = tls::of_proxy().map_err(|problem| invalid(&problem))?;
            Some((config, name))
        } else {
            None
        };
        Ok(Proxy { host, port: authority.port_u16().unwrap_or(port), tls, protocol, user })
    }

    fn authorization(&self) -> Option<String> {
        let (name, password) = self.user.as_ref()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    }

    /// Asks the proxy for a way to the server; afterwards the stream is the server's.
    pub(super) async fn greet<S>(&self, stream: &mut S, server: &Server) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match self.protocol {
            Protocol::Http if !server.tls => Ok(()),
            Protocol::Http => self.connect(stream, server).await,
            Protocol::Socks5 => self.socks5(stream, server).await,
        }
    }

    async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        server: &Server,
    ) -> io::Result<()> {
        let host = bracketed(server.host());
        let whom = format!("{host}:{}", server.port());
        let mut request = format!("CONNECT {whom} HTTP/1.1\r\nHost: {whom}\r\n");
        if let Some(basic) = self.authorization() {
            request.push_str("Proxy-Authorization: ");
            request.push_str(&basic);
            request.push_str("\r\n");
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= MAX_ANSWER {
                return Err(io::Error::other("the proxy's answer has no end"));
            }
            answer.push(stream.read_u8().await?);
        }
        let line = String::from_utf8_lossy(&answer);
        let line = line.lines().next().unwrap_or_default();
        let code = line.split(' ').nth(1).unwrap_or_default();
        if line.starts_with("HTTP/1.") && code.len() == 3 && code.starts_with('2') {
            return Ok(());
        }
        Err(io::Error::other(format!("the proxy answered {line:?} to CONNECT {whom}")))
    }

    /// RFC 1928, RFC 1929.
    async fn socks5<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        server: &Server,
    ) -> io::Result<()> {
        let greeting: &[u8] = if self.user.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
        stream.write_all(greeting).await?;
        stream.flush().await?;
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).await?;
        match (answer, &self.user) {
            ([5, 0], _) => {}
            ([5, 2], Some((name, password))) => {
                let mut request = vec![1];
                for text in [name, password] {
                    request.push(short(text)?);
                    request.extend_from_slice(text.as_bytes());
                }
                stream.write_all(&request).await?;
                stream.flush().await?;
                stream.read_exact(&mut answer).await?;
                if answer[1] != 0 {
                    return Err(io::Error::other("the SOCKS proxy refused the user name and password"));
                }
            }
            _ => return Err(io::Error::other("the SOCKS proxy wants another way to log in")),
        }
        let mut request = vec![5, 1, 0];
        match server.host().parse() {
            Ok(std::net::IpAddr::V4(ip)) => {
                request.push(1);
                request.extend_from_slice(&ip.octets());
            }
            Ok(std::net::IpAddr::V6(ip)) => {
                request.push(4);
                request.extend_from_slice(&ip.octets());
            }
            Err(_) => {
                request.extend_from_slice(&[3, short(server.host())?]);
                request.extend_from_slice(server.host().as_bytes());
            }
        }
        request.extend_from_slice(&server.port().to_be_bytes());
        stream.write_all(&request).await?;
        stream.flush().await?;
        let mut head = [0; 4];
        stream.read_exact(&mut head).await?;
        if head[0] != 5 || head[1] != 0 {
            return Err(io::Error::other(format!("the SOCKS proxy answered with code {}", head[1])));
        }
        let rest = 2 + match head[3] {
            1 => 4,
            4 => 16,
            3 => usize::from(stream.read_u8().await?),
            _ => return Err(io::Error::other("the SOCKS proxy answered with an unknown kind of address")),
        };
        let mut bound = [0; 257];
        stream.read_exact(&mut bound[..rest]).await?;
        Ok(())
    }
}

fn short(text: &str) -> io::Result<u8> {
    u8::try_from(text.len()).map_err(|_| io::Error::other("longer than SOCKS allows"))
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// `%41` is `A`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) if byte == b'%' => {
                bytes.push(value);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
