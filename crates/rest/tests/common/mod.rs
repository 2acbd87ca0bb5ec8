//! A server on loopback that says what a script tells it to say, byte for byte, and remembers what it was asked.

use std::fmt::Write;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "the diary of a fake")]
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request as it was received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// What is said to one request.
pub(crate) struct Reply {
    /// Written as it is, piece by piece.
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) then: Then,
}

/// What happens when everything has been said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection waits for its next request.
    KeepAlive,
    /// It is closed.
    Close,
    /// Nothing more is ever said.
    Silence,
}

/// A whole JSON answer.
pub(crate) fn json(code: u16, body: &str) -> Reply {
    answer(code, &[("content-type", "application/json")], body)
}

/// A whole answer.
pub(crate) fn answer(code: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut head = format!("HTTP/1.1 {code} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    Reply { pieces: vec![(head + "\r\n" + body).into_bytes()], then: Then::KeepAlive }
}

/// A JSON answer in chunks, and how it ends; `is_whole` writes the last chunk.
pub(crate) fn stream(pieces: &[&str], is_whole: bool, then: Then) -> Reply {
    let mut all = vec![
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
    ];
    all.extend(pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes()));
    if is_whole {
        all.push(b"0\r\n\r\n".to_vec());
    }
    Reply { pieces: all, then }
}

/// No answer at all: the connection is closed.
pub(crate) fn cut() -> Reply {
    Reply { pieces: Vec::new(), then: Then::Close }
}

type Script = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

/// The server. Dropping it ends its connections.
pub(crate) struct Server {
    pub(crate) url: String,
    #[expect(clippy::disallowed_types, reason = "as above")]
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<tokio::sync::Notify>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// `script` gets the number of the request, counted from 0, and the request.
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(crate) async fn start(script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(tokio::sync::Notify::new());
        let script: Arc<Script> = Arc::new(script);
        let mut tasks = JoinSet::new();
        let (diary, gone) = (seen.clone(), closed.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (diary, script, gone) = (diary.clone(), script.clone(), gone.clone());
                connections.spawn(async move {
                    serve(socket, &diary, &*script).await;
                    gone.notify_one();
                });
            }
        });
        Self { url, seen, closed, _tasks: tasks }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Comes back when a connection has been closed by the client or by the script.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
async fn serve(mut socket: TcpStream, diary: &Mutex<Vec<Seen>>, script: &Script) {
    let mut held = Vec::new();
    while let Some(seen) = read(&mut socket, &mut held).await {
        let number = {
            let mut diary = diary.lock().unwrap();
            diary.push(seen.clone());
            diary.len() - 1
        };
        let reply = script(number, &seen);
        for piece in reply.pieces {
            if socket.write_all(&piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        match reply.then {
            Then::KeepAlive => {}
            Then::Close => return,
            Then::Silence => {
                // Until the client closes.
                while matches!(socket.read(&mut [0; 1024]).await, Ok(1..)) {}
                return;
            }
        }
    }
}

async fn read(socket: &mut TcpStream, held: &mut Vec<u8>) -> Option<Seen> {
    let end = loop {
        if let Some(end) = held.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        more(socket, held).await?;
    };
    let text = String::from_utf8(held[..end].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap().split(' ').map(str::to_owned);
    let (method, url) = (words.next().unwrap(), words.next().unwrap());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while held.len() < end + 4 + length {
        more(socket, held).await?;
    }
    let body = String::from_utf8(held[end + 4..end + 4 + length].to_vec()).unwrap();
    held.drain(..end + 4 + length);
    Some(Seen { method, url, headers, body })
}

async fn more(socket: &mut TcpStream, held: &mut Vec<u8>) -> Option<()> {
    match socket.read_buf(held).await {
        Ok(1..) => Some(()),
        _ => None,
    }
}
