package output

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tollbook/output/objects"
	"tollbook/output/outputtest"
	"tollbook/site/testgate"
)

// TestPublishThroughCuts publishes 20 snapshots (5 unless every test runs) through a line that cuts one connection in
// five, after any number of bytes. Every publication finishes at the first attempt, complete, within the given time.
func TestPublishThroughCuts(t *testing.T) {
	t.Parallel()
	snapshots := 20
	if !testgate.Everything() {
		snapshots = 5
	}
	for _, test := range []struct {
		about  string
		cut    outputtest.Cut
		within time.Duration
	}{
		{"closed or reset", outputtest.CutClosed, 20 * time.Second},
		{"silent", outputtest.CutSilent, time.Minute}, // two stalls of a large part, two of a POST
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			if test.cut == outputtest.CutSilent {
				testgate.All(t) // six minutes, nearly all of them spent waiting
			}
			server := outputtest.Versity(t)
			line := server.NewCuttingProxy(t, test.cut, 0.2, 20)
			address := server.Bucket(t)
			reg, d := &memoryRegister{}, openFolder(t, tempDir(t))
			var longest time.Duration
			for i := range snapshots {
				mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), manyFiles(i))
				through, err := objects.OpenStore(address,
					objects.StoreOptions{Getenv: outputtest.Getenv(server.Env(line.Address))})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := publishTo(through, reg, d); err != nil {
					t.Errorf("publication %d: %v", i+1, err)
				}
				took := time.Since(began)
				longest = max(longest, took)
			}
			verifyWhole(t, openStore(t, address, server))
			t.Logf("%d of %d connections were cut; the longest publication took %s", line.Cut.Load(),
				line.Opened.Load(), longest.Round(time.Millisecond))
			if longest > test.within {
				t.Errorf("a publication took %s, want %s at most", longest, test.within)
			}
			if line.Cut.Load() < int64(snapshots) {
				t.Errorf("%d connections were cut", line.Cut.Load())
			}
		})
	}
}

// manyFiles returns a tree with a zip of two parts and 300 small files that all differ from those of another n.
func manyFiles(n int) map[string]string {
	r, files := rand.NewChaCha8([32]byte{byte(n)}), tree(n)
	for i := range 302 {
		data := make([]byte, 2000)
		if i < 2 {
			data = make([]byte, 9<<20)
		}
		r.Read(data)
		files[fmt.Sprintf("v1/many/%d.bin", i)] = string(data)
	}
	return files
}
