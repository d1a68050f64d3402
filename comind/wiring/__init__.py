"""Parameters become concrete adapters and agents, here and nowhere else."""
