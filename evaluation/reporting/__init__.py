"""`eval report`: what the laboratory measured, on one page that opens offline and as Markdown tables."""
