package listing

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tollbook/site"

	"golang.org/x/text/unicode/norm"
)

// Slug returns a slug for a name: diacritics are removed, letters are converted to lower case and transliterated to the
// Latin alphabet, and every run of other characters becomes a hyphen. It returns "" if no character can be
// transliterated.
func Slug(name string) string {
	var b strings.Builder
	gap := false
	write := func(letters string) {
		if gap && b.Len() > 0 && letters != "" {
			b.WriteByte('-')
		}
		gap = gap && letters == ""
		b.WriteString(letters)
	}
	for _, r := range strings.ToLower(norm.NFKC.String(name)) {
		if latin, ok := transliterations[r]; ok { // before decomposition, because й is not и
			write(latin)
			continue
		}
		for _, r := range norm.NFKD.String(string(r)) {
			latin, ok := transliterations[r]
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				write(string(r))
			case ok:
				write(latin)
			case unicode.Is(unicode.Mn, r):
			default:
				gap = true
			}
		}
	}
	return strings.Trim(b.String()[:min(b.Len(), site.MaxSlug)], "-")
}

// GroupSlugs returns a unique slug for each name. The result does not depend on the order of names.
func GroupSlugs(names []string) map[string]string {
	slugs, taken := make(map[string]string, len(names)), map[string]bool{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		slug := FreeSlug(taken, Slug(name), "other-words")
		slugs[name], taken[slug] = slug, true
	}
	return slugs
}

// FreeSlug returns the first wanted slug that is not taken, or else the last valid one with a number.
func FreeSlug(taken map[string]bool, wanted ...string) string {
	last := "service"
	for _, slug := range wanted {
		if site.ValidSlug(slug) {
			if !taken[slug] {
				return slug
			}
			last = slug
		}
	}
	for n := 2; ; n++ {
		tail := fmt.Sprintf("-%d", n)
		slug := strings.TrimRight(last[:min(len(last), site.MaxSlug-len(tail))], "-") + tail
		if !taken[slug] {
			return slug
		}
	}
}

// transliterations maps letters that do not decompose into Latin letters to their transliteration.
var transliterations = parsePairs(
	"ß ss æ ae œ oe ø o đ d ð d þ th ħ h ı i ł l ŀ l ŋ ng ŧ t ĸ k ə e ƒ f ĳ ij",
	// Greek
	"α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o",
	// Cyrillic: Russian, Ukrainian, Belarusian, Serbian, Macedonian
	"а a б b в v г g ґ g д d ђ dj ѓ gj е e ё yo є ye ж zh з z ѕ dz и i і i ї yi й y ј j к k ќ kj л l љ lj м m н n "+
		"њ nj о o п p р r с s т t ћ c у u ў u ф f х kh ц ts ч ch џ dz ш sh щ shch ъ - ы y ь - э e ю yu я ya",
)

// parsePairs parses lists of pairs: a letter and its transliteration; "-" means that the letter is dropped.
func parsePairs(lists ...string) map[rune]string {
	m := map[rune]string{}
	for _, list := range lists {
		words := strings.Fields(list)
		for i := 0; i+1 < len(words); i += 2 {
			m[[]rune(words[i])[0]] = strings.Trim(words[i+1], "-")
		}
	}
	return m
}
