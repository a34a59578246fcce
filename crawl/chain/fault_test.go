package chain

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestWordings checks the kind of every text in testdata/faults.txt.
func TestWordings(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	count := 0
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			t.Fatalf("%q has %d parts, want 3", line, len(parts))
		}
		code, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&rpcError{code: code, message: parts[1]}).kindOf(); string(got) != parts[2] {
			t.Errorf("%s: got %s, want %s", line, got, parts[2])
		}
		count++
	}
	if err := lines.Err(); err != nil || count < 80 {
		t.Errorf("read %d wordings: %v", count, err)
	}
}
