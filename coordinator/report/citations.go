package report

import (
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// noteCitations notes the sources of the answers that a reply has.
func (r *Report) noteCitations(reply effect.ModelReply) {
	if reply.Citations == (blob.Ref{}) {
		return
	}
	if r.cited == nil {
		r.cited = map[blob.Ref]blob.Ref{}
	}
	r.cited[reply.Text] = reply.Citations
	for _, c := range reply.Calls {
		if c.Answer != (blob.Ref{}) {
			r.cited[c.Answer] = reply.Citations
		}
	}
}

// citations returns the sources of an answer, in the order in which the model named them.
func (r *Report) citations(answer blob.Ref) ([]backends.Citation, error) {
	ref := r.cited[answer]
	if ref == (blob.Ref{}) {
		return nil, nil
	}
	data, err := r.texts(ref)
	if err != nil {
		return nil, err
	}
	var list []backends.Citation
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the sources of an answer: %w", err)
	}
	return list, nil
}
