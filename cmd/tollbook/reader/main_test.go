package reader

import (
	"testing"

	"tollbook/site/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
