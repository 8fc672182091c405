"""A worker for Millrace jobs in Python, with boto3 and the standard library.

It receives jobs over SQS, extends their leases while they run, and reports by HTTP. The part below
"Your part" is the only one about this example.
"""
import json
import os
import signal
import threading
import traceback
import urllib.error
import urllib.request

import boto3

SERVER = os.environ["MILLRACE_URL"]
KEY = os.environ["MILLRACE_WORKER_KEY"]
QUEUE = os.environ["QUEUE_NAME"]
# Another worker gets the job this many seconds after this one was killed.
LEASE_SECONDS = int(os.environ.get("LEASE_SECONDS", "30"))

sqs = boto3.client("sqs", endpoint_url=SERVER)
queue_url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
stopping = threading.Event()


class Hopeless(Exception):
    """Raise it if another attempt cannot help. The job fails now."""


class LeaseEnded(Exception):
    """The job was cancelled, or another worker has it. Stop working on it."""


class Job:
    def __init__(self, message):
        facts = {name: fact["StringValue"] for name, fact in message["MessageAttributes"].items()}
        self.id = facts["millrace.jobId"]
        self.type = facts["millrace.jobType"]
        self.attempt = int(facts["millrace.attempt"])
        self.payload = json.loads(message["Body"])
        self.receipt = message["ReceiptHandle"]
        self._ended = threading.Event()
        self._lost = threading.Event()

    def progress(self, fraction):
        """Reports how far the job is, from 0 to 1. Raises LeaseEnded if it is no longer ours."""
        if self._lost.is_set():
            raise LeaseEnded
        self.report("progress", progress=fraction)

    def report(self, kind, **fields):
        request = urllib.request.Request(
            f"{SERVER}/jobs/{self.id}/{kind}",
            data=json.dumps({"receipt": self.receipt, **fields}).encode(),
            headers={"Content-Type": "application/json", "X-API-Key": KEY},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code in (404, 409):
                raise LeaseEnded from None
            raise RuntimeError(f"{kind}: {error.code} {error.read().decode()}") from None

    def keep_lease(self):
        """Extends the lease in a thread of its own, until the job has ended."""
        while not self._ended.wait(LEASE_SECONDS / 3):
            try:
                sqs.change_message_visibility(
                    QueueUrl=queue_url,
                    ReceiptHandle=self.receipt,
                    VisibilityTimeout=LEASE_SECONDS,
                )
            except sqs.exceptions.ClientError:
                self._lost.set()
                return

    def run(self):
        threading.Thread(target=self.keep_lease, daemon=True).start()
        try:
            self.report("complete", result=handlers[self.type](self))
            print(f"{self.type} {self.id} completed", flush=True)
        except LeaseEnded:
            print(f"{self.type} {self.id} is no longer ours", flush=True)
        except Exception as error:
            self.fail(error)
        finally:
            self._ended.set()

    def fail(self, error):
        stack = traceback.format_exc()
        described = {"name": type(error).__name__, "message": str(error), "stack": stack}
        try:
            after = self.report("fail", error=described, retry=not isinstance(error, Hopeless))
            print(f"{self.type} {self.id} is {after['status']}: {error}", flush=True)
        except LeaseEnded:
            print(f"{self.type} {self.id} is no longer ours", flush=True)


def work():
    while not stopping.is_set():
        received = sqs.receive_message(
            QueueUrl=queue_url,
            MessageAttributeNames=["millrace.*"],
            VisibilityTimeout=LEASE_SECONDS,
            WaitTimeSeconds=2,
        )
        for message in received.get("Messages", []):
            Job(message).run()


# Your part: one function per job type. It returns the result, or raises.


def count_words(job):
    job.progress(0.1)
    try:
        with urllib.request.urlopen(job.payload["url"], timeout=30) as page:
            text = page.read().decode()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise Hopeless("There is no such page.") from error
        raise
    words = text.split()
    job.progress(0.9)
    return {"words": len(words), "longest": max(words, key=len)}


handlers = {"COUNT_WORDS": count_words}

if __name__ == "__main__":
    # Finishes the current job, then exits.
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    print("The worker is ready.", flush=True)
    work()
