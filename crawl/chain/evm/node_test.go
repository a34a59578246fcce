package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/cmd/nodetest"
	"tollbook/site/testgate"
)

// cacheDir returns the directory for what tests install, outside the repository.
func cacheDir(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	dir := filepath.Join(cache, "tollbook-test")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNodeLockNamesNoRegistry checks that the lock file has versions and hashes but no registry: each machine has its
// own.
func TestNodeLockNamesNoRegistry(t *testing.T) {
	t.Parallel()
	nodetest.CheckLock(t, "testdata/node",
		map[string]string{"@foundry-rs/anvil-linux-amd64": "1.7.1", "solc": "0.8.37"})
}

// liveNode is a real node with the calls that tests need.
type liveNode struct {
	t       *testing.T
	url     string
	chainID int64
	dev     key // has ether from the start
}

// patience is the longest time that a test waits for an event that must come.
const patience = 3 * time.Minute

// words is a program's output. It sends the first match of an expression to a channel.
type words struct {
	mu    sync.Mutex
	all   bytes.Buffer
	until *regexp.Regexp // nil after the match
	came  chan string    // group 1 of the match
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if w.until != nil {
		if m := w.until.FindSubmatch(w.all.Bytes()); m != nil {
			w.until = nil
			w.came <- string(m[1])
		}
	}
	return len(p), nil
}

// last returns the end of the output.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.all.Bytes()[max(0, w.all.Len()-2000):])
}

// startProgram runs a node until the test ends. It returns the address in the node's output. The system assigns the
// port, because a port that is free now may be in use when the node opens it.
func startProgram(t *testing.T, listens, program string, args ...string) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	said := &words{until: regexp.MustCompile(listens), came: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatalf("start %s: %v", program, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it returns an error because the program was killed
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("%s says at last:\n%s", filepath.Base(program), said.last())
		}
	})
	select {
	case address = <-said.came:
	case <-ended:
		t.Fatalf("%s ended:\n%s", program, said.last())
	case <-time.After(patience):
		t.Fatalf("%s does not listen:\n%s", program, said.last())
	}
	return address
}

// startAnvil runs anvil, which mines on request. Its chain has contracts of x402 at their addresses.
func startAnvil(t *testing.T) *liveNode {
	t.Helper()
	program := filepath.Join(nodetest.Install(t, "testdata/node"), "@foundry-rs/anvil-linux-amd64/bin/anvil")
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		var err error
		if program, err = exec.LookPath("anvil"); err != nil {
			testgate.Missing(t, "anvil is missing: npm has it for Linux on amd64, Foundry for others")
		}
	}
	address := startProgram(t, `Listening on (\S+)\n`, program, "--port", "0", "--no-mining", "--chain-id", "8453",
		"--gas-limit", "300000000")
	n := &liveNode{t: t, url: "http://" + address,
		dev: parseKey("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")}
	n.wait()
	code := contracts(t)
	n.call(nil, "anvil_setCode", text(exact), "0x"+code["Proxy"].Runtime)
	n.call(nil, "anvil_setCode", text(escrow), "0x"+code["BatchSettlement"].Runtime)
	return n
}

// startGeth runs geth, which mines what it receives.
func startGeth(t *testing.T) *liveNode {
	t.Helper()
	bin := filepath.Join(filepath.Dir(cacheDir(t)), "tollbook", "bin") // where .ci/run installs it
	program := filepath.Join(bin, "geth")
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("geth"); err != nil {
			testgate.Missing(t, "geth is missing; install it with GOBIN=%s "+
				"go install github.com/ethereum/go-ethereum/cmd/geth@v1.16.9", bin)
		}
	}
	address := startProgram(t, `HTTP server started +endpoint=(\S+) auth=false`, program, "--dev", "--dev.gaslimit",
		"300000000", "--http", "--http.addr", "127.0.0.1", "--http.port", "0",
		"--http.api", "eth,net,web3,debug,dev", "--ipcdisable", "--authrpc.addr", "127.0.0.1", "--authrpc.port", "0",
		"--nodiscover", "--maxpeers", "0", "--nat", "none", "--port", "0")
	n := &liveNode{t: t, url: "http://" + address,
		dev: parseKey("b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291")}
	n.wait()
	return n
}

// wait waits until the node answers, and reads its chain id.
func (n *liveNode) wait() {
	n.t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var id string
		err := n.try(&id, "eth_chainId")
		if err == nil {
			if _, err := fmt.Sscanf(id, "0x%x", &n.chainID); err != nil {
				n.t.Fatal(err)
			}
			return
		}
		if time.Since(begun) > patience {
			n.t.Fatalf("%s does not answer: %v", n.url, err)
		}
	}
}

// call calls a method and fails the test on an error.
func (n *liveNode) call(result any, method string, params ...any) {
	n.t.Helper()
	if err := n.try(result, method, params...); err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
}

func (n *liveNode) try(result any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	resp, err := http.Post(n.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("%s", strings.TrimSpace(answer.Error.Message))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// head returns the newest block's number.
func (n *liveNode) head() (number int64) {
	n.t.Helper()
	var text string
	n.call(&text, "eth_blockNumber")
	if _, err := fmt.Sscanf(text, "0x%x", &number); err != nil {
		n.t.Fatal(err)
	}
	return number
}
