export default async function tearDown() {
  for (const end of (globalThis.stowageAround ?? []).splice(0).reverse()) await end();
}
