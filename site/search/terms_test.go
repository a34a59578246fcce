package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/search"
)

func TestStem(t *testing.T) {
	t.Parallel()
	for stem, words := range map[string][]string{
		"translat": {"translate", "translates", "translated", "translating", "translation", "translations",
			"translator"},
		"extract":    {"extract", "extracts", "extracted", "extracting", "extraction", "extractor"},
		"validat":    {"validate", "validation", "validator"},
		"scrap":      {"scrape", "scraping", "scraper", "scrapers", "scrapped", "scraped"},
		"embed":      {"embed", "embeds", "embedding", "embeddings"},
		"pric":       {"price", "prices", "pricing", "priced"},
		"company":    {"company", "companies"},
		"analy":      {"analysis", "analyse", "analyze", "analytics"},
		"summariz":   {"summarize", "summarise", "summarization", "summarisation", "summarizer"},
		"verify":     {"verify", "verification", "verifier"},
		"search":     {"search", "searches", "searching", "searched"},
		"gas":        {"gas"},
		"news":       {"news"},
		"status":     {"status"},
		"movy":       {"movie", "movies"},
		"string":     {"string", "strings"},
		"address":    {"address", "addresses"},
		"llm":        {"llm", "llms"},
		"gpu":        {"gpu", "gpus"},
		"monit":      {"monitor", "monitoring", "monitors"},
		"color":      {"color", "colour", "colours"},
		"gpt4s":      {"gpt4s"},
		"переводами": {"переводами"},
	} {
		for _, w := range words {
			if got := search.Stem(w); got != stem {
				t.Errorf("Stem(%s) = %s, want %s", w, got, stem)
			}
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                          nil,
		"The one of an":             nil,
		"Real-time speech to text.": {"real", "tim", "speech", "text", "concept-speech-to-text"},
		"Text to speech":            {"text", "speech", "concept-text-to-speech"},
		"Image and video generation": {"imag", "video", "generat", "concept-image-generation",
			"concept-video-generation"},
		"OpenVPS":                              {"openvp", "open", "vps", "concept-virtual-server"},
		"HTTPServer":                           {"httpserv", "http", "serv"},
		"/api/v1/ai-translate":                 {"api", "v1", "ai", "translat", "concept-translation"},
		"Completions of a half-typed question": {"completion", "half", "typed", "quest", "concept-autocomplete"},
		"Prompt completion":                    {"prompt", "completion", "concept-language-model"},
		"東京API":                                {"東京", "京", "api"},
		"Crème brûlée, crème":                  {"crem", "brule", "crem"},
		"aaaaaaaaaabbbbbbbbbbcccccccccc1234":   {"aaaaaaaaaabbbbbbbbbbcccccccccc12"},
	} {
		if diff := cmp.Diff(want, search.Terms(text)); diff != "" {
			t.Errorf("Terms(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestTermShard(t *testing.T) {
	t.Parallel()
	index := site.TermIndex{Services: 9, Shards: map[string]int{"sp": 2, "speech": 1, "ai": 1, "_71": 1, "tr": 1,
		site.ConceptTerm + "speech-to-text": 1}}
	for _, test := range []struct {
		term  string
		n     int
		shard string
		in    bool
	}{
		{"speech", 200, "speech", true},
		{"spear", 199, "sp", true},
		{"ai", 5000, "ai", true},
		{"aide", 1, "ai", true},
		{"x", 300, "x", false},
		{"xé", 1, "x", false},
		{"東京", 900, "_71", true},
		{site.ConceptTerm + "translation", 1, "tr", true},
		{site.ConceptTerm + "speech-to-text", 400, site.ConceptTerm + "speech-to-text", true},
	} {
		if got := site.TermShard(test.term, test.n); got != test.shard {
			t.Errorf("TermShard(%s, %d) = %s, want %s", test.term, test.n, got, test.shard)
		}
		if got, in := index.Shard(test.term); in != test.in || in && got != test.shard {
			t.Errorf("%s is in the file %s (%t), want %s (%t)", test.term, got, in, test.shard, test.in)
		}
	}
}
