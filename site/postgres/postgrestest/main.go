package postgrestest

import (
	"flag"
	"testing"

	"tollbook/site/leaktest"
	"tollbook/site/testgate"
)

// Main is leaktest.Main for packages that check properties with databases. Unless all tests were asked for, a property
// is checked 20 times instead of 100: each time fills a database.
func Main(m *testing.M, after ...func() error) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue && !testgate.Everything() {
		_ = f.Value.Set("20")
	}
	leaktest.Main(m, after...)
}
