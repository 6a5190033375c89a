package anthropic

import (
	"encoding/base64"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/massgen/massgen/backends"
)

// encodeFile makes the block of a picture or a PDF.
func encodeFile(f backends.File, role backends.Role) (sdk.ContentBlockParamUnion, error) {
	if f.MediaType != "application/pdf" {
		return encodeImage(backends.Image{MediaType: f.MediaType, Data: f.Data}, role)
	}
	if role != backends.RoleUser {
		return sdk.ContentBlockParamUnion{}, fmt.Errorf("a file in a message of role %s cannot be sent to Claude", role)
	}
	block := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(f.Data)})
	if f.Name != "" { // an empty title is refused
		block.OfDocument.Title = sdk.String(f.Name)
	}
	return block, nil
}
