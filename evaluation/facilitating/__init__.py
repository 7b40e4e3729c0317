"""Facilitators: people, scripted or played by a model, who press the chatbot out of its role; and what it then says."""
