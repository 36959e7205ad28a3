#!/usr/bin/env bash
# Runs a command without address randomisation where the system allows it: ThreadSanitizer of gcc 12
# cannot place its shadow memory under the wide randomisation of newer kernels.
if setarch -R true 2>/dev/null; then
  exec setarch -R "$@"
fi
exec "$@"
