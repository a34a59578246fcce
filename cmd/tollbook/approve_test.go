package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tollbook/cmd/tollbook/run"
	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
)

// TestApproveVerified checks that --verified approves the services that show their own submission's token, at their
// own host, and lists them as verified with that token.
func TestApproveVerified(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := run.OpenDatabase(ctx, run.DatabaseOptions{URL: postgrestest.NewDatabase(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ids := map[string]string{} // by host
	documents := map[string]string{}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if document := documents[r.Host]; r.URL.Path == facts.OwnershipPath && document != "" {
			fmt.Fprint(w, document)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer shop.Close()
	for _, name := range []string{"shows", "copies", "silent", "embeds"} {
		host := name + ".example"
		receipt, err := db.ReceiveSubmission(ctx, site.IncomingSubmission{
			Submission: site.Submission{
				URL: "http://" + host, Email: "owner@" + host, ServiceName: name, Description: "About it.",
				WebsiteURL: "http://" + host, Category: "Data", Endpoints: []string{"/a"},
			},
			Domain: host, Client: name, At: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = receipt.ID
	}
	token := site.SubmissionToken(ids["shows"])
	documents["shows.example"] = "another line\n" + token + "\n"
	documents["copies.example"] = token + "\n" // of another submission
	documents["embeds.example"] = "x" + site.SubmissionToken(ids["embeds"]) + "\n"
	checker := facts.New(facts.Options{Routes: []probe.Route{{Domain: "example",
		Dial: func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, shop.Listener.Addr().String())
			return c, true, err
		}}}})
	defer checker.Close()

	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(&out)
	o := approveOptions{Verified: true, Yes: true}
	o.As, o.dataOptions = "ada", dataOptions{}
	if err := o.approve(cmd, db, []uuid.UUID(nil), checker); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "Listed as shows.") {
		t.Errorf("output:\n%s", out.String())
	}
	waiting, err := db.Submissions(ctx, site.SubmissionPending)
	if err != nil || len(waiting) != 3 {
		t.Errorf("%d still wait, %v", len(waiting), err)
	}
	// The owner goes on to show the same token.
	got, base, err := db.OwnershipToken(ctx, "shows")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([2]string{token, "http://shows.example"}, [2]string{got, base}); diff != "" {
		t.Errorf("token and URL of the service (-want +got):\n%s", diff)
	}
}
