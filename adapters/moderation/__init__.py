"""What moderators of a community decide: who is answered where, which replies wait for them, what is posted.

Nothing here knows a platform. Moderators read questions and replies, and are not told who asked.
"""
