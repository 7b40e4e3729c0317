"""The conversational agent: drafts a reply from sources, with a language model or by quotation."""
