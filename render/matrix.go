package render

import (
	"tollbook/render/money"
)

const matrixRoute = "facilitator-matrix-page"

// MatrixPage returns facilitators/matrix.html: which facilitator settles what where.
func (e *Renderer) MatrixPage() ([]byte, error) {
	return e.render(page{
		Key: bareKey(matrixRoute, ""), Kind: kindMatrix, JSON: bareKey("facilitator-matrix", ""),
		Title: "Facilitator support by network", HasMarkdown: true,
		Up: breadcrumb{"Facilitators", bareKey(facilitatorsRoute, "")},
		Description: "Schemes, networks and tokens that x402 facilitators say they settle, with their uptime, and " +
			"what they settled on chain.",
		Body: money.NewMatrix(&e.snapshot.Matrix, e.shared.Networks.Chip, func(id string) string {
			if d := e.facilitators[id]; d != nil {
				return d.Name
			}
			return ""
		}),
	})
}
