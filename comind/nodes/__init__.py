"""Run sessions on other machines: the driver's server, the node's session host, data by content hash.

The driver keeps log, keys, budget and grader; a node runs only sandboxed code. A node that is lost is a
lost interpreter, whose cells are replayed elsewhere (docs/design/0015-nodes.md).
"""
