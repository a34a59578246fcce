package chain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// peer runs ponder, with a handler that stores each settlement and adds to its day.
func (b *bench) peer(ctx context.Context) (float64, error) {
	return b.measure(ctx, "ponder", `SELECT count(*), sum(amount)::text FROM bench.settlement`, func(dsn string) error {
		return await(ctx, b.project, dsn, b.rpc, b.blocks)
	})
}

// install copies the peer's project and installs its dependencies.
func install(ctx context.Context, project string) error {
	_, file, _, _ := runtime.Caller(0)
	from := filepath.Join(filepath.Dir(file), "ponder")
	if err := os.CopyFS(project, os.DirFS(from)); err != nil && !os.IsExist(err) {
		return err
	}
	if _, err := os.Stat(filepath.Join(project, "node_modules/ponder")); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = project, os.Stderr, os.Stderr
	return cmd.Run()
}

// await runs ponder until it reports that all past blocks are indexed.
func await(ctx context.Context, project, dsn, rpc string, blocks int64) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	var names []string
	for _, f := range listed() {
		for _, s := range f.Settlers {
			names = append(names, s.Address+"="+f.ID)
		}
	}
	if err := os.RemoveAll(filepath.Join(project, ".ponder")); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "node_modules/ponder/dist/esm/bin/ponder.js", "start", "--port", port,
		"--hostname", "127.0.0.1", "--schema", "bench")
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "PONDER_TELEMETRY_DISABLED=true", "DATABASE_URL="+dsn, "RPC="+rpc,
		"SETTLERS="+strings.Join(names, ","), "END="+fmt.Sprint(blocks))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	for {
		select {
		case err := <-died:
			return fmt.Errorf("ended early: %v\n%s", err, said.Bytes()[max(0, said.Len()-3000):])
		case <-time.After(20 * time.Millisecond):
		}
		resp, err := http.Get("http://127.0.0.1:" + port + "/ready")
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			cancel()
			<-died
			return nil
		}
	}
}
