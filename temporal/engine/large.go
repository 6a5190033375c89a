package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// largePayloads keeps large payloads as texts. It is a converter.StorageDriver. Only a turn that holds
// its session stores them, so no sweep forgets them before it ends.
type largePayloads struct {
	store Store
	texts Texts
}

// Name implements converter.StorageDriver.
func (largePayloads) Name() string { return "massgen.texts" }

// Type implements converter.StorageDriver.
func (largePayloads) Type() string { return "massgen.texts" }

// claim is the place of a payload.
type claim struct {
	Text     blob.Ref          `json:"text"`
	Metadata map[string][]byte `json:"metadata"`
}

// claimKey is the key under which the server keeps a claim.
const claimKey = "claim"

// forgotten is the encoding of a payload that the store has forgotten.
const forgotten = "massgen/forgotten"

// Store implements converter.StorageDriver.
func (l largePayloads) Store(ctx converter.StorageDriverStoreContext, payloads []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	texts := make([][]byte, len(payloads))
	for i, p := range payloads {
		texts[i] = p.GetData()
	}
	refs, err := l.texts.PutAll(ctx.Context, texts)
	if err != nil {
		return nil, err
	}
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		data, err := json.Marshal(claim{refs[i], p.GetMetadata()})
		if err != nil {
			return nil, err
		}
		claims[i].ClaimData = map[string]string{claimKey: string(data)}
	}
	return claims, nil
}

// Retrieve implements converter.StorageDriver. For a forgotten payload it returns one that no converter decodes.
func (l largePayloads) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, c := range claims {
		var of claim
		if err := json.Unmarshal([]byte(c.ClaimData[claimKey]), &of); err != nil {
			return nil, fmt.Errorf("read where a large message is: %w", err)
		}
		data, err := l.store.Get(ctx.Context, of.Text)
		if errors.Is(err, sessions.ErrNoText) {
			// The turn has ended and its workflow has not. A worker that replays it decodes no inputs of activities.
			payloads[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(forgotten)}}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a large message: %w", err)
		}
		payloads[i] = &commonpb.Payload{Metadata: of.Metadata, Data: data}
	}
	return payloads, nil
}

// withLargePayloads returns the engine's client for turns by texts.
func (e *Engine) withLargePayloads(ctx context.Context, store Store, texts Texts) (client.Client, error) {
	options := e.options
	options.ExternalStorage = converter.ExternalStorage{
		Drivers: []converter.StorageDriver{largePayloads{store, texts}}, PayloadSizeThreshold: e.settings.withDefaults().InlineLimit,
	}
	c, err := client.NewClientFromExistingWithContext(ctx, e.client, options)
	if err != nil {
		return nil, fmt.Errorf("prepare for large messages: %w", err)
	}
	return c, nil
}

// logTooLarge logs each message that is too large for the server, or for its way to the server: else
// only the history says why a turn ends.
func logTooLarge(log *slog.Logger) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if isTooLarge(err) {
			size := 0
			if m, ok := request.(proto.Message); ok {
				size = proto.Size(m)
			}
			log.Error("a message is too large for the Temporal server", "method", method, "bytes", size, "error", err)
		}
		return err
	}
}

// isTooLarge reports whether a message was refused for its size.
func isTooLarge(err error) bool {
	code, text := status.Code(err), status.Convert(err).Message()
	return (code == codes.ResourceExhausted || code == codes.InvalidArgument) &&
		slices.ContainsFunc([]string{"larger than max", "too large", "exceeds size limit", "exceeds limit"}, func(words string) bool { return strings.Contains(text, words) })
}
