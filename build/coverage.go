package build

import (
	"tollbook/render"
	"tollbook/site"
)

// writeCoverage writes the coverage of measurements and its page.
func writeCoverage(s *site.Snapshot, renderer *render.Renderer, add addFunc) error {
	data, err := site.JSON(s.Coverage)
	if err != nil {
		return err
	}
	if err := add(bare("coverage", "").Key(), data); err != nil {
		return err
	}
	page, err := renderer.CoveragePage()
	if err != nil {
		return err
	}
	return add(bare("coverage-page", "").Key(), page)
}
