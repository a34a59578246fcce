package build

import (
	"tollbook/render"
	"tollbook/site"
)

// writeCoverage writes what is measured and what is not known.
func writeCoverage(s *site.Snapshot, edition *render.Edition, add func(string, []byte) error) error {
	data, err := site.JSON(s.Coverage)
	if err != nil {
		return err
	}
	if err := add(bare("coverage", "").Key(), data); err != nil {
		return err
	}
	page, err := edition.CoveragePage()
	if err != nil {
		return err
	}
	return add(bare("coverage-page", "").Key(), page)
}
