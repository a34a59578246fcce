// Package testgate decides which tests run: `go test -short` runs the quick ones, `go test` all that a machine with two
// cores does in five minutes, and TOLLBOOK_TEST=all every test, as .ci/run does. Under CI=true a missing program is a
// failure.
//
// It must never know what a test does.
package testgate

import (
	"os"
	"testing"
)

// Everything reports whether all tests were asked for.
func Everything() bool { return !testing.Short() && os.Getenv("TOLLBOOK_TEST") == "all" }

// All skips the test unless all tests were asked for. It is for tests that take long, load the machine, or need many
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

// Missing skips a test whose program or right is not there, and under CI=true fails it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
