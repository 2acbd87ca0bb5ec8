//! kubectl against the server: what people type works. Skipped, with a printed reason, where there is no kubectl.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use steersman_test_apiserver::{Options, TestApiServer};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

/// The longest that one kubectl may take; it is killed by its id after that.
const LIMIT: Duration = Duration::from_mins(1);

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'nginx:1'}]}
";

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: p1, labels: {app: web}}
spec: {containers: [{name: c, image: i}]}
";

/// A server, and a kubectl with a home of its own.
struct World {
    server: TestApiServer,
    home: TempDir,
}

impl World {
    /// None where there is no kubectl.
    async fn new() -> Option<Self> {
        let home = tempfile::tempdir().expect("a folder");
        let server = TestApiServer::start(Options::default()).await.expect("the server starts");
        server.write_kubeconfig(home.path().join("kubeconfig")).expect("written");
        let world = Self { server, home };
        match world.command(&["version", "--client"]).spawn() {
            Ok(child) => drop(ended(child, "").await),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                println!("skipped: there is no kubectl");
                return None;
            }
            Err(error) => panic!("kubectl does not start: {error}"),
        }
        Some(world)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// What kubectl prints; it must succeed.
    async fn run(&self, arguments: &[&str]) -> String {
        self.feed(arguments, "").await
    }

    /// The same with `input` on standard input.
    async fn feed(&self, arguments: &[&str], input: &str) -> String {
        let (is_success, out, error) = self.attempt(arguments, input).await;
        assert!(is_success, "kubectl {arguments:?}: {out}{error}");
        out
    }

    /// Whether kubectl succeeds, and what it prints on both streams.
    async fn attempt(&self, arguments: &[&str], input: &str) -> (bool, String, String) {
        ended(self.command(arguments).spawn().expect("kubectl starts"), input).await
    }

    fn stored(&self, path: &str, name: &str) -> Value {
        let (api_version, plural) = path.rsplit_once('/').expect("api version and plural");
        let target = steersman_test_apiserver::core::Target::new(api_version, plural).namespaced("default");
        let found =
            self.server.with_core(|core| core.get(&target, name, &apimachinery::GetOptions::default()));
        found.map_or(Value::Null, |stored| stored.value())
    }
}

async fn ended(mut child: Child, input: &str) -> (bool, String, String) {
    let mut stdin = child.stdin.take().expect("a pipe");
    if !input.is_empty() {
        stdin.write_all(input.as_bytes()).await.expect("kubectl reads");
    }
    drop(stdin);
    let output = tokio::time::timeout(LIMIT, child.wait_with_output())
        .await
        .expect("kubectl ends")
        .expect("an output");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// The words of each line.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn create_get_and_describe() {
    let Some(world) = World::new().await else { return };
    world.feed(&["create", "-f", "-"], POD).await;
    world.run(&["create", "configmap", "settings", "--from-literal=a=b"]).await;
    world.run(&["create", "deployment", "web", "--image=nginx:1", "--replicas=3"]).await;
    world.run(&["create", "namespace", "other"]).await;
    world.run(&["create", "secret", "generic", "s", "--from-literal=a=b"]).await;
    assert_eq!(world.stored("v1/configmaps", "settings")["data"], json!({ "a": "b" }));
    assert_eq!(world.stored("v1/secrets", "s")["data"], json!({ "a": "Yg==" }));
    assert_eq!(world.stored("apps/v1/deployments", "web")["spec"]["replicas"], json!(3));

    let pods = world.run(&["get", "pods"]).await;
    assert_eq!(rows(&pods)[0], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(rows(&pods)[1][..4], ["p1", "0/1", "Pending", "0"]);
    let wide = world.run(&["get", "deployments", "-o", "wide"]).await;
    assert_eq!(
        rows(&wide)[0],
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    );
    assert_eq!(rows(&wide)[1][..4], ["web", "0/3", "0", "0"]);
    let namespaces = world.run(&["get", "ns"]).await;
    let names: Vec<_> = rows(&namespaces).iter().map(|row| row[0]).collect();
    assert_eq!(names, ["NAME", "default", "kube-node-lease", "kube-public", "kube-system", "other"]);

    let yaml = world.run(&["get", "configmap", "settings", "-o", "yaml"]).await;
    assert!(yaml.contains("a: b") && yaml.contains("kind: ConfigMap"), "{yaml}");
    let name = world.run(&["get", "pods", "-l", "app=web", "-o", "name"]).await;
    assert_eq!(name, "pod/p1\n");

    let uid = world.stored("v1/pods", "p1")["metadata"]["uid"].clone();
    world
        .server
        .create(json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": "p1.1" }, "reason": "Tested", "message": "a word",
            "type": "Normal", "count": 1, "source": { "component": "test" },
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
            "involvedObject": { "apiVersion": "v1", "kind": "Pod", "name": "p1", "namespace": "default", "uid": uid },
        }))
        .expect("created");
    let told = world.run(&["describe", "pod", "p1"]).await;
    assert!(told.contains("Image:") && told.contains("Tested") && told.contains("a word"), "{told}");
}

#[tokio::test]
async fn apply_on_both_sides() {
    let Some(world) = World::new().await else { return };
    let image = |world: &World| {
        let web = world.stored("apps/v1/deployments", "web");
        web["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(world.feed(&["apply", "-f", "-"], DEPLOYMENT).await, "deployment.apps/web created\n");
    assert_eq!(world.feed(&["apply", "-f", "-"], DEPLOYMENT).await, "deployment.apps/web unchanged\n");
    let newer = DEPLOYMENT.replace("nginx:1", "nginx:2");
    assert_eq!(world.feed(&["apply", "-f", "-"], &newer).await, "deployment.apps/web configured\n");
    assert_eq!(image(&world), json!("nginx:2"));

    let side = ["apply", "--server-side", "--field-manager=me", "-f", "-"];
    let newest = DEPLOYMENT.replace("nginx:1", "nginx:3");
    let (is_success, _, error) = world.attempt(&side, &newest).await;
    assert!(!is_success && error.contains("conflict"), "another manager has the image: {error}");
    let forced = ["apply", "--server-side", "--field-manager=me", "--force-conflicts", "-f", "-"];
    assert_eq!(world.feed(&forced, &newest).await, "deployment.apps/web serverside-applied\n");
    assert_eq!(image(&world), json!("nginx:3"));
}

#[tokio::test]
async fn change_in_place() {
    let Some(world) = World::new().await else { return };
    world.feed(&["create", "-f", "-"], POD).await;
    world.feed(&["create", "-f", "-"], DEPLOYMENT).await;
    world.run(&["label", "pod", "p1", "a=1"]).await;
    world.run(&["annotate", "pod", "p1", "b=2"]).await;
    world.run(&["patch", "pod", "p1", "--type=merge", "-p", r#"{"metadata":{"labels":{"c":"3"}}}"#]).await;
    let json_patch = r#"[{"op":"add","path":"/metadata/labels/d","value":"4"}]"#;
    world.run(&["patch", "pod", "p1", "--type=json", "-p", json_patch]).await;
    let metadata = world.stored("v1/pods", "p1")["metadata"].clone();
    assert_eq!(metadata["labels"], json!({ "app": "web", "a": "1", "c": "3", "d": "4" }));
    assert_eq!(metadata["annotations"], json!({ "b": "2" }));

    let strategic = r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}"#;
    world.run(&["patch", "deployment", "web", "-p", strategic]).await;
    world.run(&["scale", "deployment", "web", "--replicas=5"]).await;
    world.run(&["set", "env", "deployment/web", "K=v"]).await;
    let spec = world.stored("apps/v1/deployments", "web")["spec"].clone();
    assert_eq!(spec["replicas"], json!(5));
    let containers = spec["template"]["spec"]["containers"].as_array().expect("containers").clone();
    assert_eq!(containers.len(), 1, "a container of the same name is changed, not added");
    assert_eq!((&containers[0]["image"], &containers[0]["env"][0]["value"]), (&json!("other"), &json!("v")));

    let edited =
        world.run(&["get", "pod", "p1", "-o", "json"]).await.replace("\"c\": \"3\"", "\"c\": \"33\"");
    world.feed(&["replace", "-f", "-"], &edited).await;
    assert_eq!(world.stored("v1/pods", "p1")["metadata"]["labels"]["c"], json!("33"));
}

#[tokio::test]
async fn delete_waits_until_it_is_gone() {
    let Some(world) = World::new().await else { return };
    world.feed(&["create", "-f", "-"], DEPLOYMENT).await;
    assert_eq!(world.run(&["delete", "deployment", "web"]).await, "deployment.apps \"web\" deleted\n");
    assert_eq!(world.stored("apps/v1/deployments", "web"), Value::Null);
    let (is_success, _, error) = world.attempt(&["delete", "deployment", "web"], "").await;
    assert!(!is_success && error.contains("(NotFound): deployments.apps \"web\" not found"), "{error}");
    world.run(&["create", "namespace", "other"]).await;
    world.run(&["create", "configmap", "a", "-n", "other"]).await;
    world.run(&["delete", "namespace", "other"]).await;
    let (_, _, error) = world.attempt(&["get", "configmap", "a", "-n", "other"], "").await;
    assert!(error.contains("NotFound"), "{error}");
}

#[tokio::test]
async fn get_watch_prints_a_row_a_change() {
    let Some(world) = World::new().await else { return };
    world.run(&["create", "configmap", "a"]).await;
    let mut child = world.command(&["get", "configmaps", "-w"]).spawn().expect("kubectl starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = async || {
        let line =
            tokio::time::timeout(LIMIT, lines.next_line()).await.expect("a line comes").expect("readable");
        let line = line.expect("the watch goes on");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(next().await, ["NAME", "DATA", "AGE"]);
    assert_eq!(next().await[..2], ["a", "0"]);
    world.run(&["create", "configmap", "b", "--from-literal=k=v"]).await;
    assert_eq!(next().await[..2], ["b", "1"]);
    child.kill().await.expect("it runs");
}

#[tokio::test]
async fn discovery_and_questions() {
    let Some(world) = World::new().await else { return };
    let resources = world.run(&["api-resources"]).await;
    assert!(
        resources
            .lines()
            .any(|line| rows(line)[0] == ["deployments", "deploy", "apps/v1", "true", "Deployment"])
    );
    assert!(world.run(&["api-versions"]).await.lines().any(|line| line == "apps/v1"));
    assert_eq!(world.run(&["get", "--raw", "/readyz"]).await, "ok");
    assert_eq!(world.run(&["auth", "can-i", "create", "pods"]).await, "yes\n");
    assert!(world.run(&["version"]).await.contains("Server Version: v1."));
    let (is_success, _, error) = world.attempt(&["get", "nothings"], "").await;
    assert!(!is_success && error.contains("the server doesn't have a resource type \"nothings\""), "{error}");
    let (is_success, _, error) = world.attempt(&["get", "pod", "none"], "").await;
    assert!(!is_success && error.contains("(NotFound): pods \"none\" not found"), "{error}");
}

#[tokio::test]
async fn wait_and_rollout_status_see_what_a_controller_writes() {
    let Some(world) = World::new().await else { return };
    world.feed(&["create", "-f", "-"], DEPLOYMENT).await;
    let status = json!({ "status": {
        "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "conditions": [{ "type": "Available", "status": "True" }],
    } });
    let patch = ["patch", "deployment", "web", "--subresource=status", "--type=merge", "-p"];
    let wait = world.run(&["wait", "--for=condition=Available", "deployment/web", "--timeout=50s"]);
    let write = async {
        let asked = world.server.requested(|request| request.parameter("watch").as_deref() == Some("true"));
        tokio::time::timeout(LIMIT, asked).await.expect("kubectl watches");
        world.run(&[&patch[..], &[&status.to_string()]].concat()).await;
    };
    let (waited, ()) = tokio::join!(wait, write);
    assert_eq!(waited, "deployment.apps/web condition met\n");
    let rolled = world.run(&["rollout", "status", "deployment/web", "--timeout=50s"]).await;
    assert!(rolled.contains("successfully rolled out"), "{rolled}");
}

#[tokio::test]
async fn custom_resources_have_their_columns() {
    let Some(world) = World::new().await else { return };
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "cats.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "cats", "singular": "cat", "kind": "Cat", "listKind": "CatList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                "additionalPrinterColumns": [{ "name": "Colour", "type": "string", "jsonPath": ".spec.colour" }],
            }],
        },
    });
    world.feed(&["create", "-f", "-"], &definition.to_string()).await;
    world.run(&["wait", "--for=condition=Established", "crd/cats.example.com", "--timeout=50s"]).await;
    let cat = json!({ "apiVersion": "example.com/v1", "kind": "Cat", "metadata": { "name": "tom" },
        "spec": { "colour": "grey" } });
    world.feed(&["apply", "-f", "-"], &cat.to_string()).await;
    let cats = world.run(&["get", "cats"]).await;
    assert_eq!(rows(&cats), [vec!["NAME", "COLOUR"], vec!["tom", "grey"]]);
}
