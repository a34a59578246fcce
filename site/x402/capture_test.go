package x402

import (
	"encoding/base64"
	"net/http"
	"testing"
)

func TestCaptureRecordedAnswer(t *testing.T) {
	t.Parallel()
	a := Answer{Status: 402, Header: http.Header{"Payment-Required": {"eyJ4NDAyVmVyc2lvbiI6MiwiZXJyb3IiOiJQYXltZW50IHJlcXVpcmVkIiwicmVzb3VyY2UiOnsidXJsIjoiaHR0cDovLzEyNy4wLjAuMTo0MDIxL2JhcmUiLCJkZXNjcmlwdGlvbiI6IiIsIm1pbWVUeXBlIjoiIn0sImFjY2VwdHMiOlt7InNjaGVtZSI6ImV4YWN0IiwibmV0d29yayI6ImVpcDE1NTo4NDUzIiwiYW1vdW50IjoiMTAwMDAiLCJhc3NldCI6IjB4ODMzNTg5ZkNENmVEYjZFMDhmNGM3QzMyRDRmNzFiNTRiZEEwMjkxMyIsInBheVRvIjoiMHgyMDk2OTNCYzZhZmMwQzUzMjhiQTM2RmFGMDNDNTE0RUYzMTIyODdDIiwibWF4VGltZW91dFNlY29uZHMiOjMwMCwiZXh0cmEiOnsibmFtZSI6IlVTRCBDb2luIiwidmVyc2lvbiI6IjIifX1dfQ=="}}, Body: []byte("{}")}
	c := Capture(a)
	if c.Envelope == nil {
		t.Fatalf("Capture found no envelope: %+v", c)
	}
	if len(c.Defects) != 0 {
		t.Errorf("defects = %v, want none", c.Defects)
	}
	r := c.Envelope.Accepts[0]
	if price, ok := r.PriceUSD(); price != "0.01" || !ok || !r.Usable() || r.AssetName != "USDC" {
		t.Errorf("price = %q, %v; usable %v; asset %s", price, ok, r.Usable(), r.AssetName)
	}
}

func header(name, value string) http.Header {
	return http.Header{http.CanonicalHeaderKey(name): {value}}
}

func stdBase64(text []byte) string { return base64.StdEncoding.EncodeToString(text) }
