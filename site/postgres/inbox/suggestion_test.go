package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/inbox"
)

// sent returns a suggestion of a client, after noon by d.
func sent(text, client, key string, d time.Duration) site.IncomingSuggestion {
	return site.IncomingSuggestion{Suggestion: site.Suggestion{Text: text, Category: site.SuggestionOther},
		Client: client, Key: key, At: noon.Add(d)}
}

// TestReceiveSuggestion checks which suggestions are stored, which are the same as an earlier one, and which are
// refused.
func TestReceiveSuggestion(t *testing.T) {
	t.Parallel()
	db := open(t)
	ids := map[string]string{}
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name, want string
		same       string // name of the earlier one that it is
		r          site.IncomingSuggestion
	}{
		{name: "first", r: sent("a", "1", "k", 0)},
		{name: "under its key", same: "first", r: sent("a", "1", "k", time.Second)},
		{name: "under its key, days later", same: "first", r: sent("a", "1", "k", 3*day)},
		{name: "another under that key", want: "key", r: sent("b", "1", "k", time.Second)},
		{name: "another client's same key", r: sent("b", "2", "k", time.Second)},
		{name: "the same text of another client", same: "first", r: sent("a", "3", "", day-time.Second)},
		{name: "other letters", r: sent("A", "3", "", time.Minute)},
		{name: "the same text after a day", r: sent("a", "3", "", day)},
	} {
		result, err := db.ReceiveSuggestion(t.Context(), tt.r)
		if got := limit(t, err); got != tt.want || result.Repeated != (tt.same != "") ||
			tt.same != "" && result.SuggestionID != ids[tt.same] {
			t.Errorf("%s: refused by %q, want %q; %+v, want %q", tt.name, got, tt.want, result, ids[tt.same])
		}
		ids[tt.name] = result.SuggestionID
	}
	late := sent("a", "4", "", 2*day-time.Second)
	late.Email = "r@acme.example"
	if result, err := db.ReceiveSuggestion(t.Context(), late); err != nil ||
		result.SuggestionID != ids["the same text after a day"] || !result.ReceivedAt.Equal(noon.Add(day)) {
		t.Errorf("with an address: %+v, %v", result, err)
	}
	late.Email = "other@acme.example"
	if _, err := db.ReceiveSuggestion(t.Context(), late); err != nil {
		t.Error(err)
	}
	one, err := db.Suggestion(t.Context(), uuid.MustParse(ids["the same text after a day"]))
	if err != nil || one.Email != "r@acme.example" {
		t.Errorf("the first address counts: %+v, %v", one, err)
	}
}

// TestReceiveSuggestionFlood checks the limits of a client and of all open suggestions.
func TestReceiveSuggestionFlood(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i := range site.SuggestionsPerHour {
		r := sent(fmt.Sprint(i), "1", "", time.Duration(i)*time.Minute)
		if _, err := db.ReceiveSuggestion(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	send := func(r site.IncomingSuggestion, most int) error {
		r.MaxOpen = most
		_, err := db.ReceiveSuggestion(t.Context(), r)
		return err
	}
	for _, tt := range []struct {
		name, want string
		r          site.IncomingSuggestion
		most       int
	}{
		{"an eleventh", "10m0s", sent("x", "1", "", 50*time.Minute), 0},
		{"the third again", "", sent("2", "1", "", 50*time.Minute), 10},
		{"another client, at the limit", "1h0m0s", sent("x", "2", "", 50*time.Minute), 10},
		{"another client, below it", "", sent("x", "2", "", 50*time.Minute), 11},
		{"the client an hour later", "", sent("y", "1", "", time.Hour), 0},
	} {
		if got := limit(t, send(tt.r, tt.most)); got != tt.want {
			t.Errorf("%s: refused by %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestReceiveSuggestionsTogether checks that parallel requests with one text store it once, and that parallel requests
// with others do not exceed the limit.
func TestReceiveSuggestionsTogether(t *testing.T) {
	t.Parallel()
	db := open(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if _, err := db.ReceiveSuggestion(t.Context(), sent("same", fmt.Sprint(i), "", 0)); err != nil {
				t.Error(err)
			}
			r := sent(fmt.Sprint("other ", i), fmt.Sprint(i), "", 0)
			r.MaxOpen = 5
			_, err := db.ReceiveSuggestion(t.Context(), r)
			limit(t, err)
		})
	}
	all.Wait()
	figures, err := db.Figures(t.Context())
	if diff := cmp.Diff(map[string]int{"open": 5, "closed": 0}, figures.Suggestions); diff != "" || err != nil {
		t.Errorf("stored: %v (-want +got):\n%s", err, diff)
	}
}

// TestCloseSuggestion checks that a suggestion is closed once, and what lists have before and after it.
func TestCloseSuggestion(t *testing.T) {
	t.Parallel()
	db := open(t)
	var ids []uuid.UUID
	for i, text := range []string{"a", "b"} {
		r, err := db.ReceiveSuggestion(t.Context(), sent(text, "1", "", time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, uuid.MustParse(r.SuggestionID))
	}
	if err := db.CloseSuggestion(t.Context(), ids[0], "ada", noon); err != nil {
		t.Fatal(err)
	}
	var closed *inbox.DecidedError
	if err := db.CloseSuggestion(t.Context(), ids[0], "bob", noon); !errors.As(err, &closed) ||
		!strings.Contains(err.Error(), "it was closed on 2026-11-20 12:00 UTC by ada") {
		t.Errorf("closed twice: %v", err)
	}
	if err := db.CloseSuggestion(t.Context(), uuid.New(), "bob", noon); !errors.Is(err, site.ErrNotFound) {
		t.Errorf("none closed: %v", err)
	}
	for state, want := range map[string][]string{"": {"a closed", "b open"}, "open": {"b open"},
		"closed": {"a closed"}} {
		list, err := db.Suggestions(t.Context(), state)
		var got []string
		for _, s := range list {
			got = append(got, s.Text+" "+s.State())
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("list %q: %v (-want +got):\n%s", state, err, diff)
		}
	}
}
