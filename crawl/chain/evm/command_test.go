package evm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/testgate"
)

// TestAnvilByCommand runs the whole command, configured by a file, against a live chain: from empty, again, with new
// blocks, and next to a network whose node is down.
func TestAnvilByCommand(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	if _, err := exec.LookPath("go"); err != nil {
		testgate.Missing(t, "go is not in PATH, and builds the command")
	}
	n := startAnvil(t)
	m := newMarket(t, n, func() { n.call(nil, "evm_mine") })
	settlers := m.listed()
	for i := range settlers {
		settlers[i].Tokens = []string{hexOf(m.token[:])}
	}
	network := fmt.Sprintf("eip155:%d", n.chainID)
	d := newDirectory(t, settlers, network)
	dir := t.TempDir()
	program := filepath.Join(dir, "tollbook")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program,
		"tollbook/cmd/tollbook").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	file := fmt.Sprintf("[[network]]\ncaip2 = %q\nrpc = [%q]\nconfirmations = 1\n[[network.token]]\naddress = "+
		"%q\nsymbol = \"OWN\"\ndecimals = 6\nusd = true\n", network, n.url, hexOf(m.token[:]))
	if err := os.WriteFile(filepath.Join(dir, "tollbook.toml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	index := func(args ...string) (code int, fresh map[string]int, stderr string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"index", "--once", "--json"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "DATABASE_URL="+d.conn.Config().ConnString())
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		_ = cmd.Run() // the exit code is checked below
		var report struct {
			Networks []struct {
				Network     string
				Settlements int
			}
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v: it prints %q\n%s", err, &out, &log)
		}
		fresh = map[string]int{}
		for _, r := range report.Networks {
			fresh[r.Network] = r.Settlements
		}
		return cmd.ProcessState.ExitCode(), fresh, log.String()
	}
	had := 0
	for _, c := range []struct {
		name   string
		trades int
		args   []string
		down   string
	}{
		{"from empty", 4, nil, ""},
		{"again", 0, nil, ""},
		{"what is new", 3, nil, ""},
		{"beside one that is down", 2, []string{"--rpc", "eip155:137=http://127.0.0.1:1"}, "eip155:137"},
	} {
		for range c.trades {
			m.trade()
			m.tradeContracts()
			m.mine()
		}
		if c.trades > 0 {
			m.mine()
		}
		want := m.settled(n.head() - 1)
		code, fresh, stderr := index(c.args...)
		if (code == 1) != (c.down != "") || c.down != "" && !strings.Contains(stderr, "tollbook: index "+c.down+": ") {
			t.Errorf("%s: exit %d\n%s", c.name, code, stderr)
		}
		if fresh[network] != len(want)-had || c.trades > 0 && len(want) == had {
			t.Errorf("%s: %d new settlements, want %d\n%s", c.name, fresh[network], len(want)-had, stderr)
		}
		if diff := cmp.Diff(want, d.settled(t)); diff != "" {
			t.Errorf("%s: settlements (-want +got):\n%s", c.name, diff)
		}
		had = len(want)
	}
	if diff := cmp.Diff(sums(t, d), d.summed(t)); diff != "" {
		t.Errorf("roll-ups (-rows +rolled up):\n%s", diff)
	}
}
