package backends_test

import (
	"reflect"
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestUsagesAddUp: Plus leaves no count out.
func TestUsagesAddUp(t *testing.T) {
	t.Parallel()
	cost := 1.0
	one := backends.Usage{CostUSD: &cost}
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int {
			v.Field(i).SetInt(1)
		}
	}
	sum := one.Plus(one)
	v = reflect.ValueOf(sum)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Int && v.Field(i).Int() != 2 {
			t.Errorf("%s is not added", v.Type().Field(i).Name)
		}
	}
	if *sum.CostUSD != 2 || one.Plus(backends.Usage{}).CostUSD != nil {
		t.Errorf("the costs add up to %v", *sum.CostUSD)
	}
}
