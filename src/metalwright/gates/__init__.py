"""Judge: checks are pure functions of a case; a gate is a named set of them; a proof says whether a step is done."""
