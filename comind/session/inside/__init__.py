"""Programs that are copied into the sandbox, where CoMind itself is not installed.

They may import the standard library, `zmq` and `ipykernel`, and nothing of ours.
"""
