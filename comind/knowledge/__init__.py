"""Knowledge about methods: entries with labels and dates, shipped or built by a project.

    knowledge_base  entries, bases in YAML files, and their content hashes
    label_tree      labels of tasks and entries, chosen by a model
    extraction      entries from discussions, notebooks and papers, summarised by a model

Prompts are files in `prompts/`; `methods.yaml` is the shipped base, `labels.yaml` the label tree.
"""
