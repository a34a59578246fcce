package lists_test

import (
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"tollbook/render/lists"
	"tollbook/site"
)

// TestFillForm checks what each form of a page becomes, and that other forms of the page stay as they are.
func TestFillForm(t *testing.T) {
	t.Parallel()
	suggestion, err := lists.Suggestion("/dir", `Acme </textarea><script>alert(1)</script>: `)
	if err != nil {
		t.Fatal(err)
	}
	recheck, err := lists.Recheck("/dir", "acme", "owner-check")
	if err != nil {
		t.Fatal(err)
	}
	page := "<!DOCTYPE html><main>" + string(suggestion) + "<hr>" + string(recheck) + "</main>"
	checked := site.NewTime(time.Date(2026, 11, 20, 12, 1, 2, 0, time.UTC))
	build := site.NewTime(time.Date(2026, 11, 20, 12, 15, 0, 0, time.UTC))
	hostile := `"><script>alert(1)</script><!--/suggestion--><!--/recheck-->`
	for _, tt := range []struct {
		name, call string
		form       site.Form
		want       map[string]string // text by selector
	}{
		{"a suggestion with faults", "suggestions", site.Form{
			Values: map[string]string{"text": hostile, "category": "feature", "email": hostile},
			Faults: []site.ErrorField{{Field: "email", Message: hostile}, {Field: "x", Message: "is unknown"}}},
			map[string]string{"#suggestion-email-fault": hostile, "#suggestion-fault": "x is unknown",
				"#suggestion-text": hostile, "option[selected]": "A feature", ".taken": ""}},
		{"a suggestion that is stored", "suggestions",
			site.Form{Result: &site.SuggestionResult{SuggestionID: "4f2c"}},
			map[string]string{".taken code": "4f2c", "form[action='/dir/v1/suggestions'][hidden] button": "Send",
				"#recheck-fault[hidden]": ""}},
		{"a re-check that is refused", "recheck", site.Form{Problem: hostile},
			map[string]string{"#recheck-fault": hostile, "#suggestion-fault[hidden]": "",
				"form[action='/dir/v1/services/acme/recheck#owner-check']:not([hidden]) button": "Check it now"}},
		{"a re-check that is stored", "recheck", site.Form{Result: &site.RecheckResult{Slug: "acme",
			LastCheckedAt: &checked, NextBuildAt: &build}},
			map[string]string{".taken h4": "Requested", ".taken a[href='/dir/services/acme.html']": "this page",
				".taken p:nth-of-type(1)": "The crawler visits this service as soon as its host may be asked, " +
					"usually within seconds. The last check before that was 20 Nov 2026, 12:01:02 UTC.",
				".taken p:nth-of-type(2)": "The result is on this page after the next build, due at 12:15 UTC."}},
		{"a re-check of a service that was never checked", "recheck", site.Form{Result: &site.RecheckResult{}},
			map[string]string{".taken p:nth-of-type(1)": "The crawler visits this service as soon as its host may be " +
				"asked, usually within seconds."}},
	} {
		filled, err := lists.FillForm([]byte(page), tt.call, tt.form)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(filled)))
		if err != nil {
			t.Fatal(err)
		}
		for selector, want := range tt.want {
			if got := doc.Find(selector); got.Text() != want || got.Length() == 0 && want != "" {
				t.Errorf("%s: %s has the text %q, want %q", tt.name, selector, got.Text(), want)
			}
		}
		if doc.Find("script").Length() > 0 || doc.Find("form").Length() != 2 || doc.Find("main > hr").Length() != 1 {
			t.Errorf("%s: the page is broken:\n%s", tt.name, filled)
		}
	}
	for _, call := range []string{"submit", "nothing"} {
		if _, err := lists.FillForm([]byte(page), call, site.Form{}); err == nil {
			t.Errorf("a form %s is filled in", call)
		}
	}
}

// TestEmptyFields checks that a form says what to do about a field that was left empty, and shows the fault of another.
func TestEmptyFields(t *testing.T) {
	t.Parallel()
	form, err := lists.Submission("", []string{"AI"})
	if err != nil {
		t.Fatal(err)
	}
	part, err := lists.FillForm([]byte(form), "submit", site.Form{Values: map[string]string{"email": "acme", "url": "  "},
		Faults: []site.ErrorField{{Field: "service_name", Message: "is missing"}, {Field: "url", Message: "is missing"},
			{Field: "endpoints", Message: "must be a list of 1 to 25 paths; got 0"}, {Field: "email", Message: "has no @"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="service_name-fault">Enter a service name.<`, `id="url-fault">Enter a base URL.<`,
		`id="endpoints-fault">Enter at least one path.<`, `id="email-fault">has no @<`} {
		if !strings.Contains(string(part), want) {
			t.Errorf("the form lacks %s", want)
		}
	}
}
