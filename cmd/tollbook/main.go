// Command tollbook finds, measures and publishes network services that charge per request over HTTP 402.
//
// This package contains flags, help, and the wiring of the parts. It contains no rules.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tollbook/site/invisible"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tollbook:", invisible.Drop(explain(ctx, err)))
		os.Exit(exitStatus(err))
	}
}
