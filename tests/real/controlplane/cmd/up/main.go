// up starts etcd, kube-apiserver and kube-controller-manager on free loopback ports, and ends them again.
//
//	up --bin FOLDER [--controller-manager=false]
//
// When all are ready it prints one JSON line: where they are and how to be let in. Then it takes commands on standard
// input, a line each, and answers each with a line, "ok" or "error: …":
//
//	kill-apiserver    ends the API server at once (SIGKILL)
//	start-apiserver   starts it again on the same port, and waits until it is ready
//	compact           compacts etcd up to its present revision
//
// The end of input, SIGINT and SIGTERM end everything and remove the folder of this run.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const readyWithin = 90 * time.Second

// process is a child that can be ended.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// world is one run: a folder, ports, keys and the children.
type world struct {
	bin, dir                 string
	keys                     keys
	etcdPort, peerPort, port int
	etcd, apiserver, manager *process
}

// answer is what a caller learns when all is ready.
type answer struct {
	Server      string `json:"server"`
	Kubeconfig  string `json:"kubeconfig"`
	CAFile      string `json:"caFile"`
	AdminToken  string `json:"adminToken"`
	NobodyToken string `json:"nobodyToken"`
	Logs        string `json:"logs"`
}

const (
	adminToken  = "real-suite-admin-token"
	nobodyToken = "real-suite-nobody-token"
)

func main() {
	bin := flag.String("bin", "", "folder of etcd, kube-apiserver and kube-controller-manager")
	manager := flag.Bool("controller-manager", true, "start the controller manager, too")
	flag.Parse()
	if err := run(*bin, *manager); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(bin string, withManager bool) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	dir, err := os.MkdirTemp("", "steersman-real-")
	if err != nil {
		return err
	}
	w := &world{bin: bin, dir: dir}
	defer w.end()
	if err := w.start(withManager); err != nil {
		return err
	}
	line, err := json.Marshal(answer{
		Server:      w.server(),
		Kubeconfig:  w.path("admin.kubeconfig"),
		CAFile:      w.path("ca.crt"),
		AdminToken:  adminToken,
		NobodyToken: nobodyToken,
		Logs:        w.path("logs"),
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	commands := make(chan string)
	go func() {
		defer close(commands)
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			commands <- strings.TrimSpace(in.Text())
		}
	}()
	for {
		select {
		case <-signals:
			return nil
		case command, more := <-commands:
			if !more {
				return nil
			}
			if err := w.obey(command); err != nil {
				fmt.Println("error:", err)
			} else {
				fmt.Println("ok")
			}
		}
	}
}

func (w *world) obey(command string) error {
	switch command {
	case "kill-apiserver":
		w.apiserver.end(syscall.SIGKILL)
		return nil
	case "start-apiserver":
		return w.startAPIServer()
	case "compact":
		return w.compact()
	default:
		return fmt.Errorf("unknown command %q", command)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }
func (w *world) server() string          { return fmt.Sprintf("https://127.0.0.1:%d", w.port) }
func (w *world) etcdURL() string         { return fmt.Sprintf("http://127.0.0.1:%d", w.etcdPort) }

func (w *world) start(withManager bool) error {
	var err error
	if err = os.Mkdir(w.path("logs"), 0o755); err != nil {
		return err
	}
	if w.keys, err = makeKeys(w.dir); err != nil {
		return err
	}
	for _, port := range []*int{&w.etcdPort, &w.peerPort, &w.port} {
		if *port, err = freePort(); err != nil {
			return err
		}
	}
	tokens := fmt.Sprintf("%s,token-admin,1,system:masters\n%s,nobody,2,nobodies\n", adminToken, nobodyToken)
	if err = os.WriteFile(w.path("tokens.csv"), []byte(tokens), 0o600); err != nil {
		return err
	}
	if err = os.WriteFile(w.path("admin.kubeconfig"), w.kubeconfig(), 0o600); err != nil {
		return err
	}
	peer := fmt.Sprintf("http://127.0.0.1:%d", w.peerPort)
	w.etcd, err = w.spawn("etcd",
		"--data-dir="+w.path("etcd"), "--listen-client-urls="+w.etcdURL(), "--advertise-client-urls="+w.etcdURL(),
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync=true", "--log-level=warn")
	if err != nil {
		return err
	}
	if err = w.await("etcd", w.etcd, http.DefaultClient, w.etcdURL()+"/health"); err != nil {
		return err
	}
	if err = w.startAPIServer(); err != nil || !withManager {
		return err
	}
	w.manager, err = w.spawn("kube-controller-manager",
		"--kubeconfig="+w.path("admin.kubeconfig"), "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+w.path("sa.key"), "--root-ca-file="+w.path("ca.crt"),
		"--use-service-account-credentials=false")
	return err
}

func (w *world) startAPIServer() error {
	var err error
	w.apiserver, err = w.spawn("kube-apiserver",
		"--etcd-servers="+w.etcdURL(), "--etcd-compaction-interval=0", fmt.Sprintf("--secure-port=%d", w.port),
		"--bind-address=127.0.0.1", "--tls-cert-file="+w.path("server.crt"), "--tls-private-key-file="+w.path("server.key"),
		"--cert-dir="+w.path("certs"), "--client-ca-file="+w.path("ca.crt"), "--token-auth-file="+w.path("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+w.path("sa.pub"),
		"--service-account-signing-key-file="+w.path("sa.key"), "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		return err
	}
	return w.await("kube-apiserver", w.apiserver, w.client(), w.server()+"/readyz")
}

// client trusts the CA of this run and comes with the admin's token.
func (w *world) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.keys.ca)
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: withToken{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}},
	}
}

type withToken struct{ next http.RoundTripper }

func (t withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+adminToken)
	return t.next.RoundTrip(request)
}

func (w *world) await(name string, child *process, client *http.Client, url string) error {
	deadline := time.Now().Add(readyWithin)
	var last error
	for time.Now().Before(deadline) {
		select {
		case <-child.done:
			return fmt.Errorf("%s ended before it was ready; its log is %s", name, w.tail(name))
		default:
		}
		response, err := client.Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(response.Status)
		}
		last = err
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s was not ready within %s: %w; its log is %s", name, readyWithin, last, w.tail(name))
}

// tail is the end of a child's log: the folder is gone when somebody reads the error.
func (w *world) tail(name string) string {
	text, err := os.ReadFile(filepath.Join(w.path("logs"), name+".log"))
	if err != nil {
		return err.Error()
	}
	if len(text) > 4000 {
		text = text[len(text)-4000:]
	}
	return "\n" + string(text)
}

func (w *world) spawn(name string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(w.path("logs"), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	// A child must not outlive us, however we end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		log.Close()
		close(p.done)
	}()
	return p, nil
}

func (p *process) end(with syscall.Signal) {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(with)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (w *world) end() {
	w.manager.end(syscall.SIGTERM)
	w.apiserver.end(syscall.SIGKILL)
	w.etcd.end(syscall.SIGTERM)
	if err := os.RemoveAll(w.dir); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
	}
}

// compact forgets every revision before the present one.
func (w *world) compact() error {
	var status struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := w.etcdCall("/v3/kv/range", map[string]any{"key": "AA==", "limit": 1}, &status); err != nil {
		return err
	}
	return w.etcdCall("/v3/kv/compaction", map[string]any{"revision": status.Header.Revision, "physical": true}, nil)
}

func (w *world) etcdCall(path string, question any, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	response, err := http.Post(w.etcdURL()+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s: %s", path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (w *world) kubeconfig() []byte {
	data := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: real
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    client-certificate-data: %s
    client-key-data: %s
- name: token-admin
  user:
    token: %s
- name: nobody
  user:
    token: %s
contexts:
- name: admin
  context: {cluster: real, user: admin}
- name: token-admin
  context: {cluster: real, user: token-admin}
- name: nobody
  context: {cluster: real, user: nobody}
current-context: admin
`, w.server(), data(w.keys.ca), data(w.keys.adminCert), data(w.keys.adminKey), adminToken, nobodyToken)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
