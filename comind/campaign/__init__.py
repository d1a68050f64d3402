"""Run campaigns: events, the state they fold to, the agent protocol, and the loop that runs it.

Only what holds for every agent belongs here. Models, sandboxes and graders are reached through the
ports of `llm`, `session` and `evaluation`, and the scheduler (threads in a test, Prefect in production)
through `Executor`.
"""
