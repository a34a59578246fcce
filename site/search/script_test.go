package search_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/search"
	"tollbook/site/testgate"
)

// scriptTexts and scriptQueries are the texts that Go and JavaScript must read alike. Only scriptTexts are in the
// directory that is searched.
var scriptTexts = []string{
	"", " ", "-", "🚀", "a", "the", "the of and", "Acme Quotes 24/7", "Crème Brûlée Ångström", "Łódź Øre Đakovo",
	"STRASSE Straße GROẞ Gebühr", "İstanbul ISPARTA ılık", "ΟΔΟΣ οδος Άγιος", "ЙОД Ёлка Київ", "ﬁne ＡＢＣ Ⅷ x² ½",
	"東京都API v2", "カート・かな", "가 각 한국 서비스", "مُحَمَّد שָׁלוֹם", "हिन्दी", "🚀Rocket™", "人々〇", "カーab", "١٢٣ abc٤",
	"constructor __proto__ toString hasOwnProperty", "OpenVPS HTTPServer gpt4o", "a1b2", strings.Repeat("x", 40),
	strings.Repeat("é", 40), strings.Repeat("東", 40), "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𠀀𠀁", "e\u0301te\u0301", "\u200bzero\u200dwidth",
	"speech to text", "text to speech", "Speech-to-text API", "transcription", "transcribe audio", "stt",
	"text from speech", "to text", "to", "image and video generation", "generate an image", "llm", "chat completions",
	"chat", "completion",
	"forecasts", "forecasting", "embed", "embeddings", "ocr", "scrape",
	"web scraping under $0.01", "translate to german", "price of bitcoin", "crypto prices", "stock",
	"stocks", "news", "analysis", "analyses", "analytics", "indices", "people", "ponies", "running", "stopped",
	"organisation", "organization", "organizer", "colour", "color", "quickly", "boxes", "buses", "status", "this",
	"address", "us", "classification", "classifier", "creation", "creator", "speed", "bleed", "feed", "bed", "ring",
	"sing", "king", "policies", "die", "dies", "lie", "tie", "movie", "movies", "xylophone",
	"the weather in 東京", "名前 translate", "qr code", "send an email", "email verify",
	"find fast and reliable speech to text on base", "text text text", "speech speech to text", "text to image to text",
	"video", "videos", "sentiment of a text", "sms", "SMS!", "x post",
}

var scriptQueries = append(slices.Clone(scriptTexts),
	"transcib", "langage model", "langauge model", "language modle", "weathr", "wheather", "weater forecast", "forecst",
	"wea", "w", "tra", "trans", "embedd", "transaltion", "embeddngs for documents", "vide", "vidoe",
	"phone numbr lookup", "youtub", "zzz", "qqqqqq", "aaaaa", "translating", "forecaster", "classifyin", "東", "каф",
	"Crème Brulé", "the weathr", "hte weather", "sppech to text", "text to speeech", "cha", "scre", "screensho",
	"speech to", "to speech", "a wether report", "bitcion", "e", "é", "ﬁ", "\u00a0", "x\u0000y", "im", "imag", "wwww",
)

// scriptCorpus are the services of the directory in which the texts are searched.
func scriptCorpus() *search.Weigher {
	w := search.NewWeigher()
	for i, text := range append(slices.Clone(scriptTexts), scriptTexts[30:]...) {
		d := search.Document{Name: text, Category: []string{"AI", "Data"}[i%2], Description: text + " " +
			scriptTexts[(7*i+3)%len(scriptTexts)]}
		if i%3 == 0 {
			d.Tags = []string{"chat", scriptTexts[(5*i)%len(scriptTexts)]}
			d.Paths, d.Descriptions = []string{"/v1/translate", "/x"}, []string{"Weather forecasts", text}
		}
		w.Add(search.Weigh(&d))
	}
	return w
}

// scriptSource reads files of terms.
type scriptSource struct {
	t          *testing.T
	weigher    *search.Weigher
	shards     map[string][]string
	index      site.TermIndex
	vocabulary site.Vocabulary
}

func newScriptSource(t *testing.T, w *search.Weigher) scriptSource {
	return scriptSource{t, w, w.Shards(), w.Index(), w.Vocabulary()}
}

func (s scriptSource) Shard(name string) (*search.Shard, error) {
	return search.ParseShard(s.lines(name), s.index.Services)
}

func (s scriptSource) Vocabulary() (*site.Vocabulary, error) { return &s.vocabulary, nil }

func (s scriptSource) lines(name string) (lines [][]byte) {
	for _, term := range s.shards[name] {
		line, err := encode.Row(s.weigher.Term(term))
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// scriptResult is what both languages make of a text.
type scriptResult struct {
	Folded   string         `json:"folded"`
	Words    []string       `json:"words"`
	Terms    []string       `json:"terms"`
	Readings []site.Reading `json:"readings"`
	Hits     [][2]int       `json:"hits"` // places and scores
	Ceiling  int            `json:"ceiling"`
	Matches  []bool         `json:"matches"` // whether each text has a term of the query
}

// TestScript checks that search.js reads texts and queries as Go does, over the same files of terms.
func TestScript(t *testing.T) {
	t.Parallel()
	source := newScriptSource(t, scriptCorpus())
	var want []scriptResult
	for _, text := range scriptQueries {
		result, err := search.Find(&source.index, text, source)
		if err != nil {
			t.Fatal(err)
		}
		r := scriptResult{Folded: search.Fold(text), Words: search.Words(search.Fold(text)), Terms: search.Terms(text),
			Readings: result.Readings, Ceiling: result.Ceiling}
		for _, hit := range result.Hits {
			r.Hits = append(r.Hits, [2]int{hit.Place, hit.Score})
		}
		for _, other := range scriptTexts[40:60] {
			r.Matches = append(r.Matches, result.Matches(other))
		}
		want = append(want, r)
	}
	shards := map[string][]string{}
	for name := range source.shards {
		for _, line := range source.lines(name) {
			shards[name] = append(shards[name], string(line))
		}
	}
	var got []scriptResult
	runScript(t, `
const text = search.newText(input.tables.text), n = input.index.services;
const shard = async (name) => search.parseTerms(input.shards[name], n);
const find = search.newFind(text, input.tables.text, input.index, shard, async () => input.vocabulary);
output = [];
for (const s of input.texts) {
	const { readings, hits, ceiling, matches } = await find(s);
	output.push({ folded: search.fold(s), words: search.wordsAndRuns(search.fold(s))[0], terms: text.terms(s), readings,
		hits: hits.map((h) => [h.place, h.score]), ceiling, matches: input.texts.slice(40, 60).map(matches) });
}`, map[string]any{"texts": scriptQueries, "tables": search.NewScriptTables(), "index": source.index,
		"shards": shards, "vocabulary": source.vocabulary}, &got)
	if len(got) != len(want) {
		t.Fatalf("%d results of %d texts", len(got), len(want))
	}
	as := map[string]int{}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%.60q (-go +javascript):\n%s", scriptQueries[i], diff)
		}
		for _, r := range want[i].Readings {
			as[r.As]++
		}
	}
	for _, reading := range site.Readings {
		if as[reading] == 0 {
			t.Errorf("no query is read as %s", reading)
		}
	}
}

// TestScriptRefusesTerms checks that search.js refuses damaged lines of a file of terms.
func TestScriptRefusesTerms(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"term":"a","idf":0,"gaps":[1],"weights":[1]}`, `{"term":"a","idf":1,"gaps":[1,0],"weights":[1,1]}`,
		`{"term":"a","idf":1,"gaps":[9],"weights":[1]}`, `{"term":"a","idf":1,"gaps":[-1],"weights":[1]}`,
		`{"term":"a","idf":1,"gaps":[1],"weights":[101]}`, `{"term":"a","idf":1,"gaps":[1],"weights":[0]}`,
		`{"term":"a","idf":1,"gaps":[1],"weights":[]}`, `{"term":"a"}`, `{`, `null`,
	}
	var refused []bool
	runScript(t, `
output = input.map((line) => {
	try {
		search.parseTerms([line], 9);
		return false;
	} catch {
		return true;
	}
});`, append(lines, `{"term":"a","idf":1,"gaps":[0,8],"weights":[1,100]}`), &refused)
	for i, line := range lines {
		if _, err := search.ParseShard([][]byte{[]byte(line)}, 9); err == nil || !refused[i] {
			t.Errorf("%s: Go %v, JavaScript refuses: %t", line, err, refused[i])
		}
	}
	if refused[len(lines)] {
		t.Error("a line without damage is refused")
	}
}

// runScript runs a program behind Script in node. The program reads input and sets output.
func runScript(t *testing.T, program string, input, output any) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", string(search.Script)+`
import { readFileSync } from "node:fs";
const input = JSON.parse(readFileSync(0));
let output;`+program+`
console.log(JSON.stringify(output));`)
	cmd.Stdin = bytes.NewReader(data)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, output); err != nil {
		t.Fatal(err)
	}
}
