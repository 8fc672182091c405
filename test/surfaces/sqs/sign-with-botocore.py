"""Signs the requests that stand in a JSON list on stdin, and writes them as they would be sent."""

import json
import sys

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def signed(wanted):
    credentials = Credentials(*wanted["credentials"])
    scope = (wanted["service"], wanted["region"])
    if "expires" in wanted:
        signer = SigV4QueryAuth(credentials, *scope, expires=wanted["expires"])
    else:
        signer = SigV4Auth(credentials, *scope)
    request = AWSRequest(
        method=wanted["method"],
        url=wanted["url"],
        headers=wanted["headers"],
        params=wanted.get("params"),
        data=wanted["body"].encode(),
    )
    signer.add_auth(request)
    prepared = request.prepare()
    return {
        "method": prepared.method,
        "url": prepared.url,
        "headers": dict(prepared.headers.items()),
    }


json.dump([signed(wanted) for wanted in json.load(sys.stdin)], sys.stdout)
