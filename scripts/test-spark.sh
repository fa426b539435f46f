#!/bin/sh
# Runs the tests on clusters with the built wheel.
# $1: spark, which needs Java, or sail; $2: its environment; $3: the folder of wheels.
set -eu
engine=$1
tools=$2
wheels=$3

if [ "$engine" = spark ] && ! command -v java >/dev/null; then
    echo "left out: clusters of Spark, because there is no Java: apt install openjdk-17-jre-headless"
    exit 0
fi
"$tools/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
HEADWATER_CLUSTER=$engine PYTHONPATH=tests/python:tests/python/spark "$tools/bin/python" -m pytest -p engines tests/python/spark
