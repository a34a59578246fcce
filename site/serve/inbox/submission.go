package inbox

import (
	"context"
	"fmt"
	"net/url"

	"tollbook/site"
	"tollbook/site/message"
)

// submit stores a submission and returns its *site.SubmissionResult, with what adds the result of its probe to that.
func (h *Handler) submit(ctx context.Context, q *request) (result any, finish func(context.Context), err error) {
	receipt, sent, err := h.receive(ctx, q,
		site.IncomingSubmission{Client: q.client, Key: q.key, At: h.Now(), MaxPending: h.MaxPending})
	if err != nil {
		return nil, nil, err
	}
	if !receipt.Repeated {
		h.Logger.Info("submission received", "submission", receipt.ID, "url", sent.URL)
	}
	answer := &site.SubmissionResult{SubmissionID: receipt.ID, Status: site.SubmissionPending,
		ProbeResult: receipt.ProbeResult}
	return answer, func(ctx context.Context) {
		switch {
		case receipt.Probe:
			answer.ProbeResult = h.probe(ctx, receipt.ID, sent)
		case receipt.Repeated && receipt.ProbeResult == nil:
			answer.ProbeResult = h.awaitProbe(ctx, receipt.ID)
		}
	}, nil
}

// receive checks and stores a submission. If the receipt says Probe, the caller must probe it and release the slot in
// h.probing.
func (h *Handler) receive(ctx context.Context, q *request, r site.IncomingSubmission) (site.Receipt, site.Submission,
	error) {
	categories, err := h.Store.SubmissionCategories(ctx)
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	rules := message.SubmissionRules{Categories: categories, FreeHosts: h.FreeHosts, Address: h.Address}
	if q.media == mediaJSON {
		r.Submission, err = message.ReadSubmission(q.body, rules)
	} else {
		r.Submission, err = message.ReadSubmissionForm(q.form, rules)
	}
	if err != nil {
		return site.Receipt{}, r.Submission, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return site.Receipt{}, r.Submission, fmt.Errorf("parse the URL %s of a valid submission: %w", r.URL, err)
	}
	r.Domain = h.Domain(u.Hostname())
	select {
	case h.probing <- struct{}{}:
		r.Probe = true
	default:
	}
	receipt, err := h.Store.ReceiveSubmission(ctx, r)
	if r.Probe && (err != nil || !receipt.Probe) {
		<-h.probing
	}
	if err == nil && receipt.Probe {
		h.mu.Lock()
		h.probes[receipt.ID] = make(chan struct{})
		h.mu.Unlock()
	}
	return receipt, r.Submission, err
}

// probe probes a stored submission, even if the submitter disconnects. After a crash another process probes it. It
// returns nil if the result could not be stored; then the submission is probed again.
func (h *Handler) probe(ctx context.Context, id string, submission site.Submission) *site.ProbeResult {
	defer func() {
		<-h.probing
		h.mu.Lock()
		close(h.probes[id])
		delete(h.probes, id)
		h.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer cancel()
	result := h.Prober.Probe(ctx, submission.URL, submission.Endpoints)
	if err := h.Store.StoreSubmissionProbe(ctx, id, result); err != nil {
		h.Logger.Error("result of a submission's probe not stored; it will be probed again", "submission", id, "err",
			err)
		return nil
	}
	return &result
}

// awaitProbe waits for a probe that another request of this process started, and returns its result, or nil if there is
// none yet.
func (h *Handler) awaitProbe(ctx context.Context, id string) *site.ProbeResult {
	h.mu.Lock()
	end := h.probes[id]
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if end != nil {
		select {
		case <-end:
		case <-ctx.Done():
		}
	}
	state, err := h.Store.SubmissionState(ctx, id)
	if err != nil {
		return nil // the submission is stored all the same
	}
	return state.ProbeResult
}
