package main

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"tollbook/site/postgres/postgrestest"
)

// asProgram names the variable that makes this test binary the program. Tests of signals, exit statuses and processes
// start the binary again, see program_test.go.
const asProgram = "TOLLBOOK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		useResolver()
		useClock()
		main()
		os.Exit(0)
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm") // a disk would slow down the tests and their programs
	}
	// Many tests wait for schedules, retries and time limits, so that three of them keep two processors busy.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa((3*runtime.GOMAXPROCS(0) + 1) / 2))
	}
	postgrestest.Main(m, removeShipped, worldFolder.remove, demoFolder.remove)
}
