package wire

import (
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
)

func TestWhatServicesCannotDo(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	for _, c := range []struct {
		status            int
		body              string
		noTools, noStream bool
	}{
		{400, `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}`, yes, no},
		{400, `{"code":"Client specified an invalid argument","error":"Invalid request content: The model does not support tool use or function calling but tools or tool_choice have been specified on the request."}`, yes, no},
		{404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs","code":404}}`, yes, no},
		{400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`, yes, no},
		{500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, yes, no},
		{500, `{"code":500,"message":"Unsupported param: tools","type":"server_error"}`, yes, no},
		{400, "{\"error\":{\"message\":\"`tool calling` is not supported with this model\",\"type\":\"invalid_request_error\"}}", yes, no},
		{400, "{\"error\":{\"message\":\"`tools` is not supported with this model\"}}", yes, no},
		{400, `{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`, yes, no},
		{400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`, yes, no},
		{500, `{"error":{"code":500,"message":"Cannot use tools with stream","type":"server_error"}}`, no, yes},
		{400, `{"error":{"message":"Tool and function calls do not currently support streaming","type":"invalid_request_error"}}`, no, yes},
		{400, `{"error":{"message":"undefined: This model doesn't support tool use in streaming mode.","statusCode":400}}`, no, yes},
		{400, `{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}`, no, yes},
		{400, `{"error":"Streaming is not supported for this model"}`, no, yes},
		{400, `{"error":{"message":"Unknown tool vote in tool_choice"}}`, no, no},
		{400, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed"}}`, no, no},
		{503, `{"error":{"message":"The stream was interrupted: the tool server is overloaded"}}`, no, no},
		{401, `{"error":{"message":"This key does not support tools"}}`, no, no},
	} {
		err := &backends.Error{}
		describe(err, &statusError{status: c.status, header: http.Header{}, body: []byte(c.body)}, redactor{})
		if err.NoTools != c.noTools || SaysNoStream(err) != c.noStream {
			t.Errorf("%s: no tools %t, no stream %t", c.body, err.NoTools, SaysNoStream(err))
		}
		if err.NoTools && err.Kind != backends.KindBadRequest {
			t.Errorf("%s: kind %s", c.body, err.Kind)
		}
	}
}
