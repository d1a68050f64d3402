"""CoMind: a community of roles around a shared pool of solutions (paper, section 4).

    agent           plans rounds without a barrier between them
    parameters      what a round reads: section `agents.comind` of params.yaml
    thoughts        facts and results of the three purposes of a round
    sampling        which community items are read next, and why
    analyzer        items and solutions become rated reports; claims are checked against scores here
    idea_proposer   brainstorm, filter, rebuild; every idea says where it came from
    coordinator     ideas become distinct drafts, each with something to start from
    coding_agent    a draft becomes a solution, cell by cell
    pool            reports, ideas and drafts of all rounds; nothing is ever taken out
    estimate        what the rounds will about ask for
    lineage         the graph of items, ideas, drafts and solutions
    journal         all of it on one page, for people

Prompts are files in `prompts/`.
"""

from comind.agents.comind.agent import CoMind

__all__ = ["CoMind"]
