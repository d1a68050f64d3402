"""Run processes beside ours: the tools' servers, MLE-bench's validation; clean up after killed ones."""
