package gate

import (
	"testing"

	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
