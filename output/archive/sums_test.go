package archive

import (
	"strings"
	"testing"
)

// FuzzParseSums checks that every accepted list of sums equals, byte for byte, the list that FormatSums writes of it.
// Two different texts never describe the same files.
func FuzzParseSums(f *testing.F) {
	sum := strings.Repeat("0f", 32)
	f.Add([]byte(""))
	f.Add([]byte(sum + "  a\n" + sum + "  v1/services.json\n"))
	f.Add([]byte(sum + "  b\n" + sum + "  a\n"))
	f.Add([]byte(sum + " *a\n"))
	f.Add([]byte(strings.ToUpper(sum) + "  a\n"))
	f.Add([]byte(sum + "  ../a\n"))
	f.Add([]byte(sum + "  SHA256SUMS\n"))
	f.Add([]byte(sum + "  a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ParseSums(data)
		if err != nil {
			return
		}
		for _, l := range lines {
			if err := CheckName(l.Name); err != nil {
				t.Errorf("%q is accepted: %v", l.Name, err)
			}
		}
		if again := FormatSums(lines); string(again) != string(data) {
			t.Errorf("%q is read as %q", data, again)
		}
	})
}
