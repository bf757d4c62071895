// Which of the steps of a run are wanted (steps.mjs says what a step is).

/** The groups with the lanes and steps that are chosen; none is empty. */
export const chosenIn = (groups, isChosen) => {
  const lanesOf = ({ lanes }) => lanes.map((lane) => lane.filter(isChosen)).filter(({ length }) => length > 0);
  return groups.map((group) => ({ ...group, lanes: lanesOf(group) })).filter(({ lanes }) => lanes.length > 0);
};

const namesOf = ({ name, part }) => (part === undefined ? [name] : [part, name]);

/** Whether a step is named in `only`, names with commas between them. Throws where one of them is no step's. */
export function namedIn(groups, only) {
  const wanted = only.split(',');
  const known = groups.flatMap(({ lanes }) => lanes.flat()).flatMap(namesOf);
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only ${unknown.join(',')}: no such step; there are ${[...new Set(known)].join(', ')}`);
  return (step) => namesOf(step).some((name) => wanted.includes(name));
}
