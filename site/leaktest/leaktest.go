// Package leaktest makes a package's tests fail if a goroutine outlives them, whether the tests or the code under test
// started it.
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// It must never know what a package does. waitForGoroutines lists the goroutines of other modules that may stay, with
// the reason.
package leaktest

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long goroutines may take to end after the tests, on a busy machine.
const timeout = time.Minute

// Main runs the tests, then each function of after, checks that no goroutine is left, and exits.
func Main(m *testing.M, after ...func() error) {
	code := m.Run()
	for _, f := range after {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if code == 0 {
		if err := waitForGoroutines(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// waitForGoroutines waits until no goroutine is left but those that may stay. After the timeout it returns an error
// that lists them.
func waitForGoroutines() error {
	for end := time.Now().Add(timeout); ; {
		http.DefaultClient.CloseIdleConnections() // tests use it, and it keeps connections open for 90 seconds
		err := goleak.Find(
			goleak.IgnoreAnyFunction("testing.(*F).Fuzz.func1"), // a fuzzing worker between two inputs
			// The server that postgrestest shares between test processes goes on when this one ends.
			goleak.IgnoreAnyFunction("tollbook/site/postgres/private.(*Server).watch"),
		)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
