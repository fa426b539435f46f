"""What Schemathesis does beside its settings.

It sends a case again as it was. A webhook that was made under an Idempotency-Key and removed since is then answered
again as it was made, as such a key promises, and Schemathesis takes it for one that was lost: each is made under a key
of its own.
"""

import itertools

import schemathesis

NUMBERS = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    key = (case.headers or {}).get("Idempotency-Key", "")
    if case.operation.label == "POST /v1/webhooks" and str(key).startswith("made-"):
        case.headers["Idempotency-Key"] = f"made-again-{next(NUMBERS)}"
