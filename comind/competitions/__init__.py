"""Define what a competition is, from a download to checked tables; nothing here splits or scores."""
