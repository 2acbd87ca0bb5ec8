//! What the environment says about proxies (REST-TL-15), as a value.

use std::net::IpAddr;

use super::Server;
use crate::Secret;

/// `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper or lower case. `ALL_PROXY` is not read.
#[derive(Debug, Clone, Default)]
pub struct ProxyEnvironment {
    http: Option<Secret>,
    https: Option<Secret>,
    no_proxy: String,
}

impl ProxyEnvironment {
    /// Reads the variables with this function.
    pub(crate) fn of(var: &dyn Fn(&str) -> Option<String>) -> Self {
        let either = |upper: &str| {
            let value = var(upper).filter(|value| !value.is_empty());
            value.or_else(|| var(&upper.to_lowercase())).filter(|value| !value.is_empty())
        };
        ProxyEnvironment {
            http: either("HTTP_PROXY").map(Secret::from),
            https: either("HTTPS_PROXY").map(Secret::from),
            no_proxy: either("NO_PROXY").unwrap_or_default(),
        }
    }

    /// The URL of the proxy for this server, if there is one. A proxy without a scheme is `http`.
    pub(crate) fn proxy_for(&self, server: &Server) -> Option<String> {
        let url = if server.tls { &self.https } else { &self.http }.as_ref()?.expose();
        if self.is_exempt(server.host(), server.port()) {
            return None;
        }
        Some(if url.contains("://") { url.to_owned() } else { format!("http://{url}") })
    }

    fn is_exempt(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let ip: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
            return true;
        }
        self.no_proxy.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
            if entry == "*" {
                return true;
            }
            if let Some((net, bits)) = entry.split_once('/')
                && let (Ok(net), Ok(bits)) = (net.parse::<IpAddr>(), bits.parse::<u32>())
            {
                return ip.is_some_and(|ip| is_within(ip, net, bits));
            }
            let (name, wanted_port) = split_port(&entry);
            if name.is_empty() || wanted_port.is_some_and(|wanted| wanted != port) {
                return false;
            }
            if let Ok(wanted) = name.parse::<IpAddr>() {
                return ip == Some(wanted);
            }
            // `example.com` means itself and what is below it, `.example.com` only what is below it.
            let below = name.trim_start_matches('*').trim_start_matches('.');
            let is_below = host.strip_suffix(below).is_some_and(|rest| rest.ends_with('.'));
            is_below || (!name.starts_with(['.', '*']) && host == below)
        })
    }
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[')
        && let Some((ip, port)) = rest.split_once(']')
    {
        return (ip, port.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') => (name, port.parse().ok()),
        _ => (entry, None),
    }
}

fn is_within(ip: IpAddr, net: IpAddr, bits: u32) -> bool {
    match (ip, net) {
        (IpAddr::V4(ip), IpAddr::V4(net)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            ip.to_bits() & mask == net.to_bits() & mask
        }
        (IpAddr::V6(ip), IpAddr::V6(net)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            ip.to_bits() & mask == net.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientConfig;

    fn proxy(vars: &[(&str, &str)], server: &str) -> Option<String> {
        let vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let env = ProxyEnvironment::of(&|name| {
            vars.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        });
        env.proxy_for(&Server::of(&ClientConfig::new(server)).unwrap())
    }

    // REST-TL-15
    #[test]
    fn the_environment_chooses_by_scheme_in_either_case_and_all_proxy_is_not_read() {
        let vars =
            [("https_proxy", "secure:3128"), ("HTTP_PROXY", "http://plain:80"), ("ALL_PROXY", "all:1")];
        assert_eq!(proxy(&vars, "https://api:6443").as_deref(), Some("http://secure:3128"));
        assert_eq!(proxy(&vars, "http://api").as_deref(), Some("http://plain:80"));
        assert_eq!(proxy(&vars[2..], "https://api:6443"), None);
        for local in ["https://localhost:1", "https://127.0.0.1", "https://127.9.9.9", "https://[::1]:6443"] {
            assert_eq!(proxy(&vars, local), None, "{local}");
        }
    }

    // REST-TL-15
    #[test]
    fn no_proxy_knows_suffixes_hosts_ports_and_networks() {
        let table = [
            ("10.0.0.0/8,.svc", "https://10.96.0.1", true),
            ("10.0.0.0/8,.svc", "https://11.96.0.1", false),
            ("10.0.0.0/8, .svc", "https://kubernetes.default.svc", true),
            (".svc", "https://svc", false),
            ("example.com", "https://example.com", true),
            ("example.com", "https://api.example.com", true),
            ("example.com", "https://notexample.com", false),
            ("*.example.com", "https://api.example.com", true),
            ("EXAMPLE.com:6443", "https://Api.Example.com:6443", true),
            ("example.com:6443", "https://example.com", false),
            ("fd00::/8", "https://[fd12::1]:6443", true),
            ("[fd12::1]:6443", "https://[fd12::1]:6443", true),
            ("192.168.1.1", "https://192.168.1.1:6443", true),
            ("0.0.0.0/0", "https://8.8.8.8", true),
            ("*", "https://anything", true),
            ("", "https://anything", false),
            ("10.0.0.0/99", "https://10.0.0.1", false),
        ];
        for (no_proxy, server, exempt) in table {
            let found = proxy(&[("HTTPS_PROXY", "p:1"), ("NO_PROXY", no_proxy)], server);
            assert_eq!(found.is_none(), exempt, "{no_proxy:?} {server}");
        }
    }
}
