package change_test

import (
	"encoding/json"
	"fmt"

	"tollbook/site"
	"tollbook/site/change"
)

// The prices of a service are compared from visit to visit. Here the service raises its price and accepts Solana too.
func ExampleCompare() {
	minute := 60
	base := site.SnapshotEntry{
		Endpoint: "GET /quote", Scheme: "exact", Network: "eip155:8453", Asset: "0x8335…2913", AssetName: "USDC",
		Price: "10000", PayTo: "0x2096…287C", X402Version: 2, MaxTimeoutSeconds: &minute,
	}
	dearer, solana := base, base
	dearer.Price = "12000"
	solana.Network, solana.Asset = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "EPjF…Dt1v"
	for _, set := range change.Compare([]site.SnapshotEntry{base}, []site.SnapshotEntry{solana, dearer}, nil, nil) {
		summary, err := json.MarshalIndent(set.Summary, "", "  ")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s\n", set.Type, summary)
	}
	// Output:
	// schema_changed {
	//   "schemaAdded": [
	//     "GET /quote exact solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp EPjF…Dt1v USDC 2  60 {}"
	//   ],
	//   "schemaRemoved": [],
	//   "endpointsAdded": [],
	//   "endpointsRemoved": []
	// }
	// price_changed {
	//   "priceChanges": [
	//     {
	//       "network": "eip155:8453",
	//       "endpoint": "GET /quote",
	//       "newPrice": "12000",
	//       "oldPrice": "10000",
	//       "assetName": "USDC"
	//     }
	//   ]
	// }
}
