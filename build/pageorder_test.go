package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestPageOrder checks that pages list what must not be paid after everything else, each part in the order.
func TestPageOrder(t *testing.T) {
	t.Parallel()
	var listed []*site.Listing
	for i, level := range []string{site.AdviceDoNotPay, site.AdviceGood, site.AdviceUnknown, site.AdviceDoNotPay,
		site.AdviceCaution} {
		listed = append(listed, &site.Listing{Uptime30d: new(float64(i)), Item: site.ServiceListItem{AdviceLevel: level,
			Slug: level + string(rune('0'+i)), EndpointCount: i, AvgResponseTimeMS: new(9 - i)}})
	}
	want := []string{"caution4", "unknown2", "good1", "do_not_pay3", "do_not_pay0"}
	for _, order := range []string{site.OrderEndpoints, site.OrderUptime, site.OrderResponse} {
		var got []string
		for _, item := range pageOrder(listed, order) {
			got = append(got, item.Slug)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", order, diff)
		}
	}
	if listed[0].Item.EndpointCount != 0 {
		t.Error("the list itself was sorted")
	}
}
