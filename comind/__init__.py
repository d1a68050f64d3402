"""CoMind: a community of agents that solves machine-learning competitions.

The library knows nothing of its orchestrator, its tracker or its version store; `tasks` and `flows`
do. The layers are drawn in `docs/architecture.md` and enforced by
`tests/architecture`.
"""

__all__ = ["__version__"]

__version__ = "0.3.0"
