// Calls makes the three calls of the quickstart with the client that a test generates from the OpenAPI document.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"tollbook.test/client"
)

func main() {
	ctx := context.Background()
	c, err := client.NewClientWithResponses(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	status := client.GetSearchParamsStatus("online")
	found, err := c.GetSearchWithResponse(ctx, &client.GetSearchParams{Q: &os.Args[2], Status: &status})
	if err != nil || found.JSON200 == nil {
		log.Fatal("search: ", err)
	}
	slugs := []string{}
	for _, row := range found.JSON200.Data {
		slugs = append(slugs, row.Slug)
	}
	service, err := c.GetServiceWithResponse(ctx, slugs[0], nil)
	if err != nil || service.JSON200 == nil {
		log.Fatal("service: ", err)
	}
	changes, err := c.GetChangesWithResponse(ctx, nil)
	if err != nil || changes.JSON200 == nil {
		log.Fatal("changes: ", err)
	}
	out := map[string]any{"found": slugs, "advice": service.JSON200.Data.Assessment.Advice.Level, "price": "",
		"pay_to": "", "changes": changes.JSON200.Meta.Total, "newest": ""}
	for _, endpoint := range service.JSON200.Data.Endpoints[:1] {
		for _, offer := range endpoint.Pricing[:1] {
			out["price"], out["pay_to"] = offer.PriceUsd, offer.PayTo
		}
	}
	if len(changes.JSON200.Data) > 0 {
		out["newest"] = changes.JSON200.Data[0].Type
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
