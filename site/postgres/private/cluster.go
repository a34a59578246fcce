//go:build unix

package private

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// newCluster is the prefix of the names of clusters that initdb has not finished.
const newCluster = "data.new"

// clean ends servers and removes files that a killed program left.
func (p *place) clean(ctx context.Context) error {
	entries, err := os.ReadDir(p.home())
	if err != nil {
		return fmt.Errorf("look for rubbish: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), newCluster) {
			continue
		}
		dir := filepath.Join(p.home(), e.Name())
		if err := endStrays(ctx, dir); err != nil {
			return fmt.Errorf("end what a killed program left in %s: %w", dir, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an unfinished cluster: %w", err)
		}
	}
	if err := endStrays(ctx, p.data); err != nil {
		return fmt.Errorf("end what a killed program left in %s: %w", p.data, err)
	}
	return p.disarmPidFile()
}

// makeCluster runs initdb under another name and renames the result, so that the final name always means a complete
// cluster. A crash before the rename leaves a folder that clean removes.
func (p *place) makeCluster(ctx context.Context, o Options, id identity, progs programs) (err error) {
	dir, err := os.MkdirTemp(p.home(), newCluster)
	if err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := id.own(dir); err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	opened, err := id.open(dir)
	if err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	defer opened.close()
	args := []string{"-D", opened.paths[0], "-U", superuser, "-E", "UTF8", "--no-locale", "--data-checksums",
		"--auth-local=trust", "--auth-host=reject"}
	if o.Throwaway {
		args = append(args, "--no-sync")
	}
	cmd := id.command(ctx, "/", progs.path("initdb"), args...)
	cmd.ExtraFiles = opened.files
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // initdb and its backend
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("make a cluster in %s: initdb: %w\n%s", p.home(), err, lastLines(out.Bytes()))
	}
	if err := os.Rename(dir, p.data); err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	if err := syncDir(p.home()); err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
