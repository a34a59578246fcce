package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// errNoTerminal says that nobody can be asked.
var errNoTerminal = errors.New("no terminal to ask on")

// confirm asks a question on a terminal and reports whether the answer is yes. It returns ErrNoTerminal if stdin is
// none.
func confirm(ctx context.Context, stdin io.Reader, stderr io.Writer, question string) (bool, error) {
	if f, ok := stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return false, errNoTerminal
	}
	fmt.Fprintf(stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdin).ReadString('\n') // an end without an answer is a no
		answer <- line
	}()
	select {
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(stderr)
		}
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(stderr)
		return false, ctx.Err()
	}
}
