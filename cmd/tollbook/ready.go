package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// readyPatience is how long a server may take to say that it is ready.
const readyPatience = 4 * time.Second

// newReadyCommand asks a server how it is: what a container without a shell runs as its health check.
func newReadyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "ready ADDRESS",
		Short:  "Ask a server whether it is ready",
		Hidden: true,
		Long: `Ready asks ADDRESS once, such as http://127.0.0.1:4020/readyz, and says what it answers: a health check for containers,
which need no other program for it. It waits four seconds at most, and follows no redirect.

EXIT STATUS

0 when the answer is 200, 1 for any other or none, 2 for a command line that is wrong.`,
		Args: arguments("ADDRESS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.HasPrefix(args[0], "http://") && !strings.HasPrefix(args[0], "https://") {
				return usagef("%q is no address such as http://127.0.0.1:4020/readyz", args[0])
			}
			return runReady(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	return cmd
}

func runReady(ctx context.Context, address string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return usagef("ADDRESS: %w", err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ask whether it is ready: %s answers %s", address, res.Status)
	}
	fmt.Fprintln(stdout, strings.TrimSpace(string(body)))
	return nil
}
