#![expect(clippy::disallowed_types, reason = "tests look over the server's shoulder")]

mod faults;
mod http;
mod identity;
mod proxy;
mod server;
mod tls;

use std::time::Duration;

use apimachinery::ApiError;
use bytes::Bytes;

use super::{Body, Mode, Transport};

const LIMIT: Duration = Duration::from_secs(20);

/// Waits for this to become true, with a limit.
async fn eventually(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LIMIT, wait).await.expect("it did not become true");
}

fn get(path: &str) -> ::http::Request<Bytes> {
    ::http::Request::get(path).body(Bytes::new()).unwrap()
}

async fn send(transport: &Transport, path: &str, mode: Mode) -> Result<::http::Response<Body>, ApiError> {
    tokio::time::timeout(LIMIT, transport.send(get(path), mode)).await.expect("no answer in time")
}

async fn read(response: ::http::Response<Body>) -> Result<String, ApiError> {
    let mut body = response.into_body();
    let mut all = Vec::new();
    while let Some(chunk) =
        tokio::time::timeout(LIMIT, crate::chunks::next(&mut body)).await.expect("no chunk in time")
    {
        all.extend_from_slice(&chunk?);
    }
    Ok(String::from_utf8(all).unwrap())
}

async fn text(transport: &Transport, path: &str) -> Result<String, ApiError> {
    read(send(transport, path, Mode::Shared).await?).await
}
