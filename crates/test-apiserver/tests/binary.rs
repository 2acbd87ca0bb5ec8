//! The program: one line on standard output, a kubeconfig, a clean end.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The longest that any test waits for the program.
const LIMIT: Duration = Duration::from_secs(30);

/// A child that does not outlive its test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended already, as it should
        let _ = self.0.wait();
    }
}

/// Runs `work` on a thread of its own and waits for its outcome, but not for ever.
fn within<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(LIMIT).expect("it takes no longer than the limit")
}

fn ends_cleanly_on(signal: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let child = Command::new(env!("CARGO_BIN_EXE_steersman-test-apiserver"))
        .arg("--kubeconfig")
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut program = Program(child);
    let mut out = BufReader::new(program.0.stdout.take().expect("a pipe"));
    let (line, mut out) = within(move || {
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        (line, out)
    });
    let url = line.strip_prefix("listening on ").expect("the one line").trim_end().to_owned();
    let config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a kubeconfig")).expect("JSON, which is YAML");
    assert_eq!(config["clusters"][0]["cluster"]["server"], url);
    TcpStream::connect(url.trim_start_matches("https://")).expect("it listens");

    let sent = Command::new("kill").args([signal, &program.0.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let (status, rest) = within(move || {
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("the rest");
        (program.0.wait().expect("a status"), rest)
    });
    assert_eq!((status.code(), rest.as_str()), (Some(0), ""), "status 0, and nothing but the one line");
}

#[test]
fn it_stops_with_status_0_on_sigterm() {
    ends_cleanly_on("-TERM");
}

#[test]
fn it_stops_with_status_0_on_sigint() {
    ends_cleanly_on("-INT");
}

#[test]
fn a_port_that_is_taken_is_said_with_its_cause() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = within(move || {
        Command::new(env!("CARGO_BIN_EXE_steersman-test-apiserver"))
            .args(["--port", &port])
            .stdin(Stdio::null())
            .output()
            .expect("the program runs")
    });
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.contains("cannot listen on 127.0.0.1:") && error.contains(": Address already in use"),
        "{error}"
    );
    assert!(output.stdout.is_empty());
}
