<?php
namespace App;
abstract class Foo extends Bar implements Baz
{
    public function a(int $x): string { return "}"; }
    # comment {
    private static function &b() {
    }
}
function top() { }
