package display

import (
	"testing"

	"tollbook/site"
)

func TestCentsAndRoughly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d              site.Decimal
		cents, roughly string
	}{
		{"", "", ""}, {"0", "$0", "$0"}, {"0.000001", "$0.000001", "$0.000001"}, {"0.01", "$0.01", "$0.01"},
		{"0.015", "$0.02", "$0.02"}, {"9.999", "$10.00", "$10.00"},
		{"999.99", "$999.99", "$999.99"}, {"1234567.891", "$1,234,567.89", "$1,234,568"},
		{"1234567890123456789", "$1.23 × 10^18", "$1.23 × 10^18"},
	} {
		if got := Cents(c.d); got != c.cents {
			t.Errorf("Cents(%s) = %q, want %q", c.d, got, c.cents)
		}
		if got := Roughly(c.d); got != c.roughly {
			t.Errorf("Roughly(%s) = %q, want %q", c.d, got, c.roughly)
		}
	}
}
