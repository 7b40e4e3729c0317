"""How well each judge decides, by itself and as a team, measured on labelled replies or on recordings of a model."""
