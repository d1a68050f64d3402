"""Language models: a port, its adapters, rate limiting, and structured output over the port.

How a model is called and its reply is validated belongs here. Prompts, and what a reply leads to, belong
to the agents.
"""
