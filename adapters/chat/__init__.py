"""Chats of one platform delivered: in order, durably, once more where it failed."""
