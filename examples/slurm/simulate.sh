#!/bin/sh
# Put your simulation here. It reads one graph as a line of JSON, such as
#   {"n_nodes":3,"directed":false,"edges":[[0,1],[1,2]],"labels":[0,2,1]}
# and the last line it prints is the value. If it fails, so does this script, and the study continues.
set -eu
graph=$(cat)

edges=$(printf '%s' "$graph" | sed 's/.*"edges":\[//; s/\],"labels".*//' | grep -o '\[' | wc -l)
routers=$(printf '%s' "$graph" | sed 's/.*"labels":\[//; s/\].*//' | grep -o '1' | wc -l || true)

echo "edges: $edges, routers: $routers"
echo $((10 * edges - 3 * routers))
