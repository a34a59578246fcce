package main

import (
	"os"
	"testing"

	"tollbook/site/postgres/postgrestest"
)

// asProgram is the variable that makes this test binary the program: tests of signals, exit statuses and processes
// start it again, see program_test.go.
const asProgram = "TOLLBOOK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm") // a disk would make the tests wait for it, and the programs that they start
	}
	postgrestest.Main(m, removeShipped)
}
