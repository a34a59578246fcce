package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// TestPageOrder checks that pages list what must not be paid after everything else, each part in the order.
func TestPageOrder(t *testing.T) {
	t.Parallel()
	var items []*site.ServiceListItem
	for i, level := range []string{site.AdviceDoNotPay, site.AdviceGood, site.AdviceUnknown, site.AdviceDoNotPay,
		site.AdviceCaution} {
		items = append(items, &site.ServiceListItem{Slug: level + string(rune('0'+i)), AdviceLevel: level, EndpointCount: i})
	}
	var got []string
	for _, item := range pageOrder(items, site.OrderEndpoints) {
		got = append(got, item.Slug)
	}
	want := []string{"caution4", "unknown2", "good1", "do_not_pay3", "do_not_pay0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if items[0].EndpointCount != 0 {
		t.Error("the list itself was sorted")
	}
}
