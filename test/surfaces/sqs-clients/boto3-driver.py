"""Calls SQS through boto3: one JSON request on each line of stdin, one JSON answer on each of stdout."""
import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

settings = json.loads(sys.argv[1])
client = boto3.client(
    "sqs",
    endpoint_url=settings["endpoint"],
    region_name=settings["region"],
    aws_access_key_id=settings["accessKeyId"],
    aws_secret_access_key=settings["secretAccessKey"],
    config=Config(retries={"total_max_attempts": 1}, max_pool_connections=32, read_timeout=60),
)
writing = threading.Lock()


def encode(value):
    """Bytes cannot stand in JSON."""
    if isinstance(value, (bytes, bytearray)):
        return {"$binary": base64.b64encode(value).decode()}
    raise TypeError(f"unexpected {type(value)}")


def decode(value):
    return base64.b64decode(value["$binary"]) if "$binary" in value else value


def call(request):
    method = xform_name(request["action"])
    if request["presign"]:
        return client.generate_presigned_url(method, Params=request["input"], HttpMethod="GET")
    output = getattr(client, method)(**request["input"])
    output.pop("ResponseMetadata")
    return output


def answer(request):
    try:
        return {"output": call(request)}
    except ClientError as error:
        return {
            "refusal": {
                "code": error.response["Error"]["Code"],
                "message": error.response["Error"]["Message"],
                "status": error.response["ResponseMetadata"]["HTTPStatusCode"],
                "kind": type(error).__name__,
            }
        }
    except Exception as error:  # noqa: BLE001 - the test must see whatever it was
        return {"failure": repr(error)}


def serve(line):
    request = json.loads(line, object_hook=decode)
    text = json.dumps({"id": request["id"], "answer": answer(request)}, default=encode)
    with writing:
        print(text, flush=True)


with ThreadPoolExecutor(max_workers=16) as pool:
    for line in sys.stdin:
        pool.submit(serve, line)
