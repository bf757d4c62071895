const names = ['text', 'muted', 'line', 'card', 'node', 'daemon', 'accent', 'alarm'] as const;

/** The page's colours for a canvas, which supports neither variables nor `light-dark()`. */
export type Colours = Readonly<Record<(typeof names)[number], string>>;

export function coloursOf(parent: Element): Colours {
  const probe = parent.appendChild(document.createElement('i'));
  try {
    const resolved = names.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    });
    return Object.fromEntries(resolved) as Colours;
  } finally {
    probe.remove();
  }
}
