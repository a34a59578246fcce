package listing

import (
	"strings"
	"testing"

	"tollbook/site"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Acme Quotes": "acme-quotes", "  Acme -- Quotes! ": "acme-quotes", "Zürich Straße": "zurich-strasse",
		"Ｆｕｌｌ width": "full-width", "ﬁne": "fine",
		"𝐁old": "bold", "e\u0301te\u0301": "ete", "名前": "", "Ørsted Łódź": "orsted-lodz", "Погода Киев": "pogoda-kiev",
		"Щука й": "shchuka-y", "Ἀθήνα": "athina", "Мед’яні": "med-yani", "": "", "…": "",
		"Web3 API v2.1": "web3-api-v2-1", "a/b\\c\x00d": "a-b-c-d", "\xff\xfe": "",
		strings.Repeat("a", 79) + " b": strings.Repeat("a", 79), strings.Repeat("x", 200): strings.Repeat("x", 80),
	} {
		got := Slug(name)
		if got != want {
			t.Errorf("Slug(%.40q) = %q, want %q", name, got, want)
		}
		if got != "" && !site.ValidSlug(got) {
			t.Errorf("Slug(%.40q) = %q, which is not a valid slug", name, got)
		}
	}
}
