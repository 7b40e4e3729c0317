"""`cafi eval …`: the commands of the laboratory, and the only modules that import it, when one of them runs."""
