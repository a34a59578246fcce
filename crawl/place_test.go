package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site/postgres/checks"
)

func TestBallot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ballot
		want string
	}{
		{ballot{}, "up"}, // nobody says that it is down
		{ballot{up: 1}, "up"},
		{ballot{down: 1}, "down"},
		{ballot{up: 1, down: 1}, "up"}, // not more than half
		{ballot{down: 1, waiting: 1}, "open"},
		{ballot{up: 1, waiting: 1}, "up"}, // whatever the other says
		{ballot{down: 1, waiting: 2}, "open"},
		{ballot{up: 1, down: 1, waiting: 1}, "open"},
		{ballot{up: 2, down: 1}, "up"},
		{ballot{up: 1, down: 2}, "down"},
		{ballot{down: 2, waiting: 1}, "down"},
		{ballot{up: 2, down: 2}, "up"},
		{ballot{up: 2, down: 3}, "down"},
	} {
		got := "open"
		if isUp, isDecided := tt.decide(); isDecided {
			got = map[bool]string{true: "up", false: "down"}[isUp]
		}
		if got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.ballot, got, tt.want)
		}
	}
}

// TestVote plays visits of places one after the other. Each is "<place> <minute> <finding>", where the finding is up,
// down or nothing. The wanted text says whether the visit counts, and who is asked after it.
func TestVote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		active string
		isUp   bool // before
		steps  [][2]string
	}{
		{"all agree", "ams fra nyc", true, [][2]string{{"ams 0 up", "counts"}, {"fra 15 up", "counts"}}},
		{"one place of three is lied to", "ams fra nyc", true, [][2]string{
			{"ams 0 down", "held, asks fra nyc"}, {"fra 1 up", "counts, asks nyc"}, {"nyc 2 up", "counts, answered"},
			{"fra 15 up", "counts"}, {"ams 30 down", "held, asks fra nyc"}}},
		{"an outage, and its end", "ams fra nyc", true, [][2]string{
			{"ams 0 down", "held, asks fra nyc"}, {"fra 1 down", "counts, asks nyc"}, {"nyc 2 down", "counts, answered"},
			{"ams 15 down", "counts"}, {"nyc 30 up", "held, asks ams fra"}, {"fra 31 up", "counts, asks ams"},
			{"ams 32 up", "counts, answered"}, {"ams 47 up", "counts"}}},
		{"two of three say so", "ams fra nyc", true, [][2]string{
			{"nyc 0 down", "held, asks ams fra"}, {"ams 1 up", "counts, asks fra"}, {"fra 2 down", "counts, answered"}}},
		{"two places: both must say so", "ams fra", true, [][2]string{
			{"ams 0 down", "held, asks fra"}, {"fra 1 up", "counts, answered"}, {"ams 15 down", "held, asks fra"},
			{"fra 16 down", "counts, answered"}, {"ams 30 up", "counts, asks fra"}}},
		{"a place that does not come has no say", "ams fra nyc", true, [][2]string{
			{"ams 0 down", "held, asks fra nyc"}, {"ams 5 down", "counts, answered"}}},
		{"one comes, one does not", "ams fra nyc", true, [][2]string{
			{"ams 0 down", "held, asks fra nyc"}, {"fra 1 up", "counts, asks nyc"}, {"ams 6 down", "held, answered"}}},
		{"an inconclusive visit is no vote", "ams fra nyc", true, [][2]string{
			{"ams 0 down", "held, asks fra nyc"}, {"fra 1 nothing", "held, asks nyc"}, {"nyc 2 down", "counts, answered"}}},
		{"the place without a name", " ams", true, [][2]string{
			{" 0 down", "held, asks ams"}, {"ams 1 down", "counts, answered"}}},
		{"alone", "ams", true, [][2]string{{"ams 0 down", "counts"}, {"ams 1 up", "counts"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			active, isUp := strings.Split(tt.active, " "), tt.isUp
			findings := map[string]checks.PlaceFinding{}
			var question *checks.Question
			for _, step := range tt.steps {
				var minute int
				words := strings.Split(step[0], " ")
				fmt.Sscan(words[1], &minute)
				now := dawn.Add(time.Duration(minute) * time.Minute)
				p := places{own: words[0], active: active, PlaceFacts: checks.PlaceFacts{Question: question}}
				for _, f := range findings {
					p.Findings = append(p.Findings, f)
				}
				var found *bool
				if words[2] != "nothing" {
					found = new(words[2] == "up")
					findings[p.own] = checks.PlaceFinding{Vantage: p.own, CheckedAt: now, IsUp: *found}
				}
				counts, q := p.vote(found, isUp, false, now)
				if counts {
					isUp = *found
				}
				got := map[bool]string{true: "counts", false: "held"}[counts]
				if question = q; q != nil && len(q.Of) == 0 {
					got, question = got+", answered", nil
				} else if q != nil {
					got += ", asks " + strings.Join(q.Of, " ")
				}
				if got != step[1] {
					t.Errorf("%s: %s, want %s", step[0], got, step[1])
				}
			}
		})
	}
}

// TestHolds says when terms that a place is asked become those of the service.
func TestHolds(t *testing.T) {
	t.Parallel()
	endpoint := uuid.New()
	for _, tt := range []struct {
		name, current, own, others string // what places were asked last, "<place>=<terms>"
		seen, want                 string
	}{
		{"the current ones", "a", "a", "fra=a nyc=a", "a", "counts"},
		{"no current ones", "", "", "", "b", "counts"},
		{"others are asked the current ones", "a", "a", "fra=a nyc=a", "b", "held, new"},
		{"for long", "a", "b", "fra=a nyc=a", "b", "held"},
		{"half of the places", "a", "a", "fra=a", "b", "held, new"},
		{"more than half", "a", "a", "fra=b nyc=a", "b", "counts"},
		{"nobody is asked the current ones any more", "a", "a", "fra=c nyc=d", "b", "counts"},
		{"a place that visits no more", "a", "a", "gone=a", "b", "counts"},
		{"a place with terms of its own comes back", "a", "b", "fra=a nyc=a", "a", "counts"},
	} {
		p := places{own: "ams", active: []string{"ams", "fra", "nyc"}, current: map[uuid.UUID]string{}}
		if tt.current != "" {
			p.current[endpoint] = tt.current
		}
		for _, word := range append(strings.Fields(tt.others), "ams="+tt.own) {
			place, terms, _ := strings.Cut(word, "=")
			p.Terms = append(p.Terms, checks.PlaceTerms{EndpointID: endpoint, Vantage: place, Fingerprint: terms},
				checks.PlaceTerms{EndpointID: uuid.New(), Vantage: place, Fingerprint: "of another endpoint"})
		}
		got := "counts"
		isHeld, isNew := p.holds(checks.PlaceTerms{EndpointID: endpoint, Vantage: "ams", Fingerprint: tt.seen})
		if isHeld {
			got = "held"
		}
		if isHeld && isNew {
			got += ", new"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// threePlaces is a service that answers visits of three places, and the crawlers of these places.
type threePlaces struct {
	*memory
	at       *clock
	crawlers map[string]*Crawler
	mu       sync.Mutex
	down     map[string]bool   // places that get no answer
	body     map[string]string // by place; the usual one if ""
	visitor  string            // whose visit runs
	stopped  bool              // only the place that visits is there
}

func newThreePlaces(t *testing.T) *threePlaces {
	p := &threePlaces{memory: open(t), at: &clock{}, crawlers: map[string]*Crawler{}, down: map[string]bool{},
		body: map[string]string{}}
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down[p.visitor] {
			panic(http.ErrAbortHandler)
		}
		body := p.body[p.visitor]
		if body == "" {
			body = v2("10000", "10000")
		}
		pay(w, body)
	}))
	p.list(t, oneEndpoint("acme", base, "/x"))
	p.at.set(dawn)
	for _, name := range []string{"ams", "fra", "nyc"} {
		p.crawlers[name] = crawler(t, p.memory, Options{Now: p.at.Now, Vantage: name}, o)
		if _, err := p.crawlers[name].activePlaces(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// set changes what the service answers from now on.
func (p *threePlaces) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// visit lets the crawler of a place visit what is due there at a minute. It returns the service's state after it, "-"
// for no visit.
func (p *threePlaces) visit(t *testing.T, place string, minute int) string {
	t.Helper()
	p.set(func() { p.visitor = place })
	p.at.set(dawn.Add(time.Duration(minute) * time.Minute))
	for name := range p.crawlers {
		if name != place && p.stopped {
			continue
		}
		if _, err := p.SeePlace(t.Context(), name, p.at.Now(), p.at.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if round(t, p.crawlers[place]).Visits == 0 {
		return "-"
	}
	return p.strings(t, `
		SELECT c.vantage || ': ' || s.last_status || CASE WHEN c.counted THEN '' ELSE ', ' || c.uncounted_reason END ||
			coalesce(', asks ' || (asked_of ->> 0) || coalesce(' ' || (asked_of ->> 1), ''), '')
		FROM checks c JOIN service_states s USING (service_id) ORDER BY c.checked_at DESC LIMIT 1`)[0]
}

// play plays visits of places at minutes, with the wanted states.
func (p *threePlaces) play(t *testing.T, steps []placeStep) {
	t.Helper()
	for _, s := range steps {
		if got := p.visit(t, s.place, s.minute); got != s.want {
			t.Errorf("minute %d, %s: %q, want %q", s.minute, s.place, got, s.want)
		}
	}
}

type placeStep struct {
	place  string
	minute int
	want   string
}

// TestOfflineNeedsQuorum visits a service from three places that share a database. One place alone gets no answer for a
// while, then no place does.
func TestOfflineNeedsQuorum(t *testing.T) {
	t.Parallel()
	p := newThreePlaces(t)
	p.play(t, []placeStep{{"ams", 0, "ams: online"}, {"fra", 1, "-"}, {"fra", 20, "fra: online"}})
	p.set(func() { p.down["nyc"] = true })
	p.play(t, []placeStep{
		{"nyc", 40, "nyc: online, other_places, asks ams fra"},
		{"nyc", 40, "-"}, // only the others may visit it
		{"fra", 41, "fra: online, asks ams"},
		{"fra", 41, "-"},
		{"ams", 42, "ams: online"},
		{"nyc", 43, "-"},
	})
	p.set(func() { p.down["ams"], p.down["fra"] = true, true })
	p.play(t, []placeStep{
		{"ams", 62, "ams: online, other_places, asks fra nyc"},
		{"fra", 63, "fra: offline, asks nyc"},
		{"nyc", 64, "nyc: offline"},
		{"ams", 84, "ams: offline"},
	})
	p.set(func() { p.down = map[string]bool{"nyc": true} })
	p.play(t, []placeStep{
		{"ams", 104, "ams: offline, other_places, asks fra nyc"},
		{"fra", 105, "fra: online, asks nyc"},
		{"nyc", 106, "nyc: online, other_places"},
	})
	p.set(func() { p.down["fra"] = true })
	p.play(t, []placeStep{{"fra", 125, "fra: online, other_places, asks ams nyc"}})
	before := p.strings(t, `SELECT count(*)::text FROM checks`)
	for _, name := range []string{"fra", "ams"} { // a job may reach any place
		p.set(func() { p.visitor = name })
		if err := p.crawlers[name].VisitService(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := p.strings(t, `SELECT count(*)::text FROM checks`); (got[0] != before[0]) != (name == "ams") {
			t.Errorf("after the job in %s there are %s checks, %s before", name, got, before)
		}
	}
	f := p.facts(t, p.at.Now())["acme"]
	if len(f.Runs) != 1 || f.Runs[0].Checks != 3 || !f.Runs[0].FirstAt.Equal(dawn.Add(63*time.Minute)) ||
		f.Runs[0].EndedAt == nil || !f.Runs[0].EndedAt.Equal(dawn.Add(105*time.Minute)) {
		t.Errorf("the runs of failures are %+v, want one from minute 63 to 105", f.Runs)
	}
	if f.ConsecutiveFailures != 0 || f.FailingSince != nil {
		t.Errorf("%d failures since %v", f.ConsecutiveFailures, f.FailingSince)
	}
}

// TestPlaceThatStops leaves a service to one place of three: the others have no say after askLimit.
func TestPlaceThatStops(t *testing.T) {
	t.Parallel()
	p := newThreePlaces(t)
	p.play(t, []placeStep{{"ams", 0, "ams: online"}})
	p.set(func() { p.down["ams"], p.stopped = true, true })
	p.play(t, []placeStep{
		{"ams", 20, "ams: online, other_places, asks fra nyc"},
		{"ams", 24, "-"},
		{"ams", 25, "ams: offline"},
		{"ams", 45, "ams: offline"},
		{"ams", 200, "ams: offline"}, // the others are no places any more
	})
	p.set(func() { p.down["ams"] = false })
	p.play(t, []placeStep{{"ams", 400, "ams: online"}})
}

// TestTermsOfPlaces visits a service that asks one place of three for another recipient, and then every place for
// another price. The first is no change of its terms. The second is, as soon as two places were asked it.
func TestTermsOfPlaces(t *testing.T) {
	t.Parallel()
	p := newThreePlaces(t)
	p.play(t, []placeStep{{"ams", 1, "ams: online"}, {"fra", 20, "fra: online"}, {"nyc", 40, "nyc: online"}})
	const usual, thief = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x1111111111111111111111111111111111111111"
	lie := v2("10000", "10000", usual, thief)
	p.set(func() { p.body["nyc"] = lie })
	p.play(t, []placeStep{
		{"ams", 60, "ams: online"},
		{"nyc", 80, "nyc: online, asks ams fra"},
		{"fra", 81, "fra: online, asks ams"},
		{"ams", 82, "ams: online"},
		{"nyc", 100, "nyc: online"}, // it saw no change: the others are not asked again
		{"fra", 120, "fra: online"},
	})
	f := p.facts(t, p.at.Now())["acme"]
	if len(f.Changes) > 0 || len(f.Endpoints[0].Prices) != 1 || f.Endpoints[0].Prices[0].PayTo != usual {
		t.Errorf("the lie to one place changed the service: %+v, prices %+v", f.Changes, f.Endpoints[0].Prices)
	}
	if got := string(f.Endpoints[0].Envelope.Body); strings.Contains(got, thief) {
		t.Errorf("the stored envelope is the one place's: %s", got)
	}
	got := p.strings(t, `SELECT vantage || ' ' || (terms -> 0 ->> 'pay_to') || ' ×' || times FROM place_terms ORDER BY 1`)
	want := []string{"ams " + usual + " ×3", "fra " + usual + " ×3", "nyc " + thief + " ×2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("terms by place (-want +got):\n%s", diff)
	}
	dearer := v2("10000", "20000")
	p.set(func() { p.body = map[string]string{"ams": dearer, "fra": dearer, "nyc": lie} })
	p.play(t, []placeStep{
		{"ams", 140, "ams: online, asks fra nyc"},
		{"fra", 141, "fra: online, asks nyc"},
		{"nyc", 142, "nyc: online"},
	})
	f = p.facts(t, p.at.Now())["acme"]
	if len(f.Changes) != 1 || f.Changes[0].Type != "price_changed" {
		t.Errorf("the change for all places is recorded as %+v", f.Changes)
	}
}
