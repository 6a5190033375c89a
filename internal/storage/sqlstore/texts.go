package sqlstore

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// text is a text to store.
type text struct {
	ref  blob.Ref
	data []byte
}

func newText(data []byte) text { return text{sessions.RefOf(data), data} }

// put adds texts, in the same order for all transactions that add the same texts, so that no
// two wait for each other. Something must name them in the same transaction.
func (w *Tx) put(texts ...text) {
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.ref.SHA256, b.ref.SHA256) })
	texts = slices.CompactFunc(texts, func(a, b text) bool { return a.ref == b.ref })
	rows := make([][]any, len(texts))
	for i, t := range texts {
		if t.data == nil {
			t.data = []byte{} // nil would be NULL
		}
		rows[i] = []any{SumOf(t.ref), t.data}
	}
	w.insert("INSERT INTO texts (sha256, data) VALUES ", "($, $)", " ON CONFLICT DO NOTHING", rows)
}

// Put adds texts that something names in the same transaction, and returns their references in
// the same order.
func (w *Tx) Put(list ...[]byte) []blob.Ref {
	texts, refs := make([]text, len(list)), make([]blob.Ref, len(list))
	for i, data := range list {
		texts[i] = newText(data)
		refs[i] = texts[i].ref
	}
	w.put(texts...)
	return refs
}

// supply stores texts, and the fresh ones of refs. It returns the refs whose texts may be missing.
func (w *Tx) supply(refs []blob.Ref, texts ...text) (unsure []blob.Ref) {
	for _, ref := range distinct(refs) {
		switch data, isFresh := w.db.Texts.AtHand(ref); {
		case isFresh:
			texts = append(texts, text{ref, data})
		case data == nil && !slices.ContainsFunc(texts, func(t text) bool { return t.ref == ref }):
			unsure = append(unsure, ref)
		}
	}
	w.put(texts...)
	return unsure
}

// check refuses the transaction if one of the texts is not stored.
func (w *Tx) check(refs []blob.Ref) {
	if len(refs) == 0 {
		return
	}
	var missing int
	if w.Row(`
		SELECT n FROM {named} WHERE NOT EXISTS (SELECT 1 FROM texts WHERE sha256 = sum AND length(data) = bytes)
		ORDER BY n LIMIT 1`, []any{w.list(refs)}, &missing) {
		w.Refuse(sessions.NoText(refs[missing]))
	}
}

// name keeps the stored ones of the texts for a turn.
func (w *Tx) name(turn int64, refs []blob.Ref) {
	if len(refs) == 0 {
		return
	}
	w.Exec(`
		INSERT INTO refs (turn, text) SELECT DISTINCT CAST($2 AS bigint), texts.{key}
		FROM {named} JOIN texts ON sha256 = sum AND length(data) = bytes WHERE true
		ON CONFLICT DO NOTHING`, w.list(refs), turn)
}

// list returns references in the form that {named} reads.
func (w *Tx) list(refs []blob.Ref) string {
	for _, ref := range refs {
		if len(SumOf(ref)) == 0 {
			w.Refuse(sessions.NoText(ref))
		}
	}
	data, err := json.Marshal(refs)
	w.Refuse(err)
	return string(data)
}

// inMessages returns the texts that a stored list of messages names.
func (w *Tx) inMessages(list blob.Ref) []blob.Ref {
	data, _ := w.db.Texts.AtHand(list)
	if data == nil {
		w.Row("SELECT data FROM texts WHERE sha256 = $1", []any{SumOf(list)}, &data)
	}
	return sessions.Refs(data)
}

// distinct returns the references without repetition.
func distinct(refs []blob.Ref) []blob.Ref {
	seen := map[blob.Ref]bool{}
	return slices.DeleteFunc(slices.Clone(refs), func(ref blob.Ref) bool {
		again := seen[ref]
		seen[ref] = true
		return again
	})
}
