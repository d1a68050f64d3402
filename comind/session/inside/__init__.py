"""What runs on the other side: copied into the sandbox, where CoMind itself is not installed.

Each module is a program of its own; it may import the standard library, `zmq` and `ipykernel`, and
nothing of ours.
"""
