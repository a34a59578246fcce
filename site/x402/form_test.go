package x402

import (
	"cmp"
	"errors"
	"slices"
	"testing"
)

// TestBurn checks that listed burn addresses are refused, have their normal form, and are not mistyped. The boot
// addresses of Stacks are shorter than its accounts.
func TestBurn(t *testing.T) {
	t.Parallel()
	for _, form := range AddressForms() {
		network := form.Namespace + ":any"
		f := formOf(network)
		for _, burn := range form.Burn {
			if err := CheckAddress(network, burn); !errors.Is(err, ErrBurn) {
				t.Errorf("Check(%s, %s) = %v, want ErrBurn", network, burn, err)
			}
			if norm := NormalizeAddress(network, burn); norm != burn {
				t.Errorf("%s is not in its normal form %s", burn, norm)
			}
			if form.Namespace != "stacks" &&
				(!f.recipient.MatchString(burn) || f.fault != nil && f.fault(network, burn) != nil) {
				t.Errorf("%s is no address of %s", burn, network)
			}
		}
	}
	if err := CheckAddress("starknet:SN_MAIN", "0x000"); !errors.Is(err, ErrBurn) {
		t.Errorf("Check(starknet, 0x000) = %v, want ErrBurn", err)
	}
}

// TestFormOrder checks the order in which forms are published: that of their namespaces, the general one last.
func TestFormOrder(t *testing.T) {
	t.Parallel()
	list := AddressForms()
	last := len(list) - 1
	if list[last].Namespace != "*" || !slices.IsSortedFunc(list[:last], func(a, b addressForm) int {
		return cmp.Compare(a.Namespace, b.Namespace)
	}) {
		t.Error("Forms is not sorted by namespace, with the general form last")
	}
}
