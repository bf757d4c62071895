// Calls the set-ups of a project (jest.config.mjs) in order; around-end.mjs undoes them in reverse.
const undone = (globalThis.stowageAround ??= []);

export default async function setUp(_, { globals }) {
  for (const path of globals.around) {
    const { default: begin } = await import(path);
    const end = await begin();
    if (end !== undefined) undone.push(end);
  }
}
