#!/bin/sh
# Tries the wheel in an environment that holds nothing else of the project: tests, doctests, stubs, the console script.
set -eu
trial=$1
wheels=$2

"$trial/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
package=$("$trial/bin/python" -c 'import headwater, pathlib; print(pathlib.Path(headwater.__file__).parent)')

# Tests on clusters need an environment of their own: make test-sail test-spark.
"$trial/bin/python" -m pytest --ignore tests/python/spark
# Doctests about servers find one in the fixtures of the tests.
PYTHONPATH=tests/python "$trial/bin/python" -m pytest --doctest-modules "$package" -p conftest -p no:cacheprovider --rootdir "$package" --override-ini addopts=-q
"$trial/bin/python" -m mypy.stubtest headwater._headwater
"$trial/bin/headwater" --version

[ -n "${HEADWATER_CORPUS:-}" ] || echo "left out: Python tests on real chain data, because HEADWATER_CORPUS names no folder"
