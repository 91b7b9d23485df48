"""One encode as one function, and what it is made of: the plan, the workers, the order of regions, the report."""
