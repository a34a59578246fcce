package render_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"tollbook/render"
	"tollbook/render/lists"
	"tollbook/site"
)

func submitDoc(t *testing.T, page []byte) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestSubmitPage checks that the form has each field of a submission once, and that a response shows what was sent, as
// text, with each fault at its field, and changes nothing else of the page.
func TestSubmitPage(t *testing.T) {
	t.Parallel()
	p := newPages(t, render.Site{BaseURL: "https://tollbook.example/dir"})
	page, err := p.NewRenderer(world()).SubmitPage()
	if err != nil {
		t.Fatal(err)
	}
	doc := submitDoc(t, page)
	for _, name := range site.SubmissionFields {
		if n := doc.Find("main form [name=" + name + "]").Length(); n != 1 ||
			doc.Find("label[for="+name+"]").Length() != 1 || doc.Find("#"+name+"-fault[hidden]").Length() != 1 {
			t.Errorf("the form has field %s %d times", name, n)
		}
	}
	if n := doc.Find("main form [name]").Length(); n != len(site.SubmissionFields) {
		t.Errorf("the form has %d fields", n)
	}
	if action := doc.Find("main form").AttrOr("action", ""); action != "/dir/v1/submit" {
		t.Errorf("the form goes to %s", action)
	}
	hostile := `"><script>alert(1)</script>` + "<!--/submission-->"
	filled, err := lists.FillForm(page, "submit", site.Form{
		Values:     map[string]string{"url": hostile, "notes": hostile, "category": "Data"},
		Categories: []string{"AI", "Data"},
		Faults:     []site.ErrorField{{Field: "url", Message: hostile}, {Field: "body", Message: "is odd"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc = submitDoc(t, filled)
	for selector, want := range map[string]string{"#url-fault": hostile, "#fault": "body is odd",
		"option[selected]": "Data", "textarea[name=notes]": hostile, "#email-fault": ""} {
		if got := doc.Find(selector).Text(); got != want {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	if v := doc.Find("input[name=url]").AttrOr("value", ""); v != hostile ||
		doc.Find("script:not([src], [type='application/ld+json'])").Length() != 0 ||
		doc.Find("#url[aria-invalid]").Length() != 1 || doc.Find("#email[aria-invalid]").Length() != 0 {
		t.Errorf("what was sent is %q", v)
	}
	again, err := lists.FillForm(filled, "submit",
		site.Form{Result: &site.SubmissionResult{SubmissionID: "4f2c",
			ProbeResult: &site.ProbeResult{EndpointsFound: 3, Errors: []string{"/a: <b>"}}}})
	if err != nil {
		t.Fatal(err)
	}
	doc = submitDoc(t, again)
	if href := doc.Find(".taken a").AttrOr("href", ""); href != "/dir/v1/submissions/4f2c" ||
		doc.Find("form[hidden]").Length() != 1 || doc.Find(".faults bdi").Text() != "/a: <b>" ||
		!strings.Contains(doc.Find(".taken").Text(), "payment: 3.") {
		t.Errorf("once taken: %s\n%s", href, doc.Find(".submission").Text())
	}
	empty, err := lists.FillForm(page, "submit", site.Form{})
	if err != nil || submitDoc(t, empty).Find("main h1").Text() != "Submit a service" {
		t.Errorf("without anything: %v", err)
	}
	for _, bad := range []string{"", "<p>", "<!--submission--><!--/submission-->"} {
		if _, err := lists.FillForm([]byte(bad), "submit", site.Form{}); err == nil {
			t.Errorf("%q is filled", bad)
		}
	}
}
