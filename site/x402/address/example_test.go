package address_test

import (
	"fmt"

	"tollbook/site/x402/address"
)

func ExampleCheck() {
	fmt.Println(address.Check("eip155:8453", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"))
	fmt.Println(address.Check("eip155:8453", "0x209693bC6afc0C5328bA36FaF03C514EF312287C"))
	// Output:
	// <nil>
	// check address "0x209693bC6afc0C5328bA36FaF03C514EF312287C" on eip155:8453: checksum does not match
}
