package x402_test

import (
	"fmt"

	"tollbook/site/x402"
)

func ExampleCheck() {
	fmt.Println(x402.CheckAddress("eip155:8453", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"))
	fmt.Println(x402.CheckAddress("eip155:8453", "0x209693bC6afc0C5328bA36FaF03C514EF312287C"))
	// Output:
	// <nil>
	// check address "0x209693bC6afc0C5328bA36FaF03C514EF312287C" on eip155:8453: checksum does not match
}
