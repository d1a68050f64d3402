"""CoMind: a community of roles around a shared pool of solutions (paper, section 4).

    rounds          plans rounds without a barrier between them
    parameters      limits and switches
    thoughts        facts and results of the purposes of a round
    sampling        draws what a round reads, and the datasets that it is offered
    analyzer        turns items into rated reports, and checks claims against scores
    idea_proposer   brainstorms, filters and rebuilds ideas
    idea_sources    labels by which replies name the sources of ideas
    memos           ideas, and ideas and reports in short
    coordinator     turns ideas into distinct drafts, each with something to start from
    drafting_facts  what it knows: ideas, reports, starting points, earlier attempts
    draft_replies   what its model replies
    draft_builder   drafts from these replies
    draft_kinds     whether a draft is of its kind, and whether it is a duplicate
    search_phase    what a round is for, and what is worth extending
    ensembles       drafts that combine several solutions
    coding_agent    turns a draft into a solution, cell by cell
    opening, adapt  what runs before the model's first cell: a program, or a public notebook
    conversation    the messages of an attempt, compacted at stated limits
    lessons         what each attempt gained over its parent, with the evidence
    from_others     what an attempt is told of others as it begins
    critic          reads the best programs for leakage, and tests it by running without it
    pool            reports, ideas and drafts of all rounds, and their graph
    sizes           token limits, and the expected model calls
    journal         the campaign on one page

Prompts are files in `prompts/`.
"""

from comind.agents.comind.round_plan import CoMind

__all__ = ["CoMind"]
