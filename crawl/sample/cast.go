package sample

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"tollbook/site"
)

//go:embed cast.toml
var castTOML []byte

// service is a service of the cast: the keys of cast.toml, and what its short forms mean.
type service struct {
	Slug, Name, Category, Description string

	Behaviour, Before string  // how it answers now, and until Since days before the start ("" for always the same)
	Since             float64 // days
	Age               float64 // days since it was listed
	Website, Verified bool
	Plain             bool // http only
	Owner             string
	Pays              []string
	Only              map[string][]string
	Endpoints         []string
	Many              *many
	Mime              string
	Latency           int // typical, in milliseconds
	Temper            string
	Gaps              [][2]int
	Sales             *[2]float64 // payments a day, ninety days ago and now
	Buyers            int
	Loyal, Own        float64 // shares of its payments from one buyer, and from itself
	Change            []revision

	endpoints []endpoint
	seed      uint64 // a number derived from the slug
}

// many are endpoints that differ by one word.
type many struct {
	Path, Price string
	Words       []string
}

// endpoint is one URL that a service sells.
type endpoint struct {
	declared    string // method as listed, "" if the listing does not declare it
	method      string // method that answers
	path        string
	price       string // in dollars (in euros for a euro token)
	description string
	rails       []rail
	recipient   int // number of the owner's recipient
	timeout     int // seconds
}

func (e endpoint) key() string { return e.method + " " + e.path }

// sampleBody returns the body that a visitor sends, nil for none.
func (e endpoint) sampleBody() []byte {
	if e.method == http.MethodGet {
		return nil
	}
	return toolBody(e.path)
}

// revision has the former values of something that changed Days before the start.
type revision struct {
	Days      float64
	Endpoint  string // "METHOD /path", "" for all
	Price     string
	Recipient int
	Timeout   int
	Pays      []string
	Absent    bool

	rails []rail // of Pays
}

// cast is the list of all services, by slug.
var cast = sync.OnceValue(func() []*service {
	list, err := readCast(castTOML)
	if err != nil {
		panic(fmt.Errorf("read embedded cast.toml: %w", err)) // a broken build, not a broken input
	}
	return list
})

// bySlug returns a service, nil for none.
func bySlug(slug string) *service {
	list := cast()
	i, ok := slices.BinarySearchFunc(list, slug, func(s *service, slug string) int {
		return strings.Compare(s.Slug, slug)
	})
	if !ok {
		return nil
	}
	return list[i]
}

func readCast(text []byte) ([]*service, error) {
	var file struct{ Service []*service }
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	for _, s := range file.Service {
		if err := s.complete(); err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Slug, err)
		}
	}
	slices.SortFunc(file.Service, func(a, b *service) int { return strings.Compare(a.Slug, b.Slug) })
	return file.Service, nil
}

// complete sets defaults and parses the short forms.
func (s *service) complete() error {
	sum := sha256.Sum256([]byte(s.Slug))
	s.seed = binary.BigEndian.Uint64(sum[:8])
	for field, standard := range map[*string]string{&s.Behaviour: "v2", &s.Mime: "application/json",
		&s.Temper: "steady", &s.Owner: s.Slug} {
		if *field == "" {
			*field = standard
		}
	}
	if len(s.Pays) == 0 {
		s.Pays = []string{"exact base"}
	}
	for _, name := range []string{s.Behaviour, s.Before} {
		if _, ok := behaviours[name]; name != "" && !ok {
			return fmt.Errorf("unknown behaviour %q", name)
		}
	}
	if _, ok := tempers[s.Temper]; !ok {
		return fmt.Errorf("unknown temper %q", s.Temper)
	}
	lines := s.Endpoints
	if s.Many != nil {
		for _, word := range s.Many.Words {
			lines = append(lines, fmt.Sprintf("GET %s%s %s Look up: %s", s.Many.Path, word, s.Many.Price,
				strings.ReplaceAll(word, "-", " ")))
		}
	}
	for _, line := range lines {
		e, err := s.parseEndpoint(line)
		if err != nil {
			return fmt.Errorf("endpoint %q: %w", line, err)
		}
		s.endpoints = append(s.endpoints, e)
	}
	return s.completeChanges()
}

func (s *service) completeChanges() error {
	for i := range s.Change {
		r := &s.Change[i]
		ok := func(e endpoint) bool { return r.Endpoint == e.key() }
		if r.Endpoint != "" && !slices.ContainsFunc(s.endpoints, ok) {
			return fmt.Errorf("change of %q, which is not an endpoint", r.Endpoint)
		}
		var err error
		if r.rails, err = parseRails(r.Pays); err != nil {
			return fmt.Errorf("change of %d days ago: %w", int(r.Days), err)
		}
	}
	slices.SortStableFunc(s.Change, func(a, b revision) int { return cmp.Compare(b.Days, a.Days) }) // oldest first
	return nil
}

func (s *service) parseEndpoint(line string) (endpoint, error) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 {
		return endpoint{}, fmt.Errorf("want METHOD /path USD description")
	}
	method, unsaid := strings.CutPrefix(parts[0], "?")
	e := endpoint{declared: method, method: method, path: parts[1], price: parts[2], description: parts[3],
		timeout: 300}
	if unsaid {
		e.declared = ""
	}
	pays := s.Pays
	if only, ok := s.Only[e.path]; ok {
		pays = only
	}
	var err error
	if e.rails, err = parseRails(pays); err != nil {
		return endpoint{}, err
	}
	if _, err := site.ParseDecimal(e.price); err != nil {
		return endpoint{}, fmt.Errorf("price: %w", err)
	}
	return e, nil
}

func (s *service) baseURL() string {
	if s.Plain {
		return "http://" + s.Slug + "." + Domain
	}
	return "https://" + s.Slug + "." + Domain
}

// asOf returns the service after its first n changes; after all of them, s itself.
func (s *service) asOf(n int) *service {
	if n == len(s.Change) {
		return s
	}
	was := *s
	was.endpoints = slices.Clone(s.endpoints)
	for _, r := range slices.Backward(s.Change[n:]) {
		was.endpoints = slices.DeleteFunc(was.endpoints, func(e endpoint) bool {
			return r.Absent && r.Endpoint == e.key()
		})
		for i := range was.endpoints {
			if e := &was.endpoints[i]; r.Endpoint == "" || r.Endpoint == e.key() {
				r.undo(e)
			}
		}
	}
	return &was
}

// undo sets the former values of an endpoint.
func (r revision) undo(e *endpoint) {
	if r.Price != "" {
		e.price = r.Price
	}
	if r.Recipient != 0 {
		e.recipient = r.Recipient
	}
	if r.Timeout != 0 {
		e.timeout = r.Timeout
	}
	if r.rails != nil {
		e.rails = r.rails
	}
}
