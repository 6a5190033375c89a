package wire

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/massgen/massgen/internal/system/plain"
)

// ownError returns the error that a JSON object carries in a form of its service's own, or nil. Such
// services answer with status 200 and, for example, {"code": "Arrearage", "message": …} (Alibaba),
// {"base_resp": {"status_code": 1008, "status_msg": …}} (MiniMax), {"error_code": 17, "error_msg": …}
// (Baidu), {"success": false, "errors": [{"code": …, "message": …}]} (Cloudflare) or {"detail": …}
// (FastAPI). If failed is true, the object is known to be no answer, and a message is enough.
func ownError(body []byte, failed bool) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil //nolint:nilerr // what is not an object of JSON carries no error
	}
	form := ownForm{failed: failed}
	form.read(object, 0)
	if form.message == "" || !form.failed || isSuccess(form.message) {
		return nil
	}
	report, err := plain.JSON(map[string]any{"error": map[string]any{"message": form.message, "code": form.code, "type": form.kind}})
	if err != nil {
		return nil //nolint:nilerr // texts can be encoded
	}
	return &StreamError{Body: report, own: true}
}

// ownForm is what an object says of an error. The first of each counts.
type ownForm struct {
	message, code, kind string
	failed              bool
}

// mostNested is how deep an error may stand in an object.
const mostNested = 3

// read reads the fields of an object, and then the objects in it that may hold an error.
func (f *ownForm) read(object map[string]json.RawMessage, depth int) {
	var inner []json.RawMessage
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := object[name]
		text, isText := textOf(value)
		switch squeezed(name) {
		case "message", "msg", "statusmsg", "statusmessage", "faultstring", "errordescription":
			f.say(text)
		case "errormessage", "errormsg", "errmsg", "detail", "errordetail":
			f.say(text)
			f.failed = f.failed || text != "" && !isSuccess(text)
			if !isText {
				inner = append(inner, value)
			}
		case "code", "statuscode", "errorcode", "errcode", "err", "errno", "status":
			f.number(text)
		case "type", "object", "errortype":
			f.kind = text
			f.failed = f.failed || strings.Contains(squeezed(text), "error") || strings.Contains(squeezed(text), "exception")
		case "success", "ok":
			f.failed = f.failed || text == "false"
		case "baseresp", "header", "response", "responsemetadata", "result":
			inner = append(inner, value)
		case "errors", "fault", "error":
			f.failed = f.failed || !slices.Contains([]string{"", "null", "[]", "{}", "false"}, strings.TrimSpace(string(value)))
			inner = append(inner, value)
		}
	}
	for _, value := range inner {
		f.readValue(value, depth+1)
	}
}

// readValue reads an object, the first object of a list, or a text.
func (f *ownForm) readValue(value json.RawMessage, depth int) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && len(list) > 0 {
		value = list[0]
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && depth <= mostNested {
		f.read(object, depth)
		return
	}
	if text, isText := textOf(value); isText && depth > 0 {
		f.say(text)
	}
}

func (f *ownForm) say(text string) {
	if f.message == "" && !isSuccess(text) {
		f.message = text
	}
}

// number takes a code, or a word for the status.
func (f *ownForm) number(text string) {
	if isSuccess(text) {
		return
	}
	if n, err := strconv.Atoi(text); err == nil && (n >= 200 && n < 300 || n == 20000) {
		return
	}
	_, err := strconv.Atoi(text)
	word := squeezed(text)
	if isWord := err != nil; isWord && slices.Contains([]string{"processing", "pending", "running", "queued", "inprogress", "created", "true"}, word) {
		return
	}
	f.failed = true
	if f.code == "" {
		f.code = text
	}
}

// isSuccess reports whether a code or a message is one of a call that went well.
func isSuccess(text string) bool {
	return slices.Contains([]string{"", "0", "ok", "success", "succeeded", "successful", "null", "completed"}, squeezed(text))
}

// textOf returns a text, or the JSON of a number or a boolean.
func textOf(value json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(value, &text) == nil {
		return text, true
	}
	if len(value) == 0 || value[0] == '{' || value[0] == '[' {
		return "", false
	}
	return string(value), true
}

// squeezed returns a word without case and marks, since each service writes them in another way.
func squeezed(word string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(word))
}

// ownStatus is the HTTP status that an error in a service's own form would have had. An error that
// says nothing which is known here is not repeated.
func (r report) ownStatus() int {
	for _, known := range []struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{
			"ratelimit", "rate limit", "rate_limit", "too many requests", "toomanyrequests", "throttl", "qps", "limit reached", "requests per", "请求过于频繁", "频率",
		}},
		{http.StatusUnauthorized, []string{
			"api key", "apikey", "api-key", "unauthorized", "unauthenticated", "authentication", "authorization", "login fail", "access token",
		}},
		{http.StatusForbidden, []string{"permission", "forbidden", "access denied", "accessdenied"}},
		{http.StatusServiceUnavailable, []string{
			"busy", "overload", "unavailable", "timeout", "timed out", "try again", "retry", "internal", "server error", "server_error", "system error", "system_error",
			"upstream", "capacity", "繁忙", "稍后", "系统错误",
		}},
	} {
		if says(r.words+" "+r.message, known.words...) {
			return known.status
		}
	}
	return http.StatusBadRequest
}
