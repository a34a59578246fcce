// Package leaktest holds tests to ending what they began: a package's tests fail when a goroutine outlives them, be it
// the tests' own or one that the code under test forgot.
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// It must never know what a package does: which goroutines of other modules may stay is said here, with the reason.
package leaktest

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines that have been told to end may take, on a machine with other things to do.
const patience = time.Minute

// Main runs the tests, then each of after, looks for goroutines that are left, and exits.
func Main(m *testing.M, after ...func() error) {
	code := m.Run()
	for _, f := range after {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	if code == 0 {
		if err := left(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines outlive the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// left waits until no goroutine is left but those that stay for a reason, or tells them.
func left() error {
	for end := time.Now().Add(patience); ; {
		http.DefaultClient.CloseIdleConnections() // that of tests: each would be kept for 90 seconds
		err := goleak.Find(
			goleak.IgnoreAnyFunction("testing.(*F).Fuzz.func1"), // a fuzzing worker, between two inputs
		)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
