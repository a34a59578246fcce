package servicelist

import (
	"testing"
	"time"

	"tollbook/site/leaktest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { leaktest.Main(m) }
