//! The real control plane: one for the whole test process, started by the first test, ended with the process.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, MutexGuard, OnceCell, RwLock};

/// How long a test waits for what must come.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Where the control plane is, and how to be let in.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    /// `https://127.0.0.1:PORT`.
    pub server: String,
    /// Contexts `admin` (client certificate), `token-admin` (token) and `nobody` (a token without rights).
    pub kubeconfig: PathBuf,
    /// The cluster's CA, as PEM.
    pub ca_file: PathBuf,
}

/// What can be done to the control plane. Held by one test at a time.
pub struct Hand {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Ends with us: its input closes when the process goes.
    _up: Child,
}

/// The one runtime that all tests share: what the first opens must outlive it.
fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Runtime::new().expect("a runtime"))
}

/// Held by many tests at once, or by one that kills the server under all.
static SERVER: RwLock<()> = RwLock::const_new(());

/// Runs a test beside others.
pub fn run(test: impl Future<Output = ()>) {
    runtime().block_on(async {
        let _alive = SERVER.read().await;
        test.await;
    });
}

/// Runs a test that kills the server, when no other runs.
pub fn run_alone(test: impl Future<Output = ()>) {
    runtime().block_on(async {
        let _alone = SERVER.write().await;
        test.await;
    });
}

static WORLD: OnceCell<(World, Mutex<Hand>)> = OnceCell::const_new();

async fn shared() -> &'static (World, Mutex<Hand>) {
    WORLD
        .get_or_init(|| async {
            let folder = std::env::var_os("STEERSMAN_CONTROL_PLANE")
                .expect("STEERSMAN_CONTROL_PLANE is not set: run tests/real/run");
            let folder = PathBuf::from(folder);
            let mut up = Command::new(folder.join("up"))
                .arg("--bin")
                .arg(&folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the control plane's starter runs");
            let input = up.stdin.take().expect("its input is a pipe");
            let mut output = BufReader::new(up.stdout.take().expect("its output is a pipe")).lines();
            let line = tokio::time::timeout(Duration::from_mins(3), output.next_line())
                .await
                .expect("the control plane is ready in time")
                .expect("its output is text")
                .expect("the control plane started; see its message above");
            let world = serde_json::from_str(&line).expect("it says where it is");
            (world, Mutex::new(Hand { input, output, _up: up }))
        })
        .await
}

/// The control plane, started if it is not yet.
pub async fn world() -> &'static World {
    &shared().await.0
}

/// The hand that kills and restarts; other tests that need it wait.
pub async fn hand() -> MutexGuard<'static, Hand> {
    shared().await.1.lock().await
}

impl Hand {
    async fn say(&mut self, command: &str) {
        self.input.write_all(format!("{command}\n").as_bytes()).await.expect("the starter listens");
        let answer = tokio::time::timeout(Duration::from_mins(2), self.output.next_line()).await;
        let answer = answer.expect("the starter answers in time").expect("its answer is text");
        assert_eq!(answer.as_deref(), Some("ok"), "{command}");
    }

    /// Ends the API server at once.
    pub async fn kill_api_server(&mut self) {
        self.say("kill-apiserver").await;
    }

    /// Starts it again on its port; ready on return.
    pub async fn start_api_server(&mut self) {
        self.say("start-apiserver").await;
    }

    /// Makes etcd forget every revision before the present one.
    pub async fn compact(&mut self) {
        self.say("compact").await;
    }
}

/// Runs kubectl as the admin; its output. It must succeed.
pub async fn kubectl(arguments: &[&str]) -> String {
    let run = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(&world().await.kubeconfig)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output =
        tokio::time::timeout(PATIENCE, run).await.expect("kubectl ends in time").expect("kubectl runs");
    assert!(
        output.status.success(),
        "kubectl {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("kubectl prints text")
}

/// Waits until `condition` holds; `what` it is, for the message.
pub async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
