package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/pull"
	"tollbook/crawl/source"
	"tollbook/site/postgres/sources"
)

// find returns the source of a name.
func find(list []pull.Source, name string) pull.Source {
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	return pull.Source{}
}

func TestRead(t *testing.T) {
	t.Parallel()
	shipped, err := ReadSources(nil)
	if err != nil || len(shipped) != len(source.PublicSources()) {
		t.Fatalf("without a table: %d sources, error %v", len(shipped), err)
	}
	for _, s := range shipped {
		if s.Enabled {
			t.Errorf("%s is enabled, although nobody named it", s.Name)
		}
		if err := (sourceTable{}).apply(&s); err != nil { // also checks the source itself
			t.Error(err)
		}
	}
	got, err := ReadSources([]sourceTable{
		{Name: new("own"), Kind: new("x402-discovery"), Address: new("https://own.example/list"), Take: new("all"),
			Trust: new(false)},
		{Name: new("cdp"), Period: new("1h")},
		{Name: new("payai"), Enabled: new(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := pull.Source{
		Source:  sources.Source{Name: "own", Kind: "x402-discovery", Address: "https://own.example/list"},
		Enabled: true, Period: 6 * time.Hour, Take: pull.TakeAll,
	}
	if diff := cmp.Diff(want, find(got, "own")); diff != "" {
		t.Errorf("a source of the file (-want +got)\n%s", diff)
	}
	want = find(shipped, "cdp")
	want.Enabled, want.Period = true, time.Hour
	if diff := cmp.Diff(want, find(got, "cdp")); diff != "" {
		t.Errorf("a source that comes with Tollbook and is in the file (-want +got)\n%s", diff)
	}
	if find(got, "payai").Enabled {
		t.Error("payai is enabled, although the file says otherwise")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	kind, address := new("x402-discovery"), new("https://own.example/list")
	for _, tt := range []struct {
		name  string
		table []sourceTable
		want  string
	}{
		{"no name", []sourceTable{{Kind: kind, Address: address}}, "name must be 1 to 40"},
		{"a name that is no word", []sourceTable{{Name: new("../x"), Kind: kind, Address: address}}, "name must be 1 to 40"},
		{"twice", []sourceTable{{Name: new("cdp")}, {Name: new("cdp")}}, "appears twice"},
		{"no kind", []sourceTable{{Name: new("own"), Address: address}}, `kind "": give one of`},
		{"a similar kind", []sourceTable{{Name: new("own"), Kind: new("x402-discovry"), Address: address}},
			`did you mean "x402-discovery"?`},
		{"no address", []sourceTable{{Name: new("own"), Kind: kind}}, "address must be a URL"},
		{"a secret in the address", []sourceTable{{Name: new("own"), Kind: kind, Address: new("https://u:p@own.example/")}},
			"without a user name"},
		{"a file", []sourceTable{{Name: new("own"), Kind: kind, Address: new("file:///etc/passwd")}}, "must be a URL"},
		{"a short period", []sourceTable{{Name: new("cdp"), Period: new("1s")}}, "at least 10m"},
		{"no period", []sourceTable{{Name: new("cdp"), Period: new("often")}}, "at least 10m"},
		{"another take", []sourceTable{{Name: new("cdp"), Take: new("some")}}, "give one of all, answering, none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadSources(tt.table)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "u:p@") {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
