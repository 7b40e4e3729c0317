"""Rating replies: the rubric, blind sheets for people, raters that are programs, and the statistics of the scores."""
