"""Random filters over random rows, beside an evaluator that was written from the rules alone."""
