"""AIDE: the tree, its nodes, and what they are asked."""
