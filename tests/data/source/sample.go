package main
import "fmt"
type T struct {
	a int
}
type ID int
type I interface { M() }
func (t *T) Name() string {
	return `{`
}
func main() {
	f := func() { }
}
