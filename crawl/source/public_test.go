package source

import (
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPublicSources checks the table of public sources against the kinds and SOURCES.md.
func TestPublicSources(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("SOURCES.md")
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`[\w-]+`).FindAllString(string(data), -1)
	list := PublicSources()
	if !slices.IsSortedFunc(list, func(a, b Public) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the sources are not in the order of their names")
	}
	addresses := map[string]bool{}
	for i, s := range list {
		u, err := url.Parse(s.Address)
		if err != nil || u.Scheme != "https" || u.Host == "" || addresses[s.Address] {
			t.Errorf("%s: address %s: %v", s.Name, s.Address, err)
		}
		addresses[s.Address] = true
		if _, ok := KindOf(s.Kind); !ok || s.Period < time.Hour || i > 0 && list[i-1].Name == s.Name {
			t.Errorf("%+v has no kind, a short period, or a name that is used twice", s)
		}
		if !slices.Contains(words, s.Name) {
			t.Errorf("SOURCES.md does not say where the address of %s is documented", s.Name)
		}
	}
	for i, k := range Kinds() {
		if !strings.Contains(string(data), "`"+k.Name+"`") || k.Summary == "" || k.Accept == "" ||
			i > 0 && Kinds()[i-1].Name >= k.Name {
			t.Errorf("kind %s is not described, or not in order", k.Name)
		}
	}
}
