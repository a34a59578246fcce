package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/build/data/figure"
	"tollbook/build/data/figure/figuretest"
	"tollbook/build/duckdbtest"
	"tollbook/cmd/nodetest"
	"tollbook/cmd/tollbook/settings"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestFiguresOfSDKServers checks the published figures of a directory of servers that are made of the official SDKs
// against its tables: by "verify --figures", and in DuckDB. One of them speaks MPP alone, one asks for play money too. A
// server of no SDK is paid on a network that no table knows.
func TestFiguresOfSDKServers(t *testing.T) { // not parallel: DATABASE_URL is the process's
	testgate.All(t)
	t.Setenv("DATABASE_URL", postgrestest.NewDatabase(t))
	o := dataOptions{Data: t.TempDir()}
	var list []map[string]any
	var hosts []string
	for _, s := range []struct {
		name, folder, category string
		endpoints              []string
	}{
		{"SDK Weather", "testdata/sdk", "Data", []string{"/weather", "POST /search", "POST /chat"}},
		{"Hono Quotes", "testdata/peers/hono", "Finance", []string{"/quote", "POST /chat", "/users/42"}},
		{"Express Weather", "testdata/peers/express-v1", "Data", []string{"/weather"}},
		{"MPP Pay", "testdata/peers/mppx", "Data", []string{"/pay"}},
	} {
		var said struct{ Port int }
		startNode(t, s.folder, &said)
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", said.Port))
		list = append(list, map[string]any{"service_name": s.name, "description": "Made of an SDK.",
			"url": "http://" + hosts[len(hosts)-1] + "/", "category": s.category, "endpoints": s.endpoints})
	}
	terms := `{"x402Version":2,"accepts":[{"scheme":"exact","network":"eip155:999999","amount":"100","asset":` +
		`"0x1111111111111111111111111111111111111111","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60,"extra":{"name":"Own","version":"1"}}]}`
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Payment-Required", base64.StdEncoding.EncodeToString([]byte(terms)))
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	defer own.Close()
	hosts = append(hosts, own.Listener.Addr().String())
	list = append(list, map[string]any{"service_name": "Own Chain", "description": "Made of no SDK.", "url": own.URL + "/",
		"category": "Other", "endpoints": []string{"/pay"}})
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "services.json")
	write(t, file, string(text))
	if err := importFile(t.Context(), o, file); err != nil {
		t.Fatal(err)
	}
	if err := runCrawl(t.Context(), crawlOptions{dataOptions: o, Once: true, JSON: true,
		paceOptions:  paceOptions{HostGap: time.Millisecond},
		visitOptions: visitOptions{AllowPrivate: hosts}}, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := runBuild(t.Context(), buildOptions{dataOptions: o, Expand: string(output.ExpandAll),
		Every: 15 * time.Minute, siteOptions: siteOptions{
			appearanceOptions: appearanceOptions{settings.Appearance{Title: "Tollbook"}},
			BaseURL:           "http://127.0.0.1:4020",
		}}, io.Discard); err != nil {
		t.Fatal(err)
	}

	var said bytes.Buffer
	if err := runVerify(t.Context(), verifyOptions{Figures: true}, o.Public(), &said); err != nil {
		t.Errorf("%v:\n%s", err, said.String())
	}

	store, err := objects.OpenPlace(o.Public(), objects.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "tables")
	pulled, err := output.Pull(t.Context(), store, output.PullOptions{To: folder, Tables: figure.TableNames(),
		MayLack: figure.LateTables, Formats: []string{"parquet"}})
	if err != nil {
		t.Fatal(err)
	}
	zip, err := archive.OpenZipFile(filepath.Join(o.Public(), archive.SnapshotName(pulled.Snapshot)))
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	var data struct{ Data site.Dataset }
	read(t, o, "/v1/data", &data)
	const tools = "../../build/testdata/duckdb"
	query := figuretest.DuckDB(t, duckdbtest.Node{Folder: tools, Modules: nodetest.Install(t, tools)}, folder,
		data.Data.AsOf.Time)
	got, err := figure.Check(t.Context(), figure.Proofs(), query, zip.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]figure.Difference{}, got.Differences); diff != "" || got.Figures < 100 {
		t.Errorf("%d figures; differences in DuckDB (-want +got):\n%s", got.Figures, diff)
	}
	var services struct{ Data []site.ServiceListItem }
	read(t, o, "/v1/services", &services)
	for _, s := range services.Data {
		t.Logf("%s: %s", s.Slug, s.AdviceLevel)
	}
}
