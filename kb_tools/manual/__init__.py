"""`cafi kb import`: a manual in PDF, Markdown, HTML or plain text becomes a folder of draft sources."""
