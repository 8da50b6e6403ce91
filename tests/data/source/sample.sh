#!/bin/bash
foo() {
  if x; then
    bar
  fi
}
function baz {
  echo "}"
}
one() { echo 1; }
