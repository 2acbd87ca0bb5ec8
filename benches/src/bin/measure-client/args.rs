//! The command line, and the load server's control endpoints.

use steersman::{Client, ClientConfig};

/// `MODE --name value …`.
pub(crate) struct Args {
    pub(crate) mode: String,
    options: Vec<(String, String)>,
}

impl Args {
    pub(crate) fn parse() -> Self {
        let mut words = std::env::args().skip(1);
        let mode = words.next().unwrap_or_else(|| refuse("no mode"));
        let mut options = Vec::new();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else { refuse(&word) };
            match option.split_once('=') {
                Some((name, value)) => options.push((name.to_owned(), value.to_owned())),
                None => options.push((option.to_owned(), words.next().unwrap_or_default())),
            }
        }
        Self { mode, options }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }

    /// A client of the server, as one makes it by hand. Without a limit of its own: the load is the limit.
    pub(crate) fn client(&self) -> Client {
        if let Some(content) = self.get("content").filter(|content| *content != "json") {
            refuse(&format!("--content {content}"));
        }
        let mut config = ClientConfig::new(self.get("server").unwrap_or_else(|| refuse("no --server")));
        config.qps = -1.0;
        if let Some(ca) = self.get("ca") {
            config.tls.ca = Some(steersman::rest::Pem::File(ca.into()));
        }
        Client::new(config).expect("the arguments make a configuration")
    }

    /// A request to the server's control endpoints, over a connection of its own.
    pub(crate) async fn control(&self, method: steersman::rest::Method, path: &str) -> String {
        let base = self.get("control").or(self.get("server")).unwrap_or_else(|| refuse("no --server"));
        let host = base.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let stream = tokio::net::TcpStream::connect(&host).await.expect("the control endpoint listens");
        let (mut send, connection) =
            hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(stream))
                .await
                .expect("HTTP/1.1");
        let driver = tokio::spawn(connection);
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .expect("a request");
        let answer = send.send_request(request).await.expect("an answer");
        let body = http_body_util::BodyExt::collect(answer.into_body()).await.expect("a body").to_bytes();
        driver.abort();
        String::from_utf8_lossy(&body).into_owned()
    }
}

/// Something that is not there: says so, and ends the process.
pub(crate) fn refuse(what: &str) -> ! {
    eprintln!("measure-client: cannot do {what}");
    std::process::exit(3);
}
