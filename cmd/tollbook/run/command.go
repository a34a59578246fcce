package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"tollbook/site/postgres/inbox"
)

// commandGrace is how long a command may continue after SIGTERM, and its children after its end.
const commandGrace = 2 * time.Second

// maxOutput is how much of a failed command's output is logged: its end, in bytes.
const maxOutput = 1 << 10

// failure is a run of the command that failed.
type failure struct {
	err    error
	output string // the end of what it printed
}

// run runs the command once. It returns nil if the command succeeded.
func (n *Notifier) run(ctx context.Context, taken *inbox.Notification) *failure {
	input, err := encode(taken)
	if err != nil {
		return &failure{err: err}
	}
	limited, cancel := context.WithTimeout(ctx, n.o.Limit)
	defer cancel()
	cmd := exec.CommandContext(limited, n.o.Command[0], n.o.Command[1:]...)
	cmd.Env = withoutSecrets(os.Environ())
	cmd.Stdin = bytes.NewReader(input) // a command that reads nothing of it is no failure
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	stopWithChildren(cmd)
	cmd.WaitDelay = commandGrace
	err = cmd.Run()
	if limited.Err() != nil {
		killChildren(cmd)
	}
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay) && limited.Err() == nil: // a child of it still runs
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("it ran longer than %s and was stopped", n.o.Limit)
	}
	return &failure{err: err, output: output.String()}
}

// tail is a writer that keeps the end of what is written.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if extra := len(t.data) - maxOutput; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

// String returns the text in one line, without characters that a terminal or a log would obey.
func (t *tail) String() string {
	text := strings.ToValidUTF8(string(t.data), "")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
}

// secretVariables are the variables that the command does not get, because they are, or may contain, secrets of
// Tollbook. A name that ends in * stands for all names that begin so.
var secretVariables = []string{"DATABASE_URL", "AWS_*", "OPENAI_*", "TOLLBOOK_*", "PG*"}

// withoutSecrets returns an environment without Tollbook's secrets. It is never nil, which would stand for all of it.
func withoutSecrets(all []string) []string {
	rest := []string{}
	for _, line := range all {
		name, _, _ := strings.Cut(line, "=")
		secret := false
		for _, pattern := range secretVariables {
			prefix, isPrefix := strings.CutSuffix(pattern, "*")
			secret = secret || name == pattern || isPrefix && strings.HasPrefix(name, prefix)
		}
		if !secret {
			rest = append(rest, line)
		}
	}
	return rest
}
