"""Close a campaign: fold runs, blend, final pick and refit."""
