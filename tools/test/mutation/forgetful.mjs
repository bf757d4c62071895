// Modules remember in WeakMaps what they worked out, by the catalogue and the like. What a mutant worked out must not be seen by the next run, nor what was worked out before be seen by it.
let generation = 0;

const Lasting = globalThis.WeakMap;

class ForgetfulWeakMap {
  #made = generation;
  #held;

  constructor(entries) {
    this.#held = new Lasting(entries);
  }

  get #current() {
    if (this.#made !== generation) {
      this.#made = generation;
      this.#held = new Lasting();
    }
    return this.#held;
  }

  get(key) {
    return this.#current.get(key);
  }

  has(key) {
    return this.#current.has(key);
  }

  set(key, value) {
    this.#current.set(key, value);
    return this;
  }

  delete(key) {
    return this.#current.delete(key);
  }
}

globalThis.WeakMap = ForgetfulWeakMap;

/** Empties every WeakMap that was made since this module was loaded. */
export function forget() {
  generation += 1;
}
