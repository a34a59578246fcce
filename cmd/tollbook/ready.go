package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
)

// readyTimeout is how long a server may take to answer.
const readyTimeout = 4 * time.Second

// newReadyCommand returns the health check of a container without a shell.
func newReadyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:    "ready URL",
		Short:  "Check whether a server is ready",
		Hidden: true,
		Long: `Ready requests URL once, such as http://127.0.0.1:4020/readyz, and prints the response. It is a health
check for containers that have no other program for it. It waits up to four seconds and follows no redirect.

EXIT STATUS

0 for a response with status 200, 1 for any other or none, 2 for an error in the command line.`,
		Example: "  tollbook ready http://127.0.0.1:4020/readyz",
		Args:    arguments("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.HasPrefix(args[0], "http://") && !strings.HasPrefix(args[0], "https://") {
				return terminal.UsageErrorf("%q: give a URL such as http://127.0.0.1:4020/readyz", settings.RedactUser(args[0]))
			}
			return runReady(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	return cmd
}

func runReady(ctx context.Context, address string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return terminal.UsageErrorf("%q: give a URL such as http://127.0.0.1:4020/readyz", settings.RedactUser(address))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	address = settings.RedactURL(address)
	if err != nil {
		if failed := new(url.Error); errors.As(err, &failed) {
			err = failed.Err // without the URL
		}
		return fmt.Errorf("check whether %s is ready: %w", address, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	if err != nil {
		return fmt.Errorf("check whether %s is ready: %w", address, err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("check whether %s is ready: it answers %s", address, res.Status)
	}
	fmt.Fprintln(stdout, strings.TrimSpace(string(body)))
	return nil
}
