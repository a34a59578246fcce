
// ---- recommendations ----

const RANKING = newRanking(SEARCH);

// best returns the recommendations for a request.
async function best(r, snap, q, index) {
  const reader = readerOf(r, snap, index);
  const request = requestFor(q, snap);
  const value = request.value;
  const found = value("q") === "" ? null : await reader.find(value("q"));
  const all = found ? found.hits.map((hit) => hit.place) : reader.all;
  const places = await columns.filter(request, all, reader.column);
  const wanted = {
    network: value("network"),
    method: value("method"),
    max_price_usd: value("max_price_usd") || null,
    require_verified: value("require_verified") === "true",
    prefer: value("prefer"),
    limit: int(q, "limit"),
  };
  const [list, meta] = RANKING.recommend(await RANKING.rankPlaces(reader, wanted, places, found));
  if (found) meta.read_as = found.readings;
  return frame(q.route.framing, list.map(results.rowJSON), results.rowJSON(meta));
}
