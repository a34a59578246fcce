package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/site"
)

// TestAllowList asks the demo for what a policy may allow, and checks that each filter leaves nothing that it must not.
func TestAllowList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type list = site.List[site.Allowance, site.PaginationMeta]
	all := readDirectory[list](t, w.handler, "/v1/allow?per_page=100")
	if all.Meta.Total < 20 || all.Meta.Total != len(all.Data) || all.Data[0].AdviceLevel != site.AdviceGood {
		t.Fatalf("the demo allows %d of %d services", len(all.Data), all.Meta.Total)
	}
	if careful := readDirectory[list](t, w.handler, "/v1/allow?verdict=caution"); careful.Meta.Total <= all.Meta.Total {
		t.Errorf("verdict=caution allows %d services, good %d", careful.Meta.Total, all.Meta.Total)
	}
	cheap := readDirectory[list](t, w.handler, "/v1/allow?network=base&max_price_usd=0.005&per_page=100")
	if cheap.Meta.Total == 0 || cheap.Meta.Total >= all.Meta.Total {
		t.Errorf("%d of %d services are on Base for half a cent", cheap.Meta.Total, all.Meta.Total)
	}
	most := site.Decimal("0.005")
	for i := range cheap.Data {
		cheap.Data[i].Keep("eip155:8453", most)
	}
	for _, a := range cheap.Data {
		i := slices.IndexFunc(all.Data, func(x site.Allowance) bool { return x.Slug == a.Slug })
		if i < 0 || len(a.Options) == 0 || len(a.Hosts) == 0 || len(a.Options) > len(all.Data[i].Options) {
			t.Errorf("%s: %+v", a.Slug, a)
		}
		for _, o := range a.Options {
			if o.NetworkCAIP2 != "eip155:8453" || o.PriceUSD == nil || o.PriceUSD.Rational().Cmp(most.Rational()) > 0 {
				t.Errorf("%s: the option %+v passes", a.Slug, o)
			}
		}
	}
	for path, want := range map[string]int{"/v1/allow?verdict=do_not_pay": 400, "/v1/allow?max_price_usd=x": 400,
		"/v1/allow?page=0": 400, "/v1/allow/rows/0.json": 200, "/v1/allow/rows/9.json": 404, "/v1/allow/rows/00.json": 404} {
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, nil))
		if r.Code != want {
			t.Errorf("GET %s: %d, want %d", path, r.Code, want)
		}
	}

	// the command
	var printed allowList
	code, out := runReader(t, "allow", "--directory", w.url, "--network", "base", "--max-price", "0.005")
	if err := json.Unmarshal([]byte(out), &printed); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if diff := cmp.Diff(cheap.Data, printed.Services); diff != "" {
		t.Errorf("the API and the command (-want +got):\n%s", diff)
	}
	if printed.Snapshot == "" || printed.AsOf == "" || printed.Filters != "--network BSE --max-price 0.005" {
		t.Errorf("the list is %q of %q with %q", printed.Snapshot, printed.AsOf, printed.Filters)
	}
	hosts, recipients := printed.hosts(), printed.distinct(func(o *site.AllowedOption) string { return o.PayTo })
	for form, want := range map[string]any{
		"payfetch": map[string]any{"mode": "allowlist", "allow": toAny(hosts), "caps": map[string]any{"perCallUsd": 0.005}},
		"clawrouter": map[string]any{"allowedPayees": toAny(recipients), "allowedNetworks": []any{"eip155:8453"},
			"allowedAssets": toAny(printed.distinct(func(o *site.AllowedOption) string { return o.AssetAddress }))},
	} {
		var got any
		_, out := runReader(t, "allow", "--data", w.data, "--network", "base", "--max-price", "0.005", "--format", form)
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %v: %s", form, err, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
	if _, out := runReader(t, "allow", "--data", w.data, "--network", "base", "--max-price", "0.005", "--format",
		"hosts"); out != strings.Join(hosts, "\n")+"\n" {
		t.Errorf("hosts: %q, want %q", out, hosts)
	}
	for _, args := range [][]string{{"--format", "xml"}, {"--page", "2"}, {"--verdict", "do_not_pay"}, {"--network", "moon"},
		{"--category", "Astrology"}} {
		if code, out := runReader(t, append([]string{"allow", "--data", w.data}, args...)...); code != 2 {
			t.Errorf("allow %v: exit %d, %s", args, code, out)
		}
	}

	// a signed file
	folder := t.TempDir()
	file, keyFile := filepath.Join(folder, "allow.json"), filepath.Join(folder, "key.pem")
	pem, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out = runReader(t, "allow", "--data", w.data, "--publish-key", keyFile, file)
	if code != 0 || !strings.Contains(out, ", signed in "+file+".sig") {
		t.Fatalf("exit %d: %s", code, out)
	}
	key, err := archive.ParseKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(signature)))
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(folder, "public.pem")
	for name, data := range map[string][]byte{public: archive.PublicKey(key), file + ".raw": raw} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", file,
		"-sigfile", file+".raw").CombinedOutput(); err != nil {
		t.Errorf("openssl: %v: %s", err, out)
	}
}

func toAny(list []string) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}
