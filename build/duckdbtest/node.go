package duckdbtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Node is DuckDB in Node.js.
type Node struct {
	Folder  string // with query.js, and the lock of its module
	Modules string // folder of the modules that the lock pins
}

// Query returns the rows of the last statement of each list of statements, as texts, nil for null.
func (n Node) Query(ctx context.Context, queries ...string) (answers [][][]*string, err error) {
	input, err := json.Marshal(queries)
	if err != nil {
		return nil, err
	}
	script, err := filepath.Abs(filepath.Join(n.Folder, "query.js"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Env = append(os.Environ(), "MODULES="+n.Modules)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		said := stderr.String()
		return nil, fmt.Errorf("ask DuckDB in Node.js: %w\n%s", err, said[max(0, len(said)-3000):])
	}
	return answers, json.Unmarshal(out, &answers)
}
