// Package testgate decides which tests run:
//
//   - `go test -short` runs the quick tests.
//   - `go test` runs all tests that a machine with two cores finishes in five minutes.
//   - TOLLBOOK_TEST=all runs every test, as .ci/run does.
//
// With CI=true a test whose program is missing fails.
//
// It must never know what a test does.
package testgate

import (
	"os"
	"testing"
)

// Everything reports whether TOLLBOOK_TEST=all requests every test.
func Everything() bool { return !testing.Short() && os.Getenv("TOLLBOOK_TEST") == "all" }

// All skips the test unless TOLLBOOK_TEST=all is set. It is for tests that take long, load the machine, or need many
// processes, a browser or a node.
func All(t testing.TB) {
	t.Helper()
	if !Everything() {
		t.Skip("set TOLLBOOK_TEST=all to run")
	}
}

// NotShort skips the test under -short. It is for tests that take seconds.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("not run with -short")
	}
}

// NotRaced skips the test under -race -short, the step of .ci/run that looks for data races. It is for tests that take
// seconds and start only goroutines that other tests of the package start, too.
func NotRaced(t testing.TB) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("not run with -race -short")
	}
}

// Missing skips a test that lacks a program or a permission. With CI=true it fails the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
