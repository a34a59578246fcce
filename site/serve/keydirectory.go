package serve

import (
	"net/http"

	"tollbook/site/webbotauth"
)

// sendKeyDirectory sends the directory of the crawler's key with proof that this site has the key. Caches may store it
// for half the time for which the proof is valid.
func (h *handler) sendKeyDirectory(w *responseWriter, r *http.Request) {
	w.route = routeFile
	header := w.Header()
	if err := h.signer.SignDirectory(header, h.now()); err != nil {
		h.fail(w, r, err)
		return
	}
	header["Content-Type"] = headerTypes[webbotauth.DirectoryType]
	header["Cache-Control"] = []string{"public, max-age=1800"}
	writeBody(w, r, http.StatusOK, h.signer.Directory())
}
