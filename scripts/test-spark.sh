#!/bin/sh
# Runs the tests on clusters with the built wheel: on Spark, which needs Java, or on Sail.
# $1: the environment, which has PySpark, or Sail with a client of PySpark; $2: the folder of wheels.
set -eu
tools=$1
wheels=$2

if ! "$tools/bin/python" -c 'import pysail' 2>/dev/null && ! command -v java >/dev/null; then
    echo "left out: clusters of Spark, because there is no Java: apt install openjdk-17-jre-headless"
    exit 0
fi
"$tools/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
PYTHONPATH=tests/python:tests/python/spark "$tools/bin/python" -m pytest -p engines tests/python/spark
