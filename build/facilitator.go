package build

import (
	"slices"
	"strconv"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// writeFacilitators writes each page of 25 and of 100, for every timeframe and every set of embeds, with complete
// series.
func writeFacilitators(s *site.Snapshot, totals map[string]int, add addFunc) error {
	all := bare("facilitators", "")
	items := make([]*site.FacilitatorListItem, len(s.Facilitators))
	for i := range s.Facilitators {
		items[i] = &s.Facilitators[i].FacilitatorListItem
	}
	for _, include := range all.Route.Param("include").Sets() {
		q := all
		if include != "" {
			q = q.With("include", include)
		}
		totals[q.ListKey()] = len(items)
		rows, err := facilitatorRows(items, q)
		if err != nil {
			return err
		}
		for _, timeframe := range all.Route.Param("timeframe").Values {
			of := q.With("timeframe", timeframe)
			ordered := slices.Clone(items)
			site.SortFacilitators(ordered, timeframe)
			lines := make([][]byte, len(ordered))
			for i, item := range ordered {
				lines[i] = rows[item.FacilitatorID]
			}
			for _, size := range []int{site.PageSize, site.MaxPageSize} {
				for page := 1; page == 1 || (page-1)*size < len(lines); page++ {
					at := of.With("per_page", strconv.Itoa(size)).With("page", strconv.Itoa(page))
					if err := addFacilitatorPage(at, at.Key(), lines, add); err != nil {
						return err
					}
				}
			}
			if q.Bare && timeframe == q.Text("timeframe") {
				if err := addFacilitatorPage(q, q.Key(), lines, add); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// facilitatorRows returns the encoded row of each facilitator with the embeds of q, by ID.
func facilitatorRows(items []*site.FacilitatorListItem, q routes.Query) (map[string][]byte, error) {
	rows := make(map[string][]byte, len(items))
	for _, item := range items {
		row := *item
		if !q.Has("include", site.IncludeTimeseries) {
			row.Timeseries = nil
		}
		if !q.Has("include", site.IncludeChains) {
			row.Chains = nil
		}
		data, err := encode.Row(row)
		if err != nil {
			return nil, err
		}
		rows[item.FacilitatorID] = data
	}
	return rows, nil
}

// addFacilitatorPage adds the page of a list that q requests.
func addFacilitatorPage(q routes.Query, key string, lines [][]byte, add addFunc) error {
	from, limit := q.Window()
	return addList(key, encode.Framing{}, lines[min(from, len(lines)):min(from+limit, len(lines))],
		routes.WindowMeta(q, len(lines)), add)
}

// matrixID is the last segment of the paths of the matrix, which no facilitator may have as its id.
const matrixID = "matrix"

// writeFacilitatorFiles writes the JSON files of a facilitator: one for each series.
func writeFacilitatorFiles(f site.FacilitatorDetail, add addFunc) error {
	write := func(q routes.Query) error {
		f.Series = f.SeriesOf(q.Text("period"), q.Text("series_by"))
		data, err := encode.JSON(&f)
		if err != nil {
			return err
		}
		return add(q.Key(), data)
	}
	q := bare("facilitator", f.FacilitatorID)
	if err := write(q); err != nil {
		return err
	}
	for _, period := range q.Route.Param("period").Values {
		for _, by := range q.Route.Param("series_by").Values {
			if err := write(q.With("period", period).With("series_by", by)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFacilitatorDetails writes the files and the page of each facilitator, and the page that lists them.
func writeFacilitatorDetails(s *site.Snapshot, renderer *render.Renderer, add addFunc) error {
	for i := range s.Facilitators {
		f := &s.Facilitators[i]
		if f.FacilitatorID == matrixID {
			continue // imported before the id was reserved: its files would be those of the matrix
		}
		if err := writeFacilitatorFiles(*f, add); err != nil {
			return err
		}
		page, err := renderer.FacilitatorPage(f)
		if err != nil {
			return err
		}
		if err := add(bare("facilitator-page", f.FacilitatorID).Key(), page); err != nil {
			return err
		}
	}
	for _, file := range renderer.VolumeFiles() {
		if err := add(file.Key, file.Bytes); err != nil {
			return err
		}
	}
	for _, order := range site.FacilitatorOrders {
		page, err := renderer.FacilitatorsPage(order)
		if err != nil {
			return err
		}
		q := bare("facilitators-page", "")
		if order == site.OrderVolume { // also the page without parameters
			if err := add(q.Key(), page); err != nil {
				return err
			}
		}
		if err := add(q.With("sort", order).Key(), page); err != nil {
			return err
		}
	}
	return nil
}
