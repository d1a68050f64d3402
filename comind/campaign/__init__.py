"""The campaign: events, the state they fold to, the plan protocol, and the loop that runs it.

Here belongs what is true for every agent. Which model is asked, where code runs and how a
submission is scored is known only through the ports of `llm`, `session` and `evaluation`; who
schedules the work (threads in a test, Prefect in production) only through `Executor`.
"""
